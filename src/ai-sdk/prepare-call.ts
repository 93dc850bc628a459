import { BATCH_STORAGE_RULE, isBatchStorage } from '../contract/batch';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import type { JobInput } from '../contract/job';
import { parseJobInput } from '../contract/job-input';
import type { CheckedImage } from '../storage';
import { jobNameOf } from './job-name';
import { checkName, DEFAULT_SCOPE, type JobScope } from './job-scope';
import { type ModelJobOptions, PROVIDER, readOptions, refused } from './model-options';
import { requestOfCall } from './request-of-call';
import type { ModelCall, ModelWarning } from './video-model-v4';

/** Each is a job of its own, and `ai` keeps all of them in memory. Batches are for more. */
export const MOST_VIDEOS_PER_CALL = 10;

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
  call: ModelCall & { webhookUrl?: string | undefined },
  defaults: Omit<ModelJobOptions, 'name'> | undefined,
  { scope = DEFAULT_SCOPE, isAskedLater = false }: { scope?: JobScope; isAskedLater?: boolean } = {},
): PreparedCall {
  const {
    name,
    fresh,
    request: extra = {},
    cancelOnAbort = false,
    ...options
  } = readOptions(defaults, call.providerOptions?.[PROVIDER]);
  checkName(scope, name, { isAskedLater });
  const { request, image, warnings } = requestOfCall(call);
  const { webhookUrl } = call;
  const job = { ...(webhookUrl !== undefined && { callbackUrl: webhookUrl }), ...options };
  // Which fields the service takes beyond the interface, the client knows and checks.
  const parsed = parseJobInput({ request: { ...request, ...extra }, ...job }, Object.keys(extra));
  if (!parsed.ok) throw refused(parsed.problem);
  const { input } = parsed;
  return {
    input,
    names: namesOf(jobNameOf(call, { name, fresh }, input, scope), countOf(call.n, input)),
    ...(image && { image }),
    warnings,
    cancelOnAbort,
  };
}

/** The first has the name of the call alone: who asks for three after one gets two more. */
function namesOf(name: string, count: number): string[] {
  const names = Array.from({ length: count }, (_, index) => (index === 0 ? name : `${name}-${index + 1}`));
  // Else the first would be started and paid for before a later one is refused.
  if (count > 1 && !names.every(isWorkflowId)) {
    throw refused(
      `n is ${count}: the names of the others would be no names of jobs: name ${WORKFLOW_ID_RULE}`,
    );
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
