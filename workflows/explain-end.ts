import {
  allHandlersFinished,
  CancellationScope,
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
  const met = readFailure(error) ?? (isTimeout(error) ? new VideoFailure('DeadlineExceeded') : undefined);
  // Not of the table, so it is a mistake of ours: Temporal keeps the job until a worker with the mend replays it.
  if (met === undefined) return error;

  const failure = new VideoFailure(met.type, { ...met.details, taskId: job.taskId });
  job.failed(failure);
  log.warn(failure.message, { type: failure.type, taskId: job.taskId });
  // Whoever waits for the task id is answered before the job closes.
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  return isCancellation(error) ? error : createFailure(failure.type, failure.details);
}
