import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import {
  ConfigError,
  type Environment,
  namesAService,
  readApiKey,
  readBaseUrl,
  readProfile,
} from '../../config/service-config';
import { keyReader, readServices, type ServiceInFile } from '../../config/services-config';
import { readTemporalAddress } from '../../config/temporal-config';
import { cleanText } from '../../contract/clean-text';
import { describeDuration } from '../../contract/duration';
import { createVideoService, ServiceFault, type ServiceProfile } from '../../service';
import { findAiSdkProblem } from '../../worker/ai-sdk-entry';
import { CALL_LIMIT_MS } from '../find-temporal';
import { codeOf, messageOf } from './described-error';
import { type AddressAnswer, type Context, type Finding, failed, ok, warning } from './finding';

/** A service of the settings. One from the file has a name. */
interface NamedService {
  name?: string;
  baseUrl: string;
  profile?: ServiceProfile | undefined;
  readKey: () => () => string;
}

type NamedServices =
  | { kind: 'named'; services: readonly NamedService[]; models: readonly ServiceInFile[] }
  | { kind: 'none'; found: string };

/** The configured services. Without one, jobs use the service of a remote worker, or the local emulator. */
function namedServices(env: Environment): NamedServices {
  const file = readServices(env);
  const inFile = [...(file?.services.values() ?? [])];
  const ofFile = inFile.flatMap((service): NamedService[] => {
    const { name, baseUrl, profile } = service;
    return baseUrl === undefined ? [] : [{ name, baseUrl, profile, readKey: () => keyReader(service, env) }];
  });
  const unnamed = namesAService(env)
    ? [{ baseUrl: readBaseUrl(env), profile: readProfile(env), readKey: () => readApiKey(env) }]
    : [];
  const services = [...unnamed, ...ofFile];
  if (file !== undefined || services.length > 0)
    return { kind: 'named', services, models: inFile.filter(({ aiSdk }) => aiSdk !== undefined) };
  const found =
    readTemporalAddress(env) === undefined
      ? 'VIDEO_API_BASE_URL is not set: the emulator is used'
      : 'VIDEO_API_BASE_URL is not set here: workers use their own; one that starts here needs it';
  return { kind: 'none', found };
}

/** One finding about several services: as bad as the worst, with what was found and how to fix it for each. */
async function together(findings: Promise<{ name?: string; finding: Finding }>[]): Promise<Finding> {
  const all = await Promise.all(findings);
  const said = (text: string, name?: string) => (name === undefined ? text : `${name}: ${text}`);
  const found = all.map(({ name, finding }) => said(finding.found, name)).join('; ');
  const fixes = all.flatMap(({ name, finding }) => ('fix' in finding ? said(finding.fix, name) : []));
  const fix = [...new Set(fixes)].join('\n');
  const has = (state: Finding['state']) => all.some(({ finding }) => finding.state === state);
  if (has('failed')) return failed(found, fix);
  return has('warning') ? warning(found, fix) : ok(found);
}

/** Problems of an address that does not answer, by the error code of Node or undici. */
const NO_TLS = {
  problem: 'it does not speak TLS',
  fix: 'Use http:// in VIDEO_API_BASE_URL, or correct its port.',
};
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
  EPROTO: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
};
const ANY_CODE_FIX = 'Correct VIDEO_API_BASE_URL, or fix what is between this machine and the service.';

export async function checkService({ env, addressAnswer }: Context): Promise<Finding> {
  const named = namedServices(env);
  if (named.kind === 'none') return ok(named.found);
  return together([
    ...named.services.map(async ({ name, baseUrl }) => {
      const answer = await addressAnswer(baseUrl);
      if (answer.kind === 'answered') return { name, finding: ok(`${baseUrl} answers`) };
      const { problem, fix } = BY_CODE[answer.code] ?? {
        problem: answer.message || answer.code,
        fix: ANY_CODE_FIX,
      };
      const ofFile = fix.replace('VIDEO_API_BASE_URL', 'its baseUrl in VIDEOGEN_SERVICES_FILE');
      const found = `${baseUrl} does not answer: ${problem}`;
      return { name, finding: failed(found, name === undefined ? fix : ofFile) };
    }),
    ...named.models.map(async ({ name, aiSdk }) => ({ name, finding: await checkModel(aiSdk) })),
  ]);
}

/** Where a package sends its requests, only the package knows. */
async function checkModel(model: { package: string; model: string } | undefined): Promise<Finding> {
  if (model === undefined) return ok('no model');
  const problem = await findAiSdkProblem(model);
  return problem === undefined
    ? ok(`${model.package} has the model ${model.model}`)
    : failed(problem, 'Install the package, or correct aiSdk in VIDEOGEN_SERVICES_FILE.');
}

/** Sends one GET without a key, to learn whether the address speaks HTTP and what its clock says. */
export async function askAddress(url: string): Promise<AddressAnswer> {
  const dispatcher = new Agent({ connect: { timeout: CALL_LIMIT_MS } });
  const sentMs = Date.now();
  try {
    const signal = AbortSignal.timeout(CALL_LIMIT_MS);
    const { headers, body } = await request(url, { dispatcher, signal });
    // The body is not read; it ends with its connection.
    body.on('error', () => undefined);
    const dateMs = Date.parse(String(headers.date));
    // A cache repeats an old Date header, and says in Age how old it is.
    const ageMs = (Number(headers.age ?? 0) || 0) * 1_000;
    const clock = { theirsMs: dateMs + ageMs, oursMs: (sentMs + Date.now()) / 2 };
    return { kind: 'answered', clock: Number.isNaN(dateMs) ? undefined : clock };
  } catch (error) {
    return { kind: 'silent', code: String(codeOf(error) ?? ''), message: messageOf(error) };
  } finally {
    await dispatcher.destroy();
  }
}

/** Signed links and certificates tolerate a minute. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000;

export async function checkClock({ env, addressAnswer }: Context): Promise<Finding> {
  const named = namedServices(env);
  const [service] = named.kind === 'named' ? named.services : [];
  // Temporal's API does not report its time.
  if (service === undefined) return ok('not compared: no video service is configured');
  const answer = await addressAnswer(service.baseUrl);
  if (answer.kind === 'silent' || answer.clock === undefined)
    return ok('not compared: the service sends no Date header');
  const { oursMs, theirsMs } = answer.clock;
  const differenceMs = Math.abs(oursMs - theirsMs);
  // The Date header has whole seconds.
  if (differenceMs < 2_000) return ok('the same as that of the service');
  const side = oursMs > theirsMs ? 'ahead of' : 'behind';
  const found = `${describeDuration(differenceMs)} ${side} that of the service`;
  return differenceMs <= MAX_CLOCK_DIFFERENCE_MS
    ? ok(found)
    : failed(found, "Set this machine's clock, for example with NTP.");
}

const SET_KEY = 'Set VIDEO_API_KEY (or the file of VIDEO_API_KEY_FILE) to a key of this service.';
const SET_ADDRESS = 'Set VIDEO_API_BASE_URL to the address of the video service, without /v1.';
const LATER = 'Try again later.';
const READ_MESSAGE = "Read the service's message.";

type Verdict = 'accepted' | { state: 'warning' | 'failed'; means: string; fix: string };

const problem = (means: string, fix: string): Verdict => ({ state: 'failed', means, fix });
const doubt = (means: string, fix: string): Verdict => ({ state: 'warning', means, fix });
const REFUSED_KEY = problem('the key is refused', SET_KEY);
const NOT_THE_SERVICE = problem('it is probably not the video service', SET_ADDRESS);
/** Some services answer every call with 200 and report errors in the body. */
const ERROR_IN_BODY = doubt('the body reports an error', READ_MESSAGE);

/** What the answer to a poll of a nonexistent task means. An exact status wins over its class (200, 300, 400, 500). */
const BY_STATUS: Record<number, Verdict> = {
  401: REFUSED_KEY,
  402: problem('the account has no credit', 'Add credit to the account.'),
  403: REFUSED_KEY,
  404: 'accepted',
  405: NOT_THE_SERVICE,
  410: 'accepted',
  429: doubt('the service limits its calls, so the key was not checked', LATER),
  200: problem('there is no such task, so it is probably not the video service', SET_ADDRESS),
  300: problem('it redirects', `${SET_ADDRESS} Often https:// is missing.`),
  400: doubt('the service does not say whether the key is valid', READ_MESSAGE),
  500: problem('the service failed', LATER),
};

const BY_KIND: Record<Exclude<ServiceFault['kind'], 'answered'>, Verdict> = {
  'not-sent': problem('the request could not be sent', LATER),
  cut: problem('the answer was incomplete', LATER),
  unreadable: NOT_THE_SERVICE,
  refused: ERROR_IN_BODY,
  'not-allowed': problem('the request could not be sent', SET_ADDRESS),
};

export async function checkKey({ env }: Context, signal: AbortSignal): Promise<Finding> {
  const named = namedServices(env);
  if (named.kind === 'none') return ok(named.found);
  if (named.services.length === 0) return ok('not checked: packages of the AI SDK send it');
  return together(
    named.services.map(async (service) => ({ name: service.name, finding: await tryKey(service, signal) })),
  );
}

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
  const poll = { headersTimeout: CALL_LIMIT_MS, bodyTimeout: CALL_LIMIT_MS };
  const timeouts = { connect: CALL_LIMIT_MS, poll };
  const service = createVideoService({ baseUrl, apiKey, profile, timeouts });
  try {
    // A poll costs nothing, and for a task that does not exist there is one right answer.
    const { serviceMessage, taskId } = await service.poll(`doctor-${randomUUID()}`, { signal });
    const message = messageIn(serviceMessage);
    return judge(200, message !== '' && taskId === undefined ? ERROR_IN_BODY : verdictOf(200), message);
  } catch (error) {
    if (error instanceof ServiceFault) return judgeFault(error);
    throw error;
  } finally {
    await service.close();
  }
}

function judgeFault({ kind, facts }: ServiceFault): Finding {
  const { status, message } = facts;
  if (kind !== 'answered') return judge(status, BY_KIND[kind], messageIn(facts));
  // A web server without this page answers 404 too, for any key.
  const isPage = /^\s*<(!doctype|html|\?xml)/i.test(message ?? '');
  return judge(status, isPage ? NOT_THE_SERVICE : verdictOf(status ?? 0), messageIn(facts));
}

function verdictOf(status: number): Verdict {
  return BY_STATUS[status] ?? BY_STATUS[Math.floor(status / 100) * 100] ?? NOT_THE_SERVICE;
}

/** Enough to recognize the problem. */
const LONGEST_MESSAGE_CHARS = 200;

function messageIn({ code, message }: { code?: string; message?: string }): string {
  return cleanText([code, message].filter(Boolean).join(': '), LONGEST_MESSAGE_CHARS);
}

function judge(status: number | undefined, verdict: Verdict, message: string): Finding {
  const answered = status === undefined ? 'no answer' : `answered ${status}`;
  if (verdict === 'accepted') return ok(`accepted (${answered} for a task that does not exist)`);
  const found = `${answered}: ${verdict.means}${message && ` (${message})`}`;
  return verdict.state === 'warning' ? warning(found, verdict.fix) : failed(found, verdict.fix);
}
