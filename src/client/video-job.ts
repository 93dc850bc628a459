import { setTimeout as sleep } from 'node:timers/promises';
import {
  WorkflowFailedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure, TerminatedFailure } from '@temporalio/common';
import type { BatchProgress, BatchResult } from '../contract/batch';
import { shown } from '../contract/clean-text';
import type { JobProgress, JobResult } from '../contract/job';
import {
  commandOn,
  DECISION_REFUSED,
  DecisionRefused,
  type SubmitDecision,
  unpauseCommand,
} from '../contract/lost-submit';
import {
  childName,
  DECIDE_SUBMIT_UPDATE,
  FALLBACK_WORKFLOW_TYPE,
  POLL_NOW_SIGNAL,
  PROGRESS_QUERY,
  SERVICE_MEMO,
  TASK_ID_MEMO,
  WAIT_FOR_TASK_UPDATE,
} from '../contract/names';
import { endedByTemporal, readFailure, VideoFailure } from '../contract/video-failure';
import { orTellUnserved } from './missing-worker';

/**
 * One job, from `start` or `handle`. Its methods ask Temporal, so they work in any process.
 *
 * @example
 * ```ts
 * const job = videos.handle('fox-1');
 * for await (const { phase, taskId } of job.follow()) console.log(phase, taskId);
 * const { video } = await job.result();
 * ```
 */
export interface VideoJob {
  workflowId: string;
  /**
   * Waits for the task id. Rejects with SubmitUnconfirmed, which says how to decide, while the job waits for a decision.
   */
  taskId(): Promise<string>;
  /** Where the job is now. Needs a running worker. */
  progress(): Promise<JobProgress>;
  /** Yields the progress at each change until the job ends. */
  follow(options?: FollowOptions): AsyncIterable<JobProgress>;
  /** Has the job poll its task now instead of at the next planned time. */
  pollNow(): Promise<void>;
  /** Settles a lost submit while the job's phase is `needs-decision`. Rejects with a DecisionRefused otherwise. */
  decideSubmit(decision: SubmitDecision): Promise<void>;
  /** Ends the job. The service may continue with the task. */
  cancel(): Promise<void>;
  /** Waits for the stored video. Rejects with a VideoFailure that has the type, the task id and the advice. */
  result(): Promise<JobResult>;
}

/**
 * One batch of videos, from `startBatch` or `batch`. Its methods ask Temporal, so they work in any process.
 *
 * @example
 * ```ts
 * for await (const { succeeded, failed } of videos.batch('foxes').follow()) console.log(succeeded, failed);
 * ```
 */
export interface VideoBatch {
  workflowId: string;
  /** Where the batch is now. Needs a running worker. Its items are jobs with progress of their own. */
  progress(): Promise<BatchProgress>;
  /** Yields the progress at each change until the batch ends. */
  follow(options?: FollowOptions): AsyncIterable<BatchProgress>;
  /** Has the running items poll their tasks now instead of at the next planned time. */
  pollNow(): Promise<void>;
  /** Starts no more items and ends the running ones. The results list what was paid for, with its task id. */
  cancel(): Promise<void>;
  /** Waits for the counts and the location of the results. Rejects with a VideoFailure if a failed item stopped the batch. */
  result(): Promise<BatchResult>;
}

/** `endedAt`: when it ended, if it had ended before it was joined. The log hears of a long wait for a queue without workers. */
export function jobOf(
  handle: WorkflowHandle,
  { endedAt, log = () => undefined }: { endedAt?: Date; log?: (line: string) => void } = {},
): VideoJob {
  const orExplain = <T>(outcome: Promise<T>): Promise<T> =>
    orTellUnserved(handle, outcome, log).catch(async (error: unknown) => {
      const failure = await explain(handle, error);
      throw endedAt && failure instanceof VideoFailure ? endedBefore(failure, handle, endedAt) : failure;
    });
  return {
    ...followedWorkflow(handle, () => jobProgress(handle)),
    decideSubmit: (decision) => decideSubmit(handle, decision),
    taskId: () => orExplain(untilTask(handle)),
    result: () => orExplain(resultOf<JobResult>(handle)),
  };
}

export function batchOf(handle: WorkflowHandle, log: (line: string) => void = () => undefined): VideoBatch {
  return {
    ...followedWorkflow(handle, () => handle.query<BatchProgress>(PROGRESS_QUERY)),
    result: () =>
      orTellUnserved(handle, resultOf<BatchResult>(handle), log).catch((error: unknown) => {
        throw failureIn(error) ?? error;
      }),
  };
}

/** The progress of a job; with several services, that of the job at the one whose turn it is. */
export async function jobProgress(handle: WorkflowHandle): Promise<JobProgress> {
  const own = await handle.query<JobProgress>(PROGRESS_QUERY);
  if (own.child === undefined) return own;
  const { startedAt, deadlineAt, refusedBy, child, service } = own;
  const ofChild = await handle.client
    .getHandle(child)
    .query<JobProgress>(PROGRESS_QUERY)
    .catch((error: unknown) => {
      // Not started yet.
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
  return { ...own, ...ofChild, startedAt, deadlineAt, refusedBy, child, service };
}

/** Temporal reports a cancellation, a termination and its own timeout without the task id; the memo has it. */
async function explain(handle: WorkflowHandle, error: unknown): Promise<unknown> {
  const failure = failureIn(error);
  if (failure === undefined || failure.taskId !== undefined) return failure ?? error;
  const task = await taskInMemo(handle).catch(() => undefined);
  if (task?.taskId === undefined) return failure;
  return new VideoFailure(failure.type, { ...failure.details, ...task }, { cause: error });
}

/** The failure of a job that ended before it was joined. The message says that nothing was tried again, and how to. */
function endedBefore(failure: VideoFailure, { workflowId }: WorkflowHandle, endedAt: Date): VideoFailure {
  const ended = `the job ${workflowId} ended like this at ${endedAt.toISOString()}, and was not retried`;
  const note = `${ended}: continue with ${commandOn('retry', workflowId)}`;
  const message = failure.details.message?.replace(/[.\s]+$/, '');
  return new VideoFailure(
    failure.type,
    { ...failure.details, message: [message, note].filter(Boolean).join('; ') },
    { cause: failure },
  );
}

/**
 * Settles a lost submit. Rejects with a DecisionRefused, which says why, if the job cannot take the decision. The same update id is
 * the same decision: repeated, it settles nothing else.
 */
export async function decideSubmit(
  job: WorkflowHandle,
  decision: SubmitDecision,
  updateId?: string,
): Promise<void> {
  let hasEnded = false;
  try {
    // Reads the memo, and rejects if it is encrypted with a key that is not here: the worker could not read the decision.
    const { memo, type, closeTime } = await job.describe();
    hasEnded = closeTime !== undefined;
    const service = memo?.[SERVICE_MEMO];
    // Not by its children: one that was started again has joined the job of the run before.
    const handle =
      type === FALLBACK_WORKFLOW_TYPE && typeof service === 'string'
        ? job.client.getHandle(childName(job.workflowId, service))
        : job;
    if ((await handle.describe()).status.name === 'PAUSED')
      throw new DecisionRefused(
        `${shown(handle.workflowId)} is paused in Temporal and takes no decision: run ${unpauseCommand(handle.workflowId)} first.`,
      );
    await handle.executeUpdate<void, [SubmitDecision]>(DECIDE_SUBMIT_UPDATE, { args: [decision], updateId });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError)
      throw new DecisionRefused(
        hasEnded
          ? `No decision is needed: ${shown(job.workflowId)} has ended.`
          : `There is no job ${shown(job.workflowId)} that runs.`,
      );
    const { cause } = error instanceof WorkflowUpdateFailedError ? error : {};
    if (!(cause instanceof ApplicationFailure && cause.type === DECISION_REFUSED)) throw error;
    throw new DecisionRefused(cause.message, { cause: error });
  }
}

/** For holds that are over, and for runs that end while the update waits. */
const MAX_UPDATES = 50;

const UPDATE_ID = 'task';

/** Waits for the task id. All callers share one update by its id: Temporal takes ten updates at once and 2,000 in one run. */
async function untilTask(handle: WorkflowHandle): Promise<string> {
  let updateId = UPDATE_ID;
  for (let left = MAX_UPDATES; ; left--) {
    try {
      return await handle.executeUpdate<string, []>(WAIT_FOR_TASK_UPDATE, { updateId });
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return taskOfEnded(handle);
      if (left === 0) throw error;
      const heldSince = readFailure(error)?.details.heldSince;
      if (heldSince !== undefined) {
        // Temporal repeats its answer to an update id even when that hold is over. The same hold twice is a hold now.
        const next = `${UPDATE_ID}-after-${heldSince}`;
        if (next === updateId) throw error;
        updateId = next;
      } else if (!endedWithItsRun(error)) {
        throw error;
      } else if ((await handle.describe()).closeTime !== undefined) {
        return taskOfEnded(handle);
      }
    }
  }
}

/** An ended job takes no updates; its memo and its result have the task id. */
async function taskOfEnded(handle: WorkflowHandle): Promise<string> {
  return (await taskInMemo(handle)).taskId ?? (await handle.result()).taskId;
}

/** The task of a job and the service that has it, as far as the memo says. */
async function taskInMemo(handle: WorkflowHandle): Promise<{ taskId?: string; service?: string }> {
  const { memo = {} } = await handle.describe();
  const { [TASK_ID_MEMO]: taskId, [SERVICE_MEMO]: service } = memo;
  return {
    ...(typeof taskId === 'string' && { taskId }),
    ...(typeof service === 'string' && { service }),
  };
}

/** A reset or a termination ends a run together with its open updates. */
function endedWithItsRun(error: unknown): boolean {
  if (!(error instanceof WorkflowUpdateFailedError)) return false;
  const { cause } = error;
  return cause instanceof ApplicationFailure && cause.type === 'AcceptedUpdateCompletedWorkflow';
}

/** Options for following a job or a batch. */
interface FollowOptions {
  /** Milliseconds between two queries. Default: 1000. Temporal Cloud bills each query as an Action. */
  everyMs?: number;
  /** Stops following when it is aborted. The job or batch continues. */
  signal?: AbortSignal;
}

/** What a job and a batch have in common. */
function followedWorkflow<Progress>(handle: WorkflowHandle, progress: () => Promise<Progress>) {
  return {
    workflowId: handle.workflowId,
    progress,
    follow: (options?: FollowOptions) => follow(handle, progress, options),
    pollNow: () => handle.signal(POLL_NOW_SIGNAL),
    cancel: async () => {
      await handle.cancel();
    },
  };
}

/** Yields the progress now and at each change, until the workflow ends or the signal is aborted. */
async function* follow<Progress>(
  handle: WorkflowHandle,
  query: () => Promise<Progress>,
  { everyMs = 1_000, signal }: FollowOptions = {},
): AsyncGenerator<Progress, void, undefined> {
  let last: string | undefined;
  while (!signal?.aborted) {
    const { closeTime } = await handle.describe();
    // No worker may be running to answer, or the workflow is paused; then the next query may succeed.
    const progress = await query().catch(() => undefined);
    const text = JSON.stringify(progress);
    if (progress !== undefined && text !== last) yield progress;
    last = text ?? last;
    if (closeTime !== undefined) return;
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

/** A reset terminates a run and starts another, which has the result. */
async function resultOf<Result>(handle: WorkflowHandle): Promise<Result> {
  for (;;) {
    try {
      return await handle.result();
    } catch (error) {
      if (!(causeOf(error) instanceof TerminatedFailure)) throw error;
      if ((await handle.describe()).status.name === 'TERMINATED') throw error;
    }
  }
}

/** Why a job or a batch failed: an error of this package, if it is about the job or the batch. */
const failureIn = (error: unknown): VideoFailure | undefined =>
  endedByTemporal(causeOf(error)) ?? readFailure(error);

const causeOf = (error: unknown) => (error instanceof WorkflowFailedError ? error.cause : undefined);
