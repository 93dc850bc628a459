import { createHash, randomUUID } from 'node:crypto';
import { ConfigError } from '../config/service-config';
import { BATCH_STORAGE_RULE, isBatchStorage } from '../contract/batch';
import {
  type FieldRule,
  type FieldRules,
  fieldProblems,
  isPlainObject,
  isWorkflowId,
  WORKFLOW_ID_RULE,
} from '../contract/input-rules';
import type { JobInput, JobOptions } from '../contract/job';
import { JOB_OPTION_FIELDS, parseJobInput } from '../contract/job-input';
import type { CheckedImage } from '../storage';
import { refused, requestOfCall } from './request-of-call';
import type { AiSdkCallOptions, ModelWarning } from './video-model-types';

/** What `providerOptions.videogen` of a call takes: every option of a job, and these. */
export interface ModelJobOptions extends JobOptions {
  /**
   * The workflow id, with the scope of the model in front of it. The same name joins the job, whatever its options are; another
   * request under it is refused.
   */
  name?: string;
  /** A new job for this call, even if the same call was made before. A repeated call pays again. */
  fresh?: boolean;
  /** Fields for the service beyond those of the call. They replace what the call says. */
  request?: Record<string, unknown>;
  /** Whether aborting the call cancels the job, for everybody who waits for it. Default: false. */
  cancelOnAbort?: boolean;
}

/** The name of this provider in `providerOptions` and `providerMetadata`. */
export const PROVIDER = 'videogen';

/** Each is a job of its own, and `ai` keeps all of them in memory. Batches are for more. */
const MOST_VIDEOS_PER_CALL = 10;

/** The jobs that a call becomes. */
export interface PreparedCall {
  input: JobInput;
  /** The workflow ids, one for each video. */
  names: string[];
  image?: CheckedImage;
  warnings: ModelWarning[];
  cancelOnAbort: boolean;
}

/** Checks a call and names its jobs, before anything is stored or started. Throws InvalidRequest. */
export function prepareCall(
  call: AiSdkCallOptions & { webhookUrl?: string | undefined },
  /** The options of every job of the model. */
  defaults: Omit<ModelJobOptions, 'name'> | undefined,
  scope: string,
): PreparedCall {
  const {
    name,
    fresh,
    request: extra = {},
    cancelOnAbort = false,
    ...options
  } = readOptions(defaults, call.providerOptions?.[PROVIDER]);
  const { request, image, warnings } = requestOfCall(call);
  const { webhookUrl } = call;
  const job = { ...(webhookUrl !== undefined && { callbackUrl: webhookUrl }), ...options };
  // Which fields the service takes beyond the interface, the client knows and checks.
  const parsed = parseJobInput({ request: { ...request, ...extra }, ...job }, Object.keys(extra));
  if (!parsed.ok) throw refused(parsed.problem);
  const { input } = parsed;
  return {
    input,
    names: namesOf(nameOf(call, { name, fresh }, input, scope), countOf(call.n, input)),
    ...(image && { image }),
    warnings,
    cancelOnAbort,
  };
}

const FLAG: FieldRule<boolean> = {
  accepts: (value): value is boolean => typeof value === 'boolean',
  sentence: 'must be true or false',
};
/** Checked with the job. */
const ANY: FieldRule<unknown> = { accepts: (value): value is unknown => value !== undefined, sentence: '' };

/** A name for all calls of a model would make them one job, so the defaults have none. */
const RULES_OF_DEFAULTS: FieldRules = {
  fresh: FLAG,
  request: { accepts: isPlainObject, sentence: 'must be an object with fields of the request' },
  cancelOnAbort: FLAG,
  ...Object.fromEntries(JOB_OPTION_FIELDS.map((name) => [name, ANY])),
};
/** Whether it can be a workflow id is checked where the job is started. */
const NAME: FieldRule<string> = {
  accepts: (value): value is string => typeof value === 'string' && value !== '',
  sentence: 'must be text, and not empty',
};

/** The options of a call, over the defaults of its model. */
function readOptions(defaults: object = {}, given: object = {}): ModelJobOptions {
  const before = checked(defaults, RULES_OF_DEFAULTS, 'the option job of videoModel');
  const now = checked(given, { name: NAME, ...RULES_OF_DEFAULTS }, `providerOptions.${PROVIDER}`);
  const options = { ...before, ...now, request: { ...before.request, ...now.request } };
  if (options.name !== undefined && options.fresh) {
    throw refused('give either name or fresh, not both: a name joins its job, and fresh joins none');
  }
  return options;
}

function checked(given: object, rules: FieldRules, owner: string): ModelJobOptions {
  if (!isPlainObject(given)) throw refused(`${owner} must be an object`);
  // Undefined counts as absent, as everywhere in options.
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const [problem] = fieldProblems(options, rules, owner);
  if (problem !== undefined) throw refused(problem);
  return options;
}

/** Another one would have every call pay again that is repeated after an update of this package. */
const DEFAULT_SCOPE = 'ai-sdk-';
/** A prefix is a word or two. */
const LONGEST_SCOPE_CHARS = 100;

/** How the workflow ids of a model begin, among all of its namespace. */
export function readScope(scope: string = DEFAULT_SCOPE): string {
  if (isWorkflowId(scope) && scope.length <= LONGEST_SCOPE_CHARS) return scope;
  throw new ConfigError(
    `The option scope must be text of 1 to ${LONGEST_SCOPE_CHARS} characters, such as "shop-".`,
  );
}

/**
 * The workflow ids of an operation. Programs keep operations for days, in places where anybody may write. A job outside the
 * scope is refused without a look: it may be somebody else's.
 */
export function readOperation(operation: unknown, scope: string): string[] {
  const names: unknown[] = Array.isArray(operation) ? operation : [operation];
  const ours = names.filter(isWorkflowId).filter((name) => name.startsWith(scope));
  const areAllOurs = ours.length > 0 && ours.length === names.length && ours.length <= MOST_VIDEOS_PER_CALL;
  if (areAllOurs) return ours;
  throw refused('the operation is not one of this model: pass on what experimental_startVideo returned');
}

/** Every start by `ai` has a key of this form, a new one each time: it would make the same call another job. */
const KEY_OF_AI = /^aisdk_vid_/;

/**
 * The workflow id of a call. The same call has the same one, in any process: it joins its job instead of paying again. A name of
 * the caller's comes first, then an Idempotency-Key of the caller's.
 */
function nameOf(
  call: AiSdkCallOptions,
  { name, fresh }: Pick<ModelJobOptions, 'name' | 'fresh'>,
  input: JobInput,
  scope: string,
): string {
  if (name !== undefined) return name.startsWith(scope) ? name : scope + name;
  const headers = Object.entries(call.headers ?? {});
  // An empty one would be that of every caller who forgot it.
  const key = headers.find(([header]) => header.toLowerCase() === 'idempotency-key')?.[1] || undefined;
  if (key !== undefined && !KEY_OF_AI.test(key)) return scope + digestOf(['key', key]);
  return scope + digestOf(fresh ? ['fresh', key ?? freshIdOf(call)] : ['call', input]);
}

const freshIds = new WeakMap<object, string>();

/** `ai` repeats a failed call with the same object: the start that it repeats may have reached Temporal. */
function freshIdOf(call: object): string {
  const id = freshIds.get(call) ?? randomUUID();
  freshIds.set(call, id);
  return id;
}

/**
 * The order of names in the JSON makes no difference: programs write their options down in any. Another digest would have
 * every call pay again that is repeated after an update of this package.
 */
function digestOf(parts: readonly unknown[]): string {
  const sorted = JSON.stringify(parts, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
  return createHash('sha256').update(sorted).digest('hex').slice(0, 32);
}

/** The first has the name of the call alone: a call for three after one for one makes two more. */
function namesOf(name: string, count: number): string[] {
  const names = Array.from({ length: count }, (_, index) => (index === 0 ? name : `${name}-${index + 1}`));
  // Else the first would be started and paid for before a later one is refused.
  if (count > 1 && !names.every(isWorkflowId)) {
    throw refused(`n is ${count}: the names of the others would be too long: name ${WORKFLOW_ID_RULE}`);
  }
  return names;
}

/** What would give several jobs of one call the same video, the same task or the same file. */
const ONE_ALONE: readonly [is: (input: JobInput) => boolean, problem: string][] = [
  [
    ({ request }) => request?.seed !== undefined,
    'with one seed each video would be the same: leave seed out, or make a call for each seed',
  ],
  [
    ({ idempotencyKey }) => idempotencyKey !== undefined,
    'idempotencyKey is for a single video: leave it out',
  ],
  [({ storage }) => !isBatchStorage(storage), `storage ${BATCH_STORAGE_RULE}`],
];

function countOf(n: number | undefined = 1, input: JobInput): number {
  if (!Number.isInteger(n) || n < 1 || n > MOST_VIDEOS_PER_CALL) {
    throw refused(
      `n must be a whole number from 1 to ${MOST_VIDEOS_PER_CALL}: start a batch to make more videos`,
    );
  }
  const problem = n > 1 && ONE_ALONE.find(([is]) => is(input))?.[1];
  if (problem) throw refused(`n is ${n}: ${problem}`);
  return n;
}
