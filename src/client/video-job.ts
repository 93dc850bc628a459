import type { WorkflowHandle } from '@temporalio/client';
import { adoptCommand } from '../contract/decision-commands';
import { readFailure, VideoFailure } from '../contract/failures';
import type { JobProgress, JobResult } from '../contract/job';
import type { JobIdentity } from '../contract/job-identity';
import type { SubmitDecision } from '../contract/lost-submit';
import { taskIdInMemo, waitForTask } from './wait-for-task';
import { endedByTemporal, type FollowOptions, followedWorkflow, resultOf } from './workflow-handle';

/** One job, wherever it runs. */
export interface VideoJob {
  workflowId: string;
  /** Whether Temporal knows a job of that name. */
  exists(): Promise<boolean>;
  /** Where a worker has to work for it to go on. */
  taskQueue(): Promise<string>;
  /**
   * The task id, as soon as there is one. Fails with SubmitUnconfirmed while the job is held for a decision, which its
   * message asks for.
   */
  taskId(): Promise<string>;
  progress(): Promise<JobProgress>;
  /** `for await (const progress of job.follow())`: where the job is, each time that has changed, until it has ended. */
  follow(options?: FollowOptions): AsyncIterable<JobProgress>;
  /** Has the job look at its task now instead of at the next planned time. */
  pollNow(): Promise<void>;
  /** Settles a submit whose answer was lost, while the job's phase is `needs-decision`. */
  decideSubmit(decision: SubmitDecision): Promise<void>;
  /** Ends the job. The service may go on with the task. */
  cancel(): Promise<void>;
  /** The stored video, or a VideoFailure that names what happened, the task and what to do. */
  result(): Promise<JobResult>;
}

export interface KnownJob {
  /** What the caller takes the job to be for; without it, whatever has the name. */
  identity?: JobIdentity;
  /** When it had ended, if it had when it was joined. */
  endedAt?: Date;
}

export function jobOf(handle: WorkflowHandle, { identity, endedAt }: KnownJob = {}): VideoJob {
  const explained = <T>(outcome: Promise<T>): Promise<T> =>
    outcome.catch(async (error: unknown) => {
      const failure = await explain(handle, error);
      throw endedAt && failure instanceof VideoFailure ? endedBefore(failure, handle, endedAt) : failure;
    });
  return {
    ...followedWorkflow<JobProgress, SubmitDecision>(handle),
    taskId: () => explained(waitForTask(handle, identity)),
    result: () => explained(resultOf<JobResult>(handle)),
  };
}

/** Temporal tells of a cancellation, a termination or its own time limit without the task id; the memo has it. */
async function explain(handle: WorkflowHandle, error: unknown): Promise<unknown> {
  const failure = endedByTemporal(error) ?? readFailure(error);
  if (failure === undefined || failure.taskId !== undefined) return failure ?? error;
  const taskId = await taskIdInMemo(handle).catch(() => undefined);
  if (taskId === undefined) return failure;
  return new VideoFailure(failure.type, { ...failure.details, taskId }, { cause: error });
}

/** A failure that is not new: nothing was tried again under the name, and the message says how to. */
function endedBefore(failure: VideoFailure, { workflowId }: WorkflowHandle, endedAt: Date): VideoFailure {
  const command = adoptCommand(failure);
  const note = [
    `the job ${workflowId} ended so at ${endedAt.toISOString()}, and nothing was tried again under its name`,
    command ? `adopt its task under another name (${command}), or` : 'to try again,',
    'choose another name',
  ];
  const { message } = failure.details;
  const told = `${note[0]}: ${note[1]} ${note[2]}`;
  return new VideoFailure(
    failure.type,
    { ...failure.details, message: [message?.replace(/[.\s]+$/, ''), told].filter(Boolean).join('; ') },
    { cause: failure },
  );
}
