import { randomUUID } from 'node:crypto';
import {
  type Client,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
  type WorkflowStartOptions,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure, TerminatedFailure, type Workflow } from '@temporalio/common';
import { type Environment, readProfile, readTaskQueue } from './config';
import { connectClient } from './connect';
import { DECISION_REFUSED, DecisionRefused } from './contract/decision-refused';
import { readFailure, VideoFailure } from './contract/failures';
import type { JobInput, JobProgress, JobResult } from './contract/job';
import { parseJobInput } from './contract/job-input';
import type { SubmitDecision } from './contract/lost-submit';
import {
  DECIDE_SUBMIT_UPDATE,
  INPUT_MEMO,
  LOOK_NOW_SIGNAL,
  PROGRESS_QUERY,
  submitQueueOf,
  TASK_ID_MEMO,
  WAIT_FOR_TASK_UPDATE,
  WORKFLOW_TYPE,
} from './contract/names';
import { describeRequest, describeTask } from './contract/summaries';
import { describeDifference, type WantedVideo } from './contract/wanted-video';
import { readDownloadQueue } from './storage-config';

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
}

export interface StartOptions {
  /** The name of the job. The same request under it joins the job, whether it runs or has ended; another is refused. */
  workflowId?: string;
  /** Anything else that Temporal offers at a start, such as `priority` or `memo`. */
  temporal?: Partial<WorkflowStartOptions>;
}

/** One job, wherever it runs. */
export interface VideoJob {
  workflowId: string;
  /** Whether Temporal knows a job of that name. */
  exists(): Promise<boolean>;
  /** Where a worker has to work for it to go on. */
  taskQueue(): Promise<string>;
  /** The task id, as soon as there is one. */
  taskId(): Promise<string>;
  progress(): Promise<JobProgress>;
  /** Has the job look at its task now instead of at the next planned time. */
  lookNow(): Promise<void>;
  /** Settles a submit whose answer was lost, while the job's phase is `needs-decision`. */
  decideSubmit(decision: SubmitDecision): Promise<void>;
  /** Ends the job. The service may go on with the task. */
  cancel(): Promise<void>;
  /** The stored video, or a VideoFailure that names what happened, the task and what to do. */
  result(): Promise<JobResult>;
}

export interface VideoClient {
  /** Starts a job, or joins the one that has the name already. Needs no worker to be running. */
  start(input: JobInput, options?: StartOptions): Promise<VideoJob>;
  /** The same in one call with waiting for the task id: when it resolves, the service has accepted the request. */
  submit(input: JobInput, options?: StartOptions): Promise<{ job: VideoJob; taskId: string }>;
  execute(input: JobInput, options?: StartOptions): Promise<JobResult>;
  handle(workflowId: string): VideoJob;
  close(): Promise<void>;
}

export async function createVideoClient(options: VideoClientOptions = {}): Promise<VideoClient> {
  const { env } = options;
  const taskQueue = options.taskQueue ?? readTaskQueue(env);
  const client = options.client ?? (await connectClient(env));

  const requestFields = options.requestFields ?? readProfile(env)?.requestFields ?? [];
  const submitQueue = options.submitQueue ?? submitQueueOf(taskQueue);
  const downloadQueue = options.downloadQueue ?? readDownloadQueue(env);
  const queues = {
    ...(submitQueue !== taskQueue && { submit: submitQueue }),
    ...(downloadQueue !== undefined && downloadQueue !== taskQueue && { download: downloadQueue }),
  };

  const prepare = (
    given: JobInput,
    { workflowId = `video-${randomUUID()}`, temporal }: StartOptions = {},
  ) => {
    const parsed = parseJobInput(given, requestFields);
    if (!parsed.ok) throw new VideoFailure('InvalidRequest', { message: parsed.problem });
    const input: JobInput = { ...parsed.input, queues: { ...queues, ...parsed.input.queues } };
    const wanted: WantedVideo = { request: input.request, taskId: input.taskId };
    const startOptions = {
      staticSummary: title(input),
      // A job that ended may have a paid task, however it ended: another job for it needs another name.
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      ...temporal,
      memo: { ...temporal?.memo, [INPUT_MEMO]: wanted },
      workflowIdConflictPolicy: 'FAIL',
      taskQueue,
      workflowId,
      args: [input],
    } satisfies WorkflowStartOptions;
    return { wanted, startOptions, workflowId };
  };

  const start: VideoClient['start'] = async (given, givenOptions) => {
    const { wanted, startOptions, workflowId } = prepare(given, givenOptions);
    try {
      await client.workflow.start(WORKFLOW_TYPE, startOptions);
      return jobOf(client.workflow.getHandle(workflowId));
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      return attach(client, workflowId, wanted);
    }
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
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      await attach(client, workflowId, wanted);
      return { job, taskId: await job.taskId() };
    }
  };

  return {
    start,
    submit,
    execute: async (input, startOptions) => (await start(input, startOptions)).result(),
    handle: (workflowId) => jobOf(client.workflow.getHandle(workflowId)),
    close: async () => {
      if (!options.client) await client.connection.close();
    },
  };
}

/** The job that has the name already, if it is for the same video. */
async function attach(client: Client, workflowId: string, wanted: WantedVideo): Promise<VideoJob> {
  const handle = client.workflow.getHandle(workflowId);
  const { memo } = await handle.describe();
  const difference = describeDifference(memo?.[INPUT_MEMO], wanted);
  if (difference === undefined) return jobOf(handle);
  const message = `${workflowId} is the name of another job (${difference}); choose another name`;
  throw new VideoFailure('InvalidRequest', { message });
}

function title({ request, taskId }: JobInput): string {
  return request ? describeRequest(request) : `adopt ${describeTask(taskId)}`;
}

function jobOf(handle: WorkflowHandle): VideoJob {
  return {
    workflowId: handle.workflowId,
    exists: () => exists(handle),
    taskQueue: async () => (await handle.describe()).taskQueue,
    taskId: () => explained(handle, taskIdOf(handle)),
    progress: () => handle.query<JobProgress>(PROGRESS_QUERY),
    lookNow: () => handle.signal(LOOK_NOW_SIGNAL),
    decideSubmit: (decision) => decideSubmit(handle, decision),
    cancel: async () => {
      await handle.cancel();
    },
    result: () => explained(handle, resultOf(handle)),
  };
}

async function exists(handle: WorkflowHandle): Promise<boolean> {
  try {
    await handle.describe();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

async function decideSubmit(handle: WorkflowHandle, decision: SubmitDecision): Promise<void> {
  try {
    await handle.executeUpdate<void, [SubmitDecision]>(DECIDE_SUBMIT_UPDATE, { args: [decision] });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) {
      throw new DecisionRefused(
        (await exists(handle))
          ? `No decision is wanted: ${handle.workflowId} has ended.`
          : `There is no job ${handle.workflowId}.`,
      );
    }
    const { cause } = error instanceof WorkflowUpdateFailedError ? error : {};
    if (!(cause instanceof ApplicationFailure && cause.type === DECISION_REFUSED)) throw error;
    throw new DecisionRefused(cause.message, { cause: error });
  }
}

async function taskIdOf(handle: WorkflowHandle): Promise<string> {
  try {
    return await handle.executeUpdate<string, []>(WAIT_FOR_TASK_UPDATE);
  } catch (error) {
    // A job that has ended answers no more; its memo and its result do.
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    return (await taskIdInMemo(handle)) ?? (await handle.result()).taskId;
  }
}

/** A reset ends a run and begins another: the job goes on under its name. */
async function resultOf(handle: WorkflowHandle): Promise<JobResult> {
  for (;;) {
    try {
      return await handle.result();
    } catch (error) {
      if (terminated(error) === undefined) throw error;
      if ((await handle.describe()).status.name === 'TERMINATED') throw error;
    }
  }
}

async function taskIdInMemo(handle: WorkflowHandle): Promise<string | undefined> {
  const taskId = (await handle.describe()).memo?.[TASK_ID_MEMO];
  return typeof taskId === 'string' ? taskId : undefined;
}

async function explained<T>(handle: WorkflowHandle, outcome: Promise<T>): Promise<T> {
  try {
    return await outcome;
  } catch (error) {
    throw await explain(handle, error);
  }
}

/** Temporal tells of a cancellation or termination without the task id; the memo has it. */
async function explain(handle: WorkflowHandle, error: unknown): Promise<unknown> {
  const failure = terminated(error) ?? readFailure(error);
  if (failure === undefined || failure.taskId !== undefined) return failure ?? error;
  const taskId = await taskIdInMemo(handle).catch(() => undefined);
  if (taskId === undefined) return failure;
  return new VideoFailure(failure.type, { ...failure.details, taskId }, { cause: error });
}

function terminated(error: unknown): VideoFailure | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof TerminatedFailure)) return undefined;
  return new VideoFailure('Cancelled', { message: `terminated: ${cause.message}` }, { cause: error });
}
