import { randomUUID } from 'node:crypto';
import {
  ConfigError,
  type Environment,
  keyReader,
  namesAService,
  readApiKey,
  readBaseUrl,
} from '../../config/service-config';
import type { ServiceInFile } from '../../config/services-file';
import { readSetting } from '../../config/settings';
import { readTemporalAddress } from '../../config/temporal-config';
import { cleanText } from '../../contract/clean-text';
import { createVideoService, ServiceFault, type ServiceProfile } from '../../service';
import { aiSdk } from '../../worker/services-of-file';
import { CALL_LIMIT_MS, type Temporal } from '../find-temporal';

/** The result of a check. `fix` says how to fix a problem; for a skipped check, `found` says why it was skipped. */
export type Finding =
  | { state: 'ok' | 'skipped'; found: string }
  | { state: 'warning' | 'failed'; found: string; fix: string };

export const ok = (found: string): Finding => ({ state: 'ok', found });
export const warning = (found: string, fix: string): Finding => ({ state: 'warning', found, fix });
export const failed = (found: string, fix: string): Finding => ({ state: 'failed', found, fix });
export const skipped = (found: string): Finding => ({ state: 'skipped', found });

/** What the checks look at. The server is looked up once. */
export interface Context {
  env: Environment;
  temporal: Promise<Temporal>;
  /** Ends a check that takes too long. */
  signal: AbortSignal;
}

/** A service of the settings. One from the file has a name. */
interface NamedService {
  name?: string;
  baseUrl: string;
  profile?: ServiceProfile | undefined;
  readKey: () => () => string;
}

/** Polls a task that does not exist at each service, with its key. That costs nothing, and there is one right answer. */
export async function checkService({ env, signal }: Context): Promise<Finding> {
  const inFile = [...(readSetting('VIDEOGEN_SERVICES_FILE', env)?.services.values() ?? [])];
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
    ? [
        {
          baseUrl: readBaseUrl(env),
          profile: readSetting('VIDEOGEN_PROFILE', env),
          readKey: () => readApiKey(env),
        },
      ]
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
  if (fixes.length === 0) return ok(found);
  const state = findings.some(({ finding }) => finding.state === 'failed') ? 'failed' : 'warning';
  return { state, found, fix: fixes.join('\n') };
}

/** Where a package sends its requests, only the package knows. */
async function checkModel(model: { package: string; model: string }): Promise<Finding> {
  const problem = await aiSdk().findAiSdkProblem(model);
  return problem === undefined
    ? ok(`${model.package} has the model ${model.model}`)
    : failed(problem, 'Install the package, or correct aiSdk in VIDEOGEN_SERVICES_FILE.');
}

type Verdict = (found: string) => Finding;

const SET_ADDRESS = 'Correct VIDEO_API_BASE_URL: the address of the video service, without /v1.';
const problem = (means: string, fix: string) => (found: string) => failed(`${found}: ${means}`, fix);
const doubt = (means: string, fix: string) => (found: string) => warning(`${found}: ${means}`, fix);
const accepted: Verdict = (found) => ok(`${found} for a task that does not exist, so the key is accepted`);
const REFUSED_KEY = problem('the key is refused', 'Set VIDEO_API_KEY to a key of this service.');
const NOT_THE_SERVICE = problem('it is probably not the video service', SET_ADDRESS);
/** Some services answer every call with 200 and report errors in the body. */
const ERROR_IN_BODY = doubt('the body reports an error', "Read the service's message.");

/** What an answer means. An exact status wins over its class (200, 300, 400, 500). */
const BY_STATUS: Record<number, Verdict> = {
  401: REFUSED_KEY,
  402: problem('the account has no credit', 'Add credit to the account.'),
  403: REFUSED_KEY,
  404: accepted,
  405: NOT_THE_SERVICE,
  410: accepted,
  429: doubt('the service limits its calls, so the key was not checked', 'Try again later.'),
  200: NOT_THE_SERVICE,
  300: problem('it redirects', `${SET_ADDRESS} Often https:// is missing.`),
  400: doubt('the service does not say whether the key is valid', "Read the service's message."),
  500: problem('the service failed', 'Try again later.'),
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
  const opened = createVideoService({ baseUrl, apiKey, profile, timeouts: { connect: CALL_LIMIT_MS, poll } });
  try {
    const { serviceMessage = {}, taskId } = await opened.status(`doctor-${randomUUID()}`, { signal });
    const isError = taskId === undefined && (serviceMessage.code ?? serviceMessage.message) !== undefined;
    return judge(service, { status: 200, ...serviceMessage }, isError ? ERROR_IN_BODY : NOT_THE_SERVICE);
  } catch (error) {
    if (error instanceof ServiceFault) return judge(service, error.facts, verdictOn(error));
    throw error;
  } finally {
    await opened.close();
  }
}

function verdictOn({ kind, facts: { status = 0, message = '' } }: ServiceFault): Verdict {
  if (kind === 'refused') return ERROR_IN_BODY;
  // A web server without this page answers 404 too, for any key.
  if (kind === 'unreadable' || /^\s*<(!doctype|html|\?xml)/i.test(message)) return NOT_THE_SERVICE;
  if (kind !== 'answered') return problem('the request got no answer', SET_ADDRESS);
  return BY_STATUS[status] ?? BY_STATUS[Math.floor(status / 100) * 100] ?? NOT_THE_SERVICE;
}

/** Enough to recognize the problem. */
const LONGEST_MESSAGE_CHARS = 200;

function judge(
  { name, baseUrl }: NamedService,
  { status, code, message }: ServiceFault['facts'],
  verdict: Verdict,
): Finding {
  const detail = cleanText([code, message].filter(Boolean).join(': '), LONGEST_MESSAGE_CHARS);
  const answered = status === undefined ? baseUrl : `${baseUrl} answered ${status}`;
  const finding = verdict(verdict === accepted || detail === '' ? answered : `${answered} (${detail})`);
  if (name === undefined || !('fix' in finding)) return finding;
  return { ...finding, fix: finding.fix.replace(/VIDEO_API_(BASE_URL|KEY)/, 'it in VIDEOGEN_SERVICES_FILE') };
}
