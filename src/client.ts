import { createHash, randomUUID } from 'node:crypto';
import {
  type Client,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionStatusName,
  type WorkflowHandle,
  type WorkflowStartOptions,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { TypedSearchAttributes, type Workflow } from '@temporalio/common';
import { type Environment, readProfile } from './config';
import { connectClient } from './connect';
import type { BatchInput, BatchResult } from './contract/batch';
import { parseBatchInput } from './contract/batch-input';
import { readFailure, VideoFailure } from './contract/failures';
import type { JobInput, JobResult } from './contract/job';
import { parseJobInput } from './contract/job-input';
import {
  BATCH_WORKFLOW_TYPE,
  INPUT_MEMO,
  submitQueueOf,
  WAIT_FOR_TASK_UPDATE,
  WORKFLOW_TYPE,
} from './contract/names';
import { firstSearchAttributes } from './contract/search-attributes';
import { batchAtStart, jobAtStart } from './contract/static-details';
import { describeBatch, describeJob } from './contract/summaries';
import { describeOther, shortWanted, type WantedVideo } from './contract/wanted-video';
import { explainStart } from './search-attributes';
import { readDownloadQueue } from './storage-config';
import { readSearchAttributes, readTaskQueue } from './temporal-config';
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
  handle(workflowId: string): VideoJob;
  /** Starts a batch, or joins the one that has the name already; one that stopped or was cancelled goes on. */
  startBatch(input: BatchInput, options?: StartOptions): Promise<VideoBatch>;
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
      // A job that ended may have a paid task, however it ended: another job for it needs another name.
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      ...temporal,
      memo: { ...temporal?.memo, [INPUT_MEMO]: wanted },
      workflowIdConflictPolicy: 'FAIL',
      taskQueue,
      workflowId,
      args: [input],
    }) satisfies WorkflowStartOptions;

  const prepare = (given: JobInput, options: StartOptions = {}) => {
    const parsed = parseJobInput(given, requestFields);
    if (!parsed.ok) throw new VideoFailure('InvalidRequest', { message: parsed.problem });
    const { request, taskId } = parsed.input;
    const wanted = shortWanted({ request, taskId });
    const { workflowId = `video-${randomUUID()}`, temporal } = options;
    const input = withQueues(parsed.input);
    const shown = { staticSummary: describeJob(input), staticDetails: jobAtStart(input) };
    const startOptions = {
      ...startOptionsOf(input, wanted, shown, { temporal, workflowId }),
      ...(searchable && { typedSearchAttributes: attributesOf(input, temporal) }),
    };
    return { wanted, startOptions, workflowId };
  };

  const explained = (error: unknown) => (searchable ? explainStart(error, client) : error);

  /** What was started, or what has the name already if it is for the same, with the status that it was found in. */
  const startOrAttach = async (type: string, startOptions: WorkflowStartOptions, wanted: object) => {
    const handle: WorkflowHandle = client.workflow.getHandle(startOptions.workflowId);
    try {
      await client.workflow.start(type, startOptions);
      return { handle };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw await explained(error);
      return { handle, found: await refuseIfOther(handle, wanted) };
    }
  };

  const start: VideoClient['start'] = async (given, givenOptions) => {
    const { wanted, startOptions } = prepare(given, givenOptions);
    const { handle } = await startOrAttach(WORKFLOW_TYPE, startOptions, wanted);
    return jobOf(handle);
  };

  const startBatch: VideoClient['startBatch'] = async (given, options = {}) => {
    const parsed = parseBatchInput(given, requestFields);
    if (!parsed.ok) throw new VideoFailure('InvalidRequest', { message: parsed.problem });
    const { requests, requestsFrom } = parsed.input;
    const wanted = requests ? { requests: digestOf(requests) } : { requestsFrom };
    const { workflowId = `batch-${randomUUID()}` } = options;
    const input = withQueues(parsed.input);
    const shown = { staticSummary: describeBatch(input), staticDetails: batchAtStart(input) };
    const startOptions = startOptionsOf(input, wanted, shown, { ...options, workflowId });
    const { handle, found } = await startOrAttach(BATCH_WORKFLOW_TYPE, startOptions, wanted);
    if (found !== undefined && (await leftSomething(handle, found))) {
      const again = { ...startOptions, workflowIdReusePolicy: 'ALLOW_DUPLICATE' } as const;
      await startOrAttach(BATCH_WORKFLOW_TYPE, again, wanted);
    }
    return batchOf(handle);
  };

  const submit: VideoClient['submit'] = async (given, givenOptions) => {
    const { wanted, startOptions, workflowId } = prepare(given, givenOptions);
    const job = jobOf(client.workflow.getHandle(workflowId));
    const startWorkflowOperation = new WithStartWorkflowOperation(WORKFLOW_TYPE, {
      ...startOptions,
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    try {
      const taskId = await client.workflow.executeUpdateWithStart<Workflow, string, [WantedVideo]>(
        WAIT_FOR_TASK_UPDATE,
        {
          args: [wanted],
          startWorkflowOperation,
        },
      );
      return { job, taskId };
    } catch (error) {
      if (error instanceof WorkflowUpdateFailedError) throw readFailure(error) ?? error;
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw await explained(error);
      await refuseIfOther(client.workflow.getHandle(workflowId), wanted);
      return { job, taskId: await job.taskId() };
    }
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

/** What has a name already may be for something else; otherwise its status is answered. */
async function refuseIfOther(handle: WorkflowHandle, wanted: object): Promise<WorkflowExecutionStatusName> {
  const { memo, status } = await handle.describe();
  const message = describeOther(handle.workflowId, memo?.[INPUT_MEMO], wanted);
  if (message !== undefined) throw new VideoFailure('InvalidRequest', { message });
  return status.name;
}

/** Ours, beside those that the caller has for the job; the caller's own value of one of ours stays. */
function attributesOf(input: JobInput, temporal: StartOptions['temporal']): TypedSearchAttributes {
  const { typedSearchAttributes: theirs = [] } = temporal ?? {};
  const ours = new TypedSearchAttributes(firstSearchAttributes(input));
  return ours.updateCopy(Array.isArray(theirs) ? theirs : theirs.getAll());
}

/** A memo is no place for thousands of requests. */
function digestOf(requests: object[]): string {
  return createHash('sha256').update(JSON.stringify(requests)).digest('hex').slice(0, 16);
}
