import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  ContinueAsNew,
  isCancellation,
  log,
} from '@temporalio/workflow';
import { fromTemporalType } from '../src/contract/failure-table';
import { createFailure, readFailure, readTimeout, VideoFailure } from '../src/contract/failures';
import { cancelAtService } from './cancel-at-service';
import type { JobState } from './job-state';

/**
 * What a job that did not end well throws: its row of the failure table with the task id, or, when it was cancelled,
 * Temporal's own cancellation, so that everybody sees it as cancelled.
 */
export async function explainEnd(job: JobState, error: unknown): Promise<unknown> {
  if (error instanceof ContinueAsNew) return error;
  const failure = rowOf(error, job);
  // A mistake of ours in the workflow itself: Temporal keeps the job until a worker with the mend replays it.
  if (failure === undefined) return error;

  const atService = failure.type === 'Cancelled' ? await cancelAtService(job) : undefined;
  job.failed(failure, atService);
  log.warn(failure.message, { type: failure.type, taskId: job.taskId, atService });
  if (failure.type === 'Cancelled') return new CancelledFailure(failure.message);
  return createFailure(
    failure.type,
    failure.details,
    error instanceof ActivityFailure ? { cause: error } : {},
  );
}

function rowOf(error: unknown, { taskId }: JobState): VideoFailure | undefined {
  if (isCancellation(error) || wasNotRetriedForACancellation(error))
    return new VideoFailure('Cancelled', { taskId });
  const met = readFailure(error) ?? rowOfActivity(error);
  return met && new VideoFailure(met.type, { ...met.details, taskId });
}

function rowOfActivity(error: unknown): VideoFailure | undefined {
  if (!(error instanceof ActivityFailure)) return undefined;
  switch (readTimeout(error)) {
    case 'never-begun':
      return new VideoFailure('DeadlineExceeded', {
        message: `no worker took up ${error.activityType}; is one running on its task queue?`,
      });
    case 'while-running':
      return new VideoFailure('DeadlineExceeded');
    case undefined:
      return new VideoFailure('Unexpected', { message: String(error.cause) });
  }
}

/**
 * An attempt that fails once the cancellation has come gets no other, whatever the policy says. One that would not have
 * got another anyway tells more than the cancellation does: a submit that was lost, say.
 */
function wasNotRetriedForACancellation(error: unknown): boolean {
  if (!(error instanceof ActivityFailure) || error.retryState !== 'CANCEL_REQUESTED') return false;
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure)) return true;
  return !cause.nonRetryable && fromTemporalType(cause.type) !== 'SubmitUnconfirmed';
}
