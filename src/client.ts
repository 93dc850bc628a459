import { randomUUID } from 'node:crypto';
import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { TerminatedFailure } from '@temporalio/common';
import { type Environment, readTaskQueue } from './config';
import { connectClient } from './connect';
import { readFailure, VideoFailure } from './contract/failures';
import type { JobInput, JobProgress, JobResult } from './contract/job';
import { parseJobInput } from './contract/job-input';
import {
  INPUT_MEMO,
  LOOK_NOW_SIGNAL,
  PROGRESS_QUERY,
  TASK_ID_MEMO,
  WAIT_FOR_TASK_UPDATE,
  WORKFLOW_TYPE,
} from './contract/names';
import { describeRequest, describeTask } from './contract/summaries';
import { describeDifference, type WantedVideo } from './contract/wanted-video';

export interface VideoClientOptions {
  /** Read for whatever is not given here; the process's own unless set. */
  env?: Environment;
  client?: Client;
  taskQueue?: string;
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
  /** The task id, as soon as there is one. */
  taskId(): Promise<string>;
  progress(): Promise<JobProgress>;
  /** Has the job look at its task now instead of at the next planned time. */
  lookNow(): Promise<void>;
  /** Ends the job. The service may go on with the task. */
  cancel(): Promise<void>;
  /** The stored video, or a VideoFailure that names what happened, the task and what to do. */
  result(): Promise<JobResult>;
}

export interface VideoClient {
  start(input: JobInput, options?: StartOptions): Promise<VideoJob>;
  execute(input: JobInput, options?: StartOptions): Promise<JobResult>;
  handle(workflowId: string): VideoJob;
  close(): Promise<void>;
}

export async function createVideoClient(options: VideoClientOptions = {}): Promise<VideoClient> {
  const { env } = options;
  const taskQueue = options.taskQueue ?? readTaskQueue(env);
  const client = options.client ?? (await connectClient(env));

  const start: VideoClient['start'] = async (
    input,
    { workflowId = `video-${randomUUID()}`, temporal } = {},
  ) => {
    const parsed = parseJobInput(input);
    if (!parsed.ok) throw new VideoFailure('InvalidRequest', { message: parsed.problem });
    const wanted = { request: parsed.input.request, taskId: parsed.input.taskId };
    try {
      const handle = await client.workflow.start(WORKFLOW_TYPE, {
        staticSummary: title(parsed.input),
        // A job that ended may have a paid task, however it ended: another job for it needs another name.
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        ...temporal,
        memo: { ...temporal?.memo, [INPUT_MEMO]: wanted },
        taskQueue,
        workflowId,
        args: [parsed.input],
      });
      return jobOf(handle);
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      return attach(client, workflowId, wanted);
    }
  };

  return {
    start,
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
    exists: () =>
      handle.describe().then(
        () => true,
        (error: unknown) => {
          if (error instanceof WorkflowNotFoundError) return false;
          throw error;
        },
      ),
    taskId: () => explained(handle, taskIdOf(handle)),
    progress: () => handle.query<JobProgress>(PROGRESS_QUERY),
    lookNow: () => handle.signal(LOOK_NOW_SIGNAL),
    cancel: async () => {
      await handle.cancel();
    },
    result: () => explained(handle, handle.result()),
  };
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
