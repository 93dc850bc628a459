import { createHash, randomUUID } from 'node:crypto';
import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionStatusName,
  type WorkflowHandle,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { type Environment, readProfile } from '../config/service-config';
import { readDownloadQueue } from '../config/storage-config';
import { readSearchAttributes, readTaskQueue } from '../config/temporal-config';
import type { BatchInput, BatchResult } from '../contract/batch';
import { parseBatchInput } from '../contract/batch-input';
import { VideoFailure } from '../contract/failures';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import type { JobInput, JobResult } from '../contract/job';
import { identityOf } from '../contract/job-identity';
import { parseJobInput } from '../contract/job-input';
import { BATCH_WORKFLOW_TYPE, IDENTITY_MEMO, submitQueueOf, WORKFLOW_TYPE } from '../contract/names';
import { firstSearchAttributes } from '../contract/search-attributes';
import { staticBatchDetails, staticJobDetails } from '../contract/static-details';
import { describeBatch, describeJob } from '../contract/summaries';
import { connectClient } from './connect';
import { explainStart } from './search-attributes';
import { jobAfresh, startOrJoin } from './start-or-join';
import { batchOf, type VideoBatch } from './video-batch';
import { jobOf, type VideoJob } from './video-job';

export interface VideoClientOptions {
  /** Read for whatever is not given here; the process's own unless set. */
  env?: Environment;
  client?: Client;
  taskQueue?: string;
  /** Where the jobs' submits wait; `<taskQueue>-submit` unless set, as a worker has it. The task queue itself for one. */
  submitQueue?: string;
  /** Where the jobs' downloads wait, when not on the task queue; what VIDEOGEN_DOWNLOAD_QUEUE names unless set. */
  downloadQueue?: string;
  /** Fields that requests may have beyond the interface; those of the profile that the environment names unless set. */
  requestFields?: readonly string[];
  /**
   * Whether jobs can be found by VideoTaskId, VideoPhase and VideoOutcome; the namespace must have them registered. What
   * VIDEOGEN_SEARCH_ATTRIBUTES says unless set. Batches have none.
   */
  searchAttributes?: boolean;
}

export interface StartOptions {
  /** The name of the job. The same request under it joins the job, whether it runs or has ended; another is refused. */
  workflowId?: string;
  /** Anything else that Temporal offers at a start, such as `priority` or `memo`. */
  temporal?: Partial<WorkflowStartOptions>;
}

export interface VideoClient {
  /** Starts a job, or joins the one that has the name already. Needs no worker to be running. */
  start(input: JobInput, options?: StartOptions): Promise<VideoJob>;
  /** The same in one call with waiting for the task id: when it resolves, the service has accepted the request. */
  submit(input: JobInput, options?: StartOptions): Promise<{ job: VideoJob; taskId: string }>;
  execute(input: JobInput, options?: StartOptions): Promise<JobResult>;
  /**
   * The job of a name, whoever started it, while it runs and after its end. Starts nothing and asks nothing by itself.
   *
   * @example
   * ```ts
   * const job = videos.handle('fox-1');
   * if (await job.exists()) console.log((await job.progress()).phase);
   * const { video } = await job.result();
   * ```
   */
  handle(workflowId: string): VideoJob;
  /** Starts a batch, or joins the one that has the name already; one that stopped or was cancelled goes on. */
  startBatch(input: BatchInput, options?: StartOptions): Promise<VideoBatch>;
  /**
   * The batch of a name, as `handle` is for a job.
   *
   * @example
   * ```ts
   * const { succeeded, failed } = await videos.batch('foxes').result();
   * ```
   */
  batch(workflowId: string): VideoBatch;
  close(): Promise<void>;
}

export async function createVideoClient(options: VideoClientOptions = {}): Promise<VideoClient> {
  const { env } = options;
  const taskQueue = options.taskQueue ?? readTaskQueue(env);
  const client = options.client ?? (await connectClient(env));

  const requestFields = options.requestFields ?? readProfile(env)?.requestFields ?? [];
  const submitQueue = options.submitQueue ?? submitQueueOf(taskQueue);
  const downloadQueue = options.downloadQueue ?? readDownloadQueue(env);
  const searchable = options.searchAttributes ?? readSearchAttributes(env) ?? false;
  const queues = {
    ...(submitQueue !== taskQueue && { submit: submitQueue }),
    ...(downloadQueue !== undefined && downloadQueue !== taskQueue && { download: downloadQueue }),
  };

  const withQueues = <Input extends JobInput | BatchInput>(input: Input): Input => ({
    ...input,
    queues: { ...queues, ...input.queues },
  });

  /** What every start has: what people see, and a memo of what is wanted, for whoever comes with the name again. */
  const startOptionsOf = (
    input: JobInput | BatchInput,
    wanted: object,
    shown: { staticSummary: string; staticDetails: string },
    { workflowId, temporal }: StartOptions & { workflowId: string },
  ) =>
    ({
      ...shown,
      ...temporal,
      memo: { ...temporal?.memo, [IDENTITY_MEMO]: wanted },
      workflowIdConflictPolicy: 'FAIL',
      taskQueue,
      workflowId,
      args: [input],
    }) satisfies WorkflowStartOptions;

  const prepare = (given: JobInput, options: StartOptions = {}) => {
    const parsed = parseJobInput(given, requestFields);
    if (!parsed.ok) throw new VideoFailure('InvalidRequest', { message: parsed.problem });
    const wanted = identityOf(parsed.input);
    const { workflowId = `video-${randomUUID()}`, temporal } = options;
    checkWorkflowId(workflowId);
    const input = withQueues(parsed.input);
    const shown = { staticSummary: describeJob(input), staticDetails: staticJobDetails(input) };
    const startOptions = {
      ...startOptionsOf(input, wanted, shown, { temporal, workflowId }),
      ...(searchable && { typedSearchAttributes: attributesOf(input, temporal) }),
    };
    return { wanted, startOptions };
  };

  const explained = (error: unknown) => (searchable ? explainStart(error, client) : error);

  const startOrExplain = (type: string, startOptions: WorkflowStartOptions) =>
    client.workflow.start(type, startOptions).catch(async (error: unknown) => {
      throw error instanceof WorkflowExecutionAlreadyStartedError ? error : await explained(error);
    });

  const start: VideoClient['start'] = async (given, givenOptions) => {
    const { wanted, startOptions } = prepare(given, givenOptions);
    const handle = client.workflow.getHandle(startOptions.workflowId);
    const outcome = await startOrJoin(handle, {
      wanted,
      workflowType: WORKFLOW_TYPE,
      wantedIn: identityOf,
      start: (workflowIdReusePolicy) =>
        startOrExplain(WORKFLOW_TYPE, { workflowIdReusePolicy, ...startOptions }),
      afresh: (found) => jobAfresh(handle, found),
    });
    return jobOf(handle, { wanted, endedAt: 'found' in outcome ? outcome.found.closeTime : undefined });
  };

  const startBatch: VideoClient['startBatch'] = async (given, options = {}) => {
    const parsed = parseBatchInput(given, requestFields);
    if (!parsed.ok) throw new VideoFailure('InvalidRequest', { message: parsed.problem });
    const wanted = batchWanted(parsed.input);
    const { workflowId = `batch-${randomUUID()}` } = options;
    checkWorkflowId(workflowId);
    const input = withQueues(parsed.input);
    const shown = { staticSummary: describeBatch(input), staticDetails: staticBatchDetails(input) };
    const startOptions = startOptionsOf(input, wanted, shown, { ...options, workflowId });
    const handle = client.workflow.getHandle(workflowId);
    await startOrJoin(handle, {
      wanted,
      workflowType: BATCH_WORKFLOW_TYPE,
      wantedIn: (input) => {
        const known = parseBatchInput(withoutNulls(input), requestFields);
        return known.ok ? batchWanted(known.input) : {};
      },
      start: (workflowIdReusePolicy) =>
        startOrExplain(BATCH_WORKFLOW_TYPE, { workflowIdReusePolicy, ...startOptions }),
      afresh: async ({ status }) =>
        (await leftSomething(handle, status.name)) ? 'ALLOW_DUPLICATE' : undefined,
    });
    return batchOf(handle);
  };

  const submit: VideoClient['submit'] = async (given, givenOptions) => {
    const job = await start(given, givenOptions);
    return { job, taskId: await job.taskId() };
  };

  return {
    start,
    submit,
    execute: async (input, startOptions) => (await start(input, startOptions)).result(),
    handle: (workflowId) => jobOf(client.workflow.getHandle(workflowId)),
    startBatch,
    batch: (workflowId) => batchOf(client.workflow.getHandle(workflowId)),
    close: async () => {
      if (!options.client) await client.connection.close();
    },
  };
}

function checkWorkflowId(workflowId: unknown): void {
  if (isWorkflowId(workflowId)) return;
  throw new VideoFailure('InvalidRequest', { message: `workflowId ${WORKFLOW_ID_RULE}` });
}

const ENDED_EARLY: readonly WorkflowExecutionStatusName[] = [
  'FAILED',
  'CANCELLED',
  'TERMINATED',
  'TIMED_OUT',
];

/** Whether a batch has ended with items that may go better now: what it paid for is on record in the storage, however it ended. */
async function leftSomething(handle: WorkflowHandle, status: WorkflowExecutionStatusName): Promise<boolean> {
  if (status !== 'COMPLETED') return ENDED_EARLY.includes(status);
  const { failed }: BatchResult = await handle.result();
  return failed > 0;
}

/** Ours, beside those that the caller has for the job; the caller's own value of one of ours stays. */
function attributesOf(input: JobInput, temporal: StartOptions['temporal']): TypedSearchAttributes {
  const { typedSearchAttributes: theirs = [] } = temporal ?? {};
  const ours = new TypedSearchAttributes(firstSearchAttributes(input));
  return ours.updateCopy(Array.isArray(theirs) ? theirs : theirs.getAll());
}

function batchWanted({ requests, requestsFrom }: BatchInput): object {
  return requests ? { requests: digestOf(requests) } : { requestsFrom };
}

/** Some languages send null for what was not set. */
function withoutNulls(input: object): object {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
}

/** A memo is no place for thousands of requests. */
function digestOf(requests: object[]): string {
  return createHash('sha256').update(JSON.stringify(requests)).digest('hex').slice(0, 16);
}
