import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  isCancellation,
  log,
  proxyActivities,
} from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import { fromTemporalType } from '../src/contract/failure-table';
import { createFailure, readFailure, readTimeout, VideoFailure } from '../src/contract/failures';
import { CANCEL_POLICY } from '../src/contract/policies';
import { describeTask } from '../src/contract/summaries';
import type { Job } from './job';

/**
 * What a job that did not end well throws: its row of the failure table with the task id, or, when it was cancelled,
 * Temporal's own cancellation, so that everybody sees it as cancelled.
 */
export async function explainFailure(job: Job, error: unknown): Promise<unknown> {
  if (error instanceof ContinueAsNew) return error;
  const failure = rowOf(error, job);
  // A mistake of ours in the workflow itself: Temporal keeps the job until a worker with the fix replays it.
  if (failure === undefined) return error;

  const atService = failure.type === 'Cancelled' ? await cancelAtService(job) : undefined;
  job.markFailed(failure, atService);
  log.warn(failure.message, { type: failure.type, taskId: job.taskId, atService });
  if (failure.type === 'Cancelled') return new CancelledFailure(failure.message);
  return createFailure(
    failure.type,
    failure.details,
    error instanceof ActivityFailure ? { cause: error } : {},
  );
}

function rowOf(error: unknown, { taskId }: Job): VideoFailure | undefined {
  if (isCancellation(error) || wasNotRetriedForACancellation(error))
    return new VideoFailure('Cancelled', { taskId });
  const met = readFailure(error) ?? rowOfActivity(error);
  return met && new VideoFailure(met.type, { ...met.details, taskId });
}

function rowOfActivity(error: unknown): VideoFailure | undefined {
  if (!(error instanceof ActivityFailure)) return undefined;
  switch (readTimeout(error)) {
    case 'never-started':
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

const TOLD = {
  asked: 'The service was told to cancel the task.',
  refused: 'The service refused to cancel the task and may go on with it.',
  unreachable: 'The service could not be told to cancel the task and may go on with it.',
  'not-offered': 'The service has no call to cancel a task and may go on with it.',
};

/** Has a task cancelled that nobody waits for any longer, if it can be; answers with a sentence for people. */
export async function cancelAtService(job: Job): Promise<string | undefined> {
  const { taskId } = job;
  if (taskId === undefined || !job.isWaiting) return undefined;
  const { cancelVideo } = proxyActivities<VideoActivities>({
    ...CANCEL_POLICY,
    ...job.activityId('cancel'),
    summary: job.titled(describeTask(taskId)),
  });
  return CancellationScope.nonCancellable(async () => {
    const answer = await cancelVideo({ taskId }).catch(() => 'unreachable' as const);
    return TOLD[answer];
  });
}
