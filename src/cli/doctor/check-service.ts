import { type Check, failed, ok } from './check';
import { namedService } from './named-service';

/** Problems of an address that does not answer, by the error code of Node or undici. */
const BY_CODE: Record<string, { problem: string; fix: string }> = {
  ENOTFOUND: { problem: 'its host name is unknown', fix: 'Correct the host name in VIDEO_API_BASE_URL.' },
  EAI_AGAIN: {
    problem: 'its host name cannot be resolved',
    fix: 'Check the network and DNS of this machine.',
  },
  ECONNREFUSED: {
    problem: 'nothing listens there',
    fix: 'Correct the port in VIDEO_API_BASE_URL, or start the service there.',
  },
  EPROTO: {
    problem: 'it does not speak TLS',
    fix: 'Use http:// in VIDEO_API_BASE_URL, or correct its port.',
  },
  ERR_SSL_WRONG_VERSION_NUMBER: {
    problem: 'it does not speak TLS',
    fix: 'Use http:// in VIDEO_API_BASE_URL, or correct its port.',
  },
};

export const checkService: Check = {
  name: 'service',
  async run(context) {
    const service = namedService(context);
    if (service.kind === 'none') return ok(service.found);
    const { baseUrl } = service;
    const answer = await context.addressAnswer(baseUrl);
    if (answer.kind === 'answered') return ok(`${baseUrl} answers`);
    const known = BY_CODE[answer.code];
    const problem = known?.problem ?? (answer.message || answer.code);
    return failed(
      `${baseUrl} does not answer: ${problem}`,
      known?.fix ?? 'Correct VIDEO_API_BASE_URL, or fix what is between this machine and the service.',
    );
  },
};
