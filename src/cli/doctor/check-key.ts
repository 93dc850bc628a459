import { randomUUID } from 'node:crypto';
import { ConfigError } from '../../config/service-config';
import { cleanText } from '../../contract/clean-text';
import { createVideoService, ServiceFault, type TaskReading } from '../../service';
import { type Check, type Finding, failed, ok, warning } from './check';
import { CALL_LIMIT_MS } from './limits';
import { type NamedService, namedServices, togetherOf } from './named-service';

const SET_KEY = 'Set VIDEO_API_KEY (or the file of VIDEO_API_KEY_FILE) to a key of this service.';
const SET_ADDRESS = 'Set VIDEO_API_BASE_URL to the address of the video service, without /v1.';
const LATER = 'Try again later.';
const READ_MESSAGE = "Read the service's message.";

/** Enough to recognize the problem. */
const LONGEST_MESSAGE_CHARS = 200;

type Verdict = { state: 'ok' } | { state: 'warning' | 'failed'; means: string; fix: string };

const NOT_THE_SERVICE: Verdict = {
  state: 'failed',
  means: 'it is probably not the video service',
  fix: SET_ADDRESS,
};

/** What the answer to a poll of a nonexistent task means. An exact status wins over its class (200, 300, 400, 500). */
export const BY_STATUS: Record<number, Verdict> = {
  401: { state: 'failed', means: 'the key is refused', fix: SET_KEY },
  402: { state: 'failed', means: 'the account has no credit', fix: 'Add credit to the account.' },
  403: { state: 'failed', means: 'the key is refused', fix: SET_KEY },
  404: { state: 'ok' },
  405: NOT_THE_SERVICE,
  410: { state: 'ok' },
  429: { state: 'warning', means: 'the service limits its calls, so the key was not checked', fix: LATER },
  200: {
    state: 'failed',
    means: 'there is no such task, so it is probably not the video service',
    fix: SET_ADDRESS,
  },
  300: { state: 'failed', means: 'it redirects', fix: `${SET_ADDRESS} Often https:// is missing.` },
  400: { state: 'warning', means: 'the service does not say whether the key is valid', fix: READ_MESSAGE },
  500: { state: 'failed', means: 'the service failed', fix: LATER },
};

/** Some services answer every call with 200 and report errors in the body. */
const ERROR_IN_BODY: Verdict = {
  state: 'warning',
  means: 'the body reports an error',
  fix: READ_MESSAGE,
};

const BY_KIND: Record<Exclude<ServiceFault['kind'], 'answered'>, Verdict> = {
  'not-sent': { state: 'failed', means: 'the request could not be sent', fix: LATER },
  cut: { state: 'failed', means: 'the answer was incomplete', fix: LATER },
  unreadable: NOT_THE_SERVICE,
  refused: ERROR_IN_BODY,
  'not-allowed': { state: 'failed', means: 'the request could not be sent', fix: SET_ADDRESS },
};

export const checkKey: Check = {
  name: 'key',
  needs: ['service'],
  async run(context, signal) {
    const named = namedServices(context);
    if (named.kind === 'none') return ok(named.found);
    const tried = named.services.map(async (service) => ({
      ...service,
      finding: await tryKey(service, signal),
    }));
    return tried.length === 0
      ? ok('not checked: packages of the AI SDK send it')
      : togetherOf(await Promise.all(tried));
  },
};

async function tryKey(
  { name, baseUrl, profile, readKey }: NamedService,
  signal: AbortSignal,
): Promise<Finding> {
  let apiKey: () => string;
  try {
    apiKey = readKey();
  } catch (error) {
    // The settings check does not read the keys of the file: clients have the file without them.
    if (name === undefined || !(error instanceof ConfigError)) throw error;
    return failed('it has no key here', error.message);
  }
  const pollTimeouts = { headersTimeout: CALL_LIMIT_MS, bodyTimeout: CALL_LIMIT_MS };
  const service = createVideoService({
    baseUrl,
    apiKey,
    profile,
    timeouts: { connect: CALL_LIMIT_MS, poll: pollTimeouts },
  });
  try {
    // A poll costs nothing, and for a task that does not exist there is one right answer.
    return judgeReading(await service.poll(`doctor-${randomUUID()}`, { signal }));
  } catch (error) {
    if (error instanceof ServiceFault) return judgeFault(error);
    throw error;
  } finally {
    await service.close();
  }
}

function judgeReading({ serviceMessage, taskId }: TaskReading): Finding {
  const message = serviceMessageOf(serviceMessage);
  const verdict = message !== '' && taskId === undefined ? ERROR_IN_BODY : verdictOf(200);
  return finding('answered 200', verdict, message);
}

function judgeFault({ kind, facts }: ServiceFault): Finding {
  const message = serviceMessageOf(facts);
  const answered = facts.status === undefined ? 'no answer' : `answered ${facts.status}`;
  if (kind !== 'answered') return finding(answered, BY_KIND[kind], message);
  // A web server without this page answers 404 too, for any key.
  const isPage = /^\s*<(!doctype|html|\?xml)/i.test(facts.message ?? '');
  return finding(answered, isPage ? NOT_THE_SERVICE : verdictOf(facts.status ?? 0), message);
}

function serviceMessageOf({ code, message }: { code?: string; message?: string }): string {
  return cleanText([code, message].filter(Boolean).join(': '), LONGEST_MESSAGE_CHARS);
}

function verdictOf(status: number): Verdict {
  return BY_STATUS[status] ?? BY_STATUS[Math.floor(status / 100) * 100] ?? NOT_THE_SERVICE;
}

function finding(answered: string, verdict: Verdict, message: string): Finding {
  if (verdict.state === 'ok') return ok(`accepted (${answered} for a task that does not exist)`);
  const found = `${answered}: ${verdict.means}${message && ` (${message})`}`;
  return verdict.state === 'warning' ? warning(found, verdict.fix) : failed(found, verdict.fix);
}
