import {
  ActivityFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  isCancellation,
  log,
} from '@temporalio/workflow';
import { createFailure, isTimeout, readFailure, VideoFailure } from '../src/contract/failures';
import type { JobState } from './job-state';

/**
 * What a job that did not end well throws: its row of the failure table with the task id, or, when it was cancelled,
 * Temporal's own cancellation, so that everybody sees it as cancelled.
 */
export async function explainEnd(job: JobState, error: unknown): Promise<unknown> {
  if (error instanceof ContinueAsNew) return error;
  const failure = rowOf(error, job.taskId);
  // Not of the table, so it is a mistake of ours: Temporal keeps the job until a worker with the mend replays it.
  if (failure === undefined) return error;

  job.failed(failure);
  log.warn(failure.message, { type: failure.type, taskId: job.taskId });
  // Whoever waits for the task id is answered before the job closes.
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  if (failure.type === 'Cancelled') return new CancelledFailure(failure.message);
  return createFailure(failure.type, failure.details);
}

function rowOf(error: unknown, taskId: string | undefined): VideoFailure | undefined {
  if (isCancellation(error) || wasNotRetriedForACancellation(error))
    return new VideoFailure('Cancelled', { taskId });
  const met = readFailure(error) ?? (isTimeout(error) ? new VideoFailure('DeadlineExceeded') : undefined);
  return met && new VideoFailure(met.type, { ...met.details, taskId });
}

/** An attempt that fails once the cancellation has come gets no other, whatever the policy says. */
function wasNotRetriedForACancellation(error: unknown): boolean {
  return error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED';
}
