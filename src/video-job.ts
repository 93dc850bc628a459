import { type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import { readFailure, VideoFailure } from './contract/failures';
import type { JobProgress, JobResult } from './contract/job';
import type { SubmitDecision } from './contract/lost-submit';
import { TASK_ID_MEMO, WAIT_FOR_TASK_UPDATE } from './contract/names';
import { endedByTemporal, type FollowOptions, followedWorkflow, resultOf } from './workflow-handle';

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
  /** `for await (const progress of job.follow())`: where the job is, each time that has changed, until it has ended. */
  follow(options?: FollowOptions): AsyncIterable<JobProgress>;
  /** Has the job look at its task now instead of at the next planned time. */
  lookNow(): Promise<void>;
  /** Settles a submit whose answer was lost, while the job's phase is `needs-decision`. */
  decideSubmit(decision: SubmitDecision): Promise<void>;
  /** Ends the job. The service may go on with the task. */
  cancel(): Promise<void>;
  /** The stored video, or a VideoFailure that names what happened, the task and what to do. */
  result(): Promise<JobResult>;
}

export function jobOf(handle: WorkflowHandle): VideoJob {
  return {
    ...followedWorkflow<JobProgress, SubmitDecision>(handle),
    taskId: () => explained(handle, taskIdOf(handle)),
    result: () => explained(handle, resultOf<JobResult>(handle)),
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

/** Temporal tells of a cancellation, a termination or its own time limit without the task id; the memo has it. */
async function explain(handle: WorkflowHandle, error: unknown): Promise<unknown> {
  const failure = endedByTemporal(error) ?? readFailure(error);
  if (failure === undefined || failure.taskId !== undefined) return failure ?? error;
  const taskId = await taskIdInMemo(handle).catch(() => undefined);
  if (taskId === undefined) return failure;
  return new VideoFailure(failure.type, { ...failure.details, taskId }, { cause: error });
}
