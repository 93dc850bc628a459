import { findAiSdkProblem } from '../../worker/ai-sdk-entry';
import { type Check, type Finding, failed, ok } from './check';
import type { Context } from './context';
import { type NamedService, namedServices, togetherOf } from './named-service';

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
    const named = namedServices(context);
    if (named.kind === 'none') return ok(named.found);
    const { services, models } = named;
    const asked = [
      ...services.map(async (service) => ({ ...service, finding: await askService(service, context) })),
      ...models.map(async ({ name, aiSdk }) => ({ name, finding: await checkModel(aiSdk) })),
    ];
    return togetherOf(await Promise.all(asked));
  },
};

async function askService({ name, baseUrl }: NamedService, context: Context): Promise<Finding> {
  const answer = await context.addressAnswer(baseUrl);
  if (answer.kind === 'answered') return ok(`${baseUrl} answers`);
  const known = BY_CODE[answer.code];
  const problem = known?.problem ?? (answer.message || answer.code);
  const fix =
    known?.fix ?? 'Correct VIDEO_API_BASE_URL, or fix what is between this machine and the service.';
  return failed(
    `${baseUrl} does not answer: ${problem}`,
    name === undefined ? fix : fix.replace('VIDEO_API_BASE_URL', 'its baseUrl in VIDEOGEN_SERVICES_FILE'),
  );
}

/** Where a package sends its requests, only the package knows. */
async function checkModel(model: { package: string; model: string } | undefined): Promise<Finding> {
  if (model === undefined) return ok('no model');
  const problem = await findAiSdkProblem(model);
  return problem === undefined
    ? ok(`${model.package} has the model ${model.model}`)
    : failed(problem, 'Install the package, or correct aiSdk in VIDEOGEN_SERVICES_FILE.');
}
