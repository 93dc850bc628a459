import { randomUUID } from 'node:crypto';
import {
  ConfigError,
  type Environment,
  keyReader,
  namesAService,
  readServiceConfig,
} from '../../config/service-config';
import type { ServiceInFile } from '../../config/services-file';
import { readSetting } from '../../config/settings';
import { readTemporalAddress } from '../../config/temporal-config';
import { cleanText } from '../../contract/clean-text';
import { createVideoService, ServiceFault, type VideoServiceOptions } from '../../service';
import { CALL_LIMIT_MS, type Temporal } from '../find-temporal';

/** Loaded only for a service that is a model of the AI SDK. */
const aiSdk = (): typeof import('../../ai-sdk/load-ai-sdk-service') =>
  require('../../ai-sdk/load-ai-sdk-service');

/** The result of a check. For a skipped check, `found` says why it was skipped. */
export interface Finding {
  state: 'ok' | 'warning' | 'failed' | 'skipped';
  found: string;
  /** How to fix a problem. */
  fix?: string | undefined;
}

export const ok = (found: string): Finding => ({ state: 'ok', found });
export const warning = (found: string, fix: string): Finding => ({ state: 'warning', found, fix });
export const failed = (found: string, fix: string): Finding => ({ state: 'failed', found, fix });
export const skipped = (found: string): Finding => ({ state: 'skipped', found });

/** What the checks look at. The server is looked up once. */
export interface Context {
  env: Environment;
  temporal: Promise<Temporal>;
}

/** Polls a task that does not exist at each service, with its key. That costs nothing, and there is one right answer. */
export async function checkService({ env }: Context): Promise<Finding> {
  const inFile = Object.values(readSetting('VIDEOGEN_SERVICES_FILE', env)?.services ?? {});
  const findings = await Promise.all([
    ...(namesAService(env) ? [tryService(readServiceConfig(env))] : []),
    ...inFile.map((service) => tryNamed(service, env)),
  ]);
  if (findings.length > 0) return together(findings);
  return ok(
    readTemporalAddress(env) === undefined
      ? 'VIDEO_API_BASE_URL is not set: the emulator is used'
      : 'VIDEO_API_BASE_URL is not set here: workers use their own; one that starts here needs it',
  );
}

/** One finding about several services: as bad as the worst. */
function together(findings: readonly Finding[]): Finding {
  const states = findings.map(({ state }) => state);
  return {
    state: (['failed', 'warning'] as const).find((state) => states.includes(state)) ?? 'ok',
    found: findings.map(({ found }) => found).join('; '),
    fix: findings.flatMap(({ fix }) => fix ?? []).join('\n') || undefined,
  };
}

async function tryNamed(service: ServiceInFile, env: Environment): Promise<Finding> {
  const { state, found, fix } = await tryServiceOfFile(service, env);
  const { name } = service;
  const fixHere = fix?.replace(/VIDEO_API_(BASE_URL|KEY)/, 'it in VIDEOGEN_SERVICES_FILE');
  return { state, found: `${name}: ${found}`, fix: fixHere && `${name}: ${fixHere}` };
}

async function tryServiceOfFile(service: ServiceInFile, env: Environment): Promise<Finding> {
  const { baseUrl, profile, aiSdk: model } = service;
  // Where a package sends its requests, only the package knows.
  const problem = model && (await aiSdk().findAiSdkProblem(model));
  if (problem !== undefined)
    return failed(problem, 'Install the package, or correct aiSdk in VIDEOGEN_SERVICES_FILE.');
  if (baseUrl === undefined) return ok(`${model?.package} has the model ${model?.model}`);
  try {
    return await tryService({ baseUrl, profile, apiKey: keyReader(service, env) });
  } catch (error) {
    // The settings check does not read the keys of the file: clients have the file without them.
    if (error instanceof ConfigError) return failed('it has no key here', error.message);
    throw error;
  }
}

const SET_ADDRESS = 'Correct VIDEO_API_BASE_URL: the address of the video service, without /v1.';
const ACCEPTED = ok(' for a task that does not exist, so the key is accepted');
const REFUSED_KEY = failed(': the key is refused', 'Set VIDEO_API_KEY to a key of this service.');
const NOT_THE_SERVICE = failed(': it is probably not the video service', SET_ADDRESS);
/** Some services answer every call with 200 and report errors in the body. */
const ERROR_IN_BODY = warning(': the body reports an error', "Read the service's message.");

/** What an answer means: `found` is the end of the sentence about it. An exact status wins over its class (200, 300, 400, 500). */
const BY_STATUS: Record<number, Finding> = {
  401: REFUSED_KEY,
  402: failed(': the account has no credit', 'Add credit to the account.'),
  403: REFUSED_KEY,
  404: ACCEPTED,
  405: NOT_THE_SERVICE,
  410: ACCEPTED,
  429: warning(': the service limits its calls, so the key was not checked', 'Try again later.'),
  200: NOT_THE_SERVICE,
  300: failed(': it redirects', `${SET_ADDRESS} Often https:// is missing.`),
  400: warning(': the service does not say whether the key is valid', "Read the service's message."),
  500: failed(': the service failed', 'Try again later.'),
};

async function tryService(service: VideoServiceOptions): Promise<Finding> {
  const timeouts = { connect: CALL_LIMIT_MS, poll: CALL_LIMIT_MS };
  const opened = createVideoService({ ...service, timeouts });
  try {
    const { serviceMessage = {}, taskId } = await opened.status(`doctor-${randomUUID()}`);
    const isError = taskId === undefined && (serviceMessage.code ?? serviceMessage.message) !== undefined;
    const verdict = isError ? ERROR_IN_BODY : NOT_THE_SERVICE;
    return judge(service.baseUrl, { status: 200, ...serviceMessage }, verdict);
  } catch (error) {
    if (error instanceof ServiceFault) return judge(service.baseUrl, error.facts, verdictOn(error));
    throw error;
  } finally {
    await opened.close();
  }
}

function verdictOn({ kind, facts: { status = 0, message = '' } }: ServiceFault): Finding {
  if (kind === 'refused') return ERROR_IN_BODY;
  // A web server without this page answers 404 too, for any key.
  if (kind === 'unreadable' || /^\s*<(!doctype|html|\?xml)/i.test(message)) return NOT_THE_SERVICE;
  if (kind !== 'answered') return failed(': the request got no answer', SET_ADDRESS);
  return BY_STATUS[status] ?? BY_STATUS[Math.floor(status / 100) * 100] ?? NOT_THE_SERVICE;
}

/** Enough to recognize the problem. */
const LONGEST_MESSAGE_CHARS = 200;

function judge(baseUrl: string, { status, code, message }: ServiceFault['facts'], verdict: Finding): Finding {
  const said = verdict === ACCEPTED ? '' : [code, message].filter(Boolean).join(': ');
  const detail = said && ` (${cleanText(said, LONGEST_MESSAGE_CHARS)})`;
  const answered = status === undefined ? baseUrl : `${baseUrl} answered ${status}`;
  return { ...verdict, found: `${answered}${detail}${verdict.found}` };
}
