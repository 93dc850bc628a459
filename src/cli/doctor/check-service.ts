import { randomUUID } from 'node:crypto';
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
import { createVideoService, ServiceFault, type ServiceProfile } from '../../service';
import { aiSdk } from '../../worker/services-of-file';
import { CALL_LIMIT_MS } from '../find-temporal';
import { type Context, type Finding, failed, ok, warning } from './finding';

/** A service of the settings. One from the file has a name. */
interface NamedService {
  name?: string;
  baseUrl: string;
  profile?: ServiceProfile | undefined;
  readKey: () => () => string;
}

/** Polls a task that does not exist at each service, with its key. That costs nothing, and there is one right answer. */
export async function checkService({ env }: Context, signal: AbortSignal): Promise<Finding> {
  const inFile = [...(readServices(env)?.services.values() ?? [])];
  const findings = await Promise.all([
    ...servicesOf(env, inFile).map(async (service) => ({
      name: service.name,
      finding: await tryService(service, signal),
    })),
    ...inFile.flatMap(({ name, aiSdk }) =>
      aiSdk === undefined ? [] : checkModel(aiSdk).then((finding) => ({ name, finding })),
    ),
  ]);
  if (findings.length > 0) return together(findings);
  return ok(
    readTemporalAddress(env) === undefined
      ? 'VIDEO_API_BASE_URL is not set: the emulator is used'
      : 'VIDEO_API_BASE_URL is not set here: workers use their own; one that starts here needs it',
  );
}

/** Those that are asked over HTTP. */
function servicesOf(env: Environment, inFile: readonly ServiceInFile[]): NamedService[] {
  const unnamed = namesAService(env)
    ? [{ baseUrl: readBaseUrl(env), profile: readProfile(env), readKey: () => readApiKey(env) }]
    : [];
  const ofFile = inFile.flatMap((service): NamedService[] => {
    const { name, baseUrl, profile } = service;
    return baseUrl === undefined ? [] : [{ name, baseUrl, profile, readKey: () => keyReader(service, env) }];
  });
  return [...unnamed, ...ofFile];
}

/** One finding about several services: as bad as the worst, with what was found and how to fix it for each. */
function together(findings: readonly { name?: string; finding: Finding }[]): Finding {
  const said = (text: string, name?: string) => (name === undefined ? text : `${name}: ${text}`);
  const found = findings.map(({ name, finding }) => said(finding.found, name)).join('; ');
  const fixes = findings.flatMap(({ name, finding }) => ('fix' in finding ? said(finding.fix, name) : []));
  const fix = [...new Set(fixes)].join('\n');
  const has = (state: Finding['state']) => findings.some(({ finding }) => finding.state === state);
  if (has('failed')) return failed(found, fix);
  return has('warning') ? warning(found, fix) : ok(found);
}

/** Where a package sends its requests, only the package knows. */
async function checkModel(model: { package: string; model: string }): Promise<Finding> {
  const problem = await aiSdk().findAiSdkProblem(model);
  return problem === undefined
    ? ok(`${model.package} has the model ${model.model}`)
    : failed(problem, 'Install the package, or correct aiSdk in VIDEOGEN_SERVICES_FILE.');
}

interface Verdict {
  state: 'accepted' | 'warning' | 'failed';
  means: string;
  fix: string;
}

const SET_KEY = 'Set VIDEO_API_KEY (or the file of VIDEO_API_KEY_FILE) to a key of this service.';
const SET_ADDRESS = 'Set VIDEO_API_BASE_URL to the address of the video service, without /v1.';
const LATER = 'Try again later.';
const READ_MESSAGE = "Read the service's message.";

const problem = (means: string, fix: string): Verdict => ({ state: 'failed', means, fix });
const doubt = (means: string, fix: string): Verdict => ({ state: 'warning', means, fix });
const ACCEPTED: Verdict = { state: 'accepted', means: '', fix: '' };
const REFUSED_KEY = problem('the key is refused', SET_KEY);
const NOT_THE_SERVICE = problem('it is probably not the video service', SET_ADDRESS);
const NO_TLS = problem('it does not speak TLS', 'Use http:// in VIDEO_API_BASE_URL, or correct its port.');
/** Some services answer every call with 200 and report errors in the body. */
const ERROR_IN_BODY = doubt('the body reports an error', READ_MESSAGE);

/** What an answer means. An exact status wins over its class (200, 300, 400, 500). */
const BY_STATUS: Record<number, Verdict> = {
  401: REFUSED_KEY,
  402: problem('the account has no credit', 'Add credit to the account.'),
  403: REFUSED_KEY,
  404: ACCEPTED,
  405: NOT_THE_SERVICE,
  410: ACCEPTED,
  429: doubt('the service limits its calls, so the key was not checked', LATER),
  200: problem('there is no such task, so it is probably not the video service', SET_ADDRESS),
  300: problem('it redirects', `${SET_ADDRESS} Often https:// is missing.`),
  400: doubt('the service does not say whether the key is valid', READ_MESSAGE),
  500: problem('the service failed', LATER),
};

/** What a call that failed without an answer means, by the error code of Node or undici. */
const BY_CODE: Record<string, Verdict> = {
  ENOTFOUND: problem('its host name is unknown', 'Correct the host name in VIDEO_API_BASE_URL.'),
  EAI_AGAIN: problem('its host name cannot be resolved', 'Check the network and DNS of this machine.'),
  ECONNREFUSED: problem(
    'nothing listens there',
    'Correct the port in VIDEO_API_BASE_URL, or start the service there.',
  ),
  EPROTO: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
};
const BY_KIND: Record<Exclude<ServiceFault['kind'], 'answered'>, Verdict> = {
  'not-sent': problem(
    'the request could not be sent',
    'Correct VIDEO_API_BASE_URL, or fix what is between this machine and the service.',
  ),
  cut: problem('the connection ended before the answer', LATER),
  unreadable: NOT_THE_SERVICE,
  refused: ERROR_IN_BODY,
  'not-allowed': problem('the request could not be sent', SET_ADDRESS),
};

async function tryService(service: NamedService, signal: AbortSignal): Promise<Finding> {
  const { name, baseUrl, profile, readKey } = service;
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
  const opened = createVideoService({ baseUrl, apiKey, profile, timeouts });
  try {
    const { serviceMessage = {}, taskId } = await opened.status(`doctor-${randomUUID()}`, { signal });
    const isError = taskId === undefined && (serviceMessage.code ?? serviceMessage.message) !== undefined;
    return judge(service, { status: 200, ...serviceMessage }, isError ? ERROR_IN_BODY : verdictOf(200));
  } catch (error) {
    if (error instanceof ServiceFault) return judge(service, error.facts, verdictOnFault(error));
    throw error;
  } finally {
    await opened.close();
  }
}

function verdictOnFault({ kind, facts }: ServiceFault): Verdict {
  if (kind !== 'answered') return BY_CODE[facts.code ?? ''] ?? BY_KIND[kind];
  // A web server without this page answers 404 too, for any key.
  const isPage = /^\s*<(!doctype|html|\?xml)/i.test(facts.message ?? '');
  return isPage ? NOT_THE_SERVICE : verdictOf(facts.status ?? 0);
}

function verdictOf(status: number): Verdict {
  return BY_STATUS[status] ?? BY_STATUS[Math.floor(status / 100) * 100] ?? NOT_THE_SERVICE;
}

/** Enough to recognize the problem. */
const LONGEST_MESSAGE_CHARS = 200;

function judge(
  { name, baseUrl }: NamedService,
  { status, code, message }: ServiceFault['facts'],
  { state, means, fix }: Verdict,
): Finding {
  const answered = status === undefined ? 'does not answer' : `answered ${status}`;
  if (state === 'accepted')
    return ok(`${baseUrl} accepts the key (${answered} for a task that does not exist)`);
  const detail = cleanText([code, message].filter(Boolean).join(': '), LONGEST_MESSAGE_CHARS);
  const found = `${baseUrl} ${answered}: ${means}${detail && ` (${detail})`}`;
  const ofFile = fix.replace('VIDEO_API_BASE_URL', 'its baseUrl in VIDEOGEN_SERVICES_FILE');
  return { state, found, fix: name === undefined ? fix : ofFile };
}
