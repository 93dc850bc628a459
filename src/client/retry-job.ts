import type { Client, WorkflowHandle } from '@temporalio/client';
import { ValueError } from '@temporalio/common';
import type { BatchInput } from '../contract/batch';
import { shown } from '../contract/clean-text';
import type { DurationText } from '../contract/duration';
import type { VideoInput } from '../contract/fallback';
import { commandOn } from '../contract/lost-submit';
import { LOST_SUBMIT_MEMO, OWN_MEMOS, RETRY_OF_MEMO, SERVICE_MEMO, TASK_ID_MEMO } from '../contract/names';
import { readServiceName } from '../contract/service-choice';
import type { VideoFailure } from '../contract/video-failure';
import { encrypts } from '../encryption/data-converter';
import { failureOfEnded, findWorkflow, readInput, type StoredInput } from './job-overview';
import type { JobOverview } from './overview';
import { prepareBatch, prepareJob } from './prepare-start';
import { planRetry, type RetryPlan, RetryRefused, retryName } from './retry-plan';
import { type Existing, NameTaken, type PreparedStart, startOrJoin } from './start-or-join';
import { inTime } from './temporal-calls';

/** Options for a retry. */
export interface RetryOptions {
  /**
   * Submits the request again even if that is paid again, or may be: you have looked for the task at the service, or its
   * generation has failed.
   */
  resubmit?: boolean;
  /** How long the new job may take; as long as the old one by default. */
  deadline?: DurationText;
  /** Another of the workers' services, for a job that submits its request again; the same one by default. */
  service?: string;
}

/** A retry that was started, or was running already. */
export interface RetriedJob {
  /** The name of the new job. A batch keeps its own, and so does a job without a known task. */
  workflowId: string;
  kind: JobOverview['kind'];
  /** The task that the new job continues with, which is not paid again. */
  adopted?: string;
  /** True if an earlier retry had started it. */
  isJoined: boolean;
}

/** A chain of retries is followed back this far for the request. */
const MOST_RETRIES = 100;

/** Tries an ended job or batch again, on the task queue that it had. Rejects with a RetryRefused. */
export async function retryJob(
  client: Client,
  workflowId: string,
  options: RetryOptions = {},
): Promise<RetriedJob> {
  const overview = await existing(client, workflowId);
  return overview.kind === 'batch' ? retryBatch(client, overview) : retryOne(client, overview, options);
}

async function existing(client: Client, workflowId: string): Promise<JobOverview> {
  const found = await findWorkflow(client, workflowId);
  if (found && 'overview' in found) return found.overview;
  const what = found === undefined ? 'There is no job' : 'This is not a video job:';
  throw new RetryRefused(`${what} ${shown(workflowId)}.`);
}

async function retryOne(
  client: Client,
  overview: JobOverview,
  { resubmit, deadline, service }: RetryOptions,
): Promise<RetriedJob> {
  const { workflowId, state } = overview;
  // Refuses what has not ended.
  if (overview.endedAt === undefined) planRetry({ workflowId, state });
  // This run alone: another retry may start the job again meanwhile.
  const handle = client.workflow.getHandle(workflowId, overview.runId, { followRuns: false });
  const description = await describe(client, handle);
  const failure = await failureOfEnded(client, handle);
  const taskId = failure?.taskId ?? overview.taskId;
  const wasHeld = description.memo?.[LOST_SUBMIT_MEMO] !== undefined;
  const plan = planRetry({ workflowId, state, failure, taskId, wasHeld }, { resubmit });
  const isOwnName = 'submit' in plan && plan.submit === 'again';
  const retryOf = isOwnName ? overview.retryOf : workflowId;
  const input = await inputFor(client, overview, plan);
  const chosen = choiceFor(overview, plan, {
    input,
    service,
    at: serviceOf(overview, input, { failure, memo: description.memo ?? {} }),
  });
  const prepared = prepareJob(
    {
      ...input,
      ...chosen,
      // To retry a lost submit is to decide about it.
      ...(isOwnName && failure?.type === 'SubmitUnconfirmed' && { onLostSubmit: 'hold' }),
      ...(deadline !== undefined && { deadline }),
    },
    {
      workflowId: isOwnName ? workflowId : retryName(workflowId),
      // What the service takes beyond the interface is in the request, which was accepted before.
      requestFields: Object.keys(Object(input.request)),
      searchAttributes: Object.hasOwn(description.searchAttributes, 'VideoPhase'),
      hidesTaskId:
        encrypts(client.options.loadedDataConverter) ||
        !Object.hasOwn(description.searchAttributes, 'VideoTaskId'),
      temporal: {
        memo: {
          ...memoToKeep(description.memo, chosen.service),
          ...(retryOf !== undefined && { [RETRY_OF_MEMO]: retryOf }),
        },
      },
    },
  );
  // A retry knows how the job ended; a mere start under its name does not.
  const start = isOwnName ? { ...prepared, restartPolicy: restartUnlessSucceeded } : prepared;
  const { isJoined } = await startOn(client, overview, start);
  return {
    workflowId: prepared.options.workflowId,
    kind: 'job',
    ...('adopt' in plan && { adopted: plan.adopt }),
    isJoined,
  };
}

/** Where the retry goes: a task, and a submit that may have made one, stay with their service. */
function choiceFor(
  overview: JobOverview,
  plan: RetryPlan,
  { input, at, service }: { input: StoredInput; at: string | undefined; service: string | undefined },
): StoredInput {
  const alone = input.services === undefined ? {} : { services: undefined, fallbackAfter: undefined };
  const isElsewhere = service !== undefined && service !== at;
  if ('adopt' in plan && isElsewhere) throw notAt(overview, service);
  if (isElsewhere) return { ...alone, service };
  if ('adopt' in plan) return { ...alone, service: at };
  // A new request goes where that of the job went first.
  if (service === undefined && (input.services ?? input.service) !== undefined) return {};
  return at === undefined ? {} : { ...alone, service: at };
}

/**
 * Where the task or the last submit of a job is. Its memo or its failure says so: the worker chooses what the input leaves open,
 * and a task of an earlier job of the name may be elsewhere. Jobs that have noted nothing are where their input says.
 */
function serviceOf(
  overview: JobOverview,
  input: StoredInput,
  { failure, memo }: { failure: VideoFailure | undefined; memo: object },
): string | undefined {
  const [first]: unknown[] = Array.isArray(input.services) ? input.services : [];
  // A task without a named service is at the one without a name.
  const asked = TASK_ID_MEMO in memo ? undefined : (failure?.details.service ?? input.service ?? first);
  return overview.service ?? readServiceName(asked);
}

const notAt = ({ workflowId }: JobOverview, service: string) =>
  new RetryRefused(
    `${shown(workflowId)} goes on with its task, which is not at ${shown(service)}: leave the service out.`,
  );

const restartUnlessSucceeded: PreparedStart<VideoInput>['restartPolicy'] = async (_, { status }) =>
  status.name === 'COMPLETED' ? undefined : 'ALLOW_DUPLICATE_FAILED_ONLY';

/** A batch continues under its own name: whatever it paid for is recorded in the storage. */
async function retryBatch(client: Client, overview: JobOverview): Promise<RetriedJob> {
  const { workflowId, state } = overview;
  if (state === 'running' || state === 'succeeded') planRetry({ workflowId, state });
  const { memo } = await describe(client, client.workflow.getHandle(workflowId));
  const input = await inputOf(client, overview);
  const prepared = prepareBatch(input, {
    workflowId,
    requestFields: fieldsOfAll(input),
    temporal: { memo: memoToKeep(memo) },
  });
  const { isJoined } = await startOn(client, overview, prepared);
  return { workflowId, kind: 'batch', isJoined };
}

async function startOn<Input extends VideoInput | BatchInput>(
  client: Client,
  { workflowId, taskQueue }: JobOverview,
  prepared: PreparedStart<Input>,
): Promise<{ isJoined: boolean }> {
  const next = prepared.options.workflowId;
  try {
    // A start whose answer did not come is joined by the next retry.
    const outcome = await inTime(client, () =>
      startOrJoin(client, prepared, (options) =>
        client.workflow.start(prepared.type, { ...options, taskQueue }),
      ),
    );
    if ('started' in outcome) return { isJoined: false };
    const { name } = outcome.existing.status;
    if (name === 'RUNNING' || name === 'COMPLETED') return { isJoined: true };
  } catch (error) {
    if (!(error instanceof NameTaken)) throw error;
  }
  throw new RetryRefused(`${shown(workflowId)} was retried before, as ${shown(next)}: go on with that one.`, [
    commandOn('status', next),
    commandOn('retry', next),
  ]);
}

/** The SDK decodes the memo, which a codec that is not set here may have encoded. */
function describe(client: Client, handle: WorkflowHandle): Promise<Existing> {
  return inTime(client, () => handle.describe()).catch((error: unknown) => {
    throw error instanceof ValueError ? unreadable(handle.workflowId) : error;
  });
}

const unreadable = (workflowId: string) =>
  new RetryRefused(
    `What ${shown(workflowId)} was started with cannot be read here: another codec has encoded it.`,
  );

async function inputFor(client: Client, overview: JobOverview, plan: RetryPlan): Promise<StoredInput> {
  const input = await inputOf(client, overview);
  if ('submit' in plan && plan.submit === 'again') return input;
  const { request: _, taskId: __, idempotencyKey: ___, ...options } = input;
  if ('adopt' in plan) return { ...options, taskId: plan.adopt };
  return { ...options, request: await requestOf(client, overview) };
}

/** The request of a job; a retry that adopted a task has none, but the job that it is a retry of may. */
async function requestOf(client: Client, overview: JobOverview): Promise<object> {
  let current: JobOverview | undefined = overview;
  for (let left = MOST_RETRIES; current !== undefined && left > 0; left--) {
    const { request } = await inputOf(client, current);
    if (typeof request === 'object' && request !== null) return request;
    const found: Awaited<ReturnType<typeof findWorkflow>> =
      current.retryOf === undefined ? undefined : await findWorkflow(client, current.retryOf);
    current = found && 'overview' in found ? found.overview : undefined;
  }
  throw new RetryRefused(
    `The request of ${shown(overview.workflowId)} is not known: it adopted a task. Start a new job.`,
  );
}

/** Rejects if it cannot be decoded here. */
async function inputOf(client: Client, overview: JobOverview): Promise<StoredInput> {
  const input = await readInput(client, overview);
  if (input === undefined) throw unreadable(overview.workflowId);
  return input;
}

const fieldsOfAll = ({ requests }: StoredInput) =>
  Array.isArray(requests) ? [...new Set(requests.flatMap((request) => Object.keys(Object(request))))] : [];

/** What other programs noted about the job is true for its retry too. */
function memoToKeep(memo: Record<string, unknown> = {}, service?: unknown): Record<string, unknown> {
  const isElsewhere = service !== undefined && service !== memo[SERVICE_MEMO];
  const left = isElsewhere ? [...OWN_MEMOS, SERVICE_MEMO] : OWN_MEMOS;
  return Object.fromEntries(Object.entries(memo).filter(([name]) => !left.includes(name)));
}
