import { ApplicationFailure, activityInfo, heartbeat } from '@temporalio/activity';
import { DOWNLOAD_POLICY, HEARTBEAT_EVERY_MS } from '../src/contract/policies';

export interface NamedJob {
  /** The name of the job, for an item of a batch; a job with its own workflow has the workflow's id. */
  job?: string;
}

/** The name of the job: the workflow's id, or the activity's if it runs without a workflow. */
export function jobId({ job }: NamedJob): string {
  if (job !== undefined) return job;
  const { workflowExecution, activityId } = activityInfo();
  return workflowExecution?.workflowId ?? activityId;
}

/**
 * Heartbeats with the current note while the work lasts. Not at once: most work is over before the first heartbeat. A local
 * activity has no heartbeats; the SDK would log a warning for each.
 */
export async function whileHeartbeating<T>(note: () => unknown, work: () => Promise<T>): Promise<T> {
  if (activityInfo().isLocal) return work();
  const beats = setInterval(() => heartbeat(note()), HEARTBEAT_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(beats);
  }
}

/**
 * Whether Temporal retries this download after the failure. It uses the server's timestamps and the duration of the
 * attempt, because the clocks of worker and server may differ.
 */
export function willRetryDownload(failure: unknown, attemptTookMs: number): boolean {
  if (!(failure instanceof ApplicationFailure) || failure.nonRetryable) return false;
  const { scheduleToCloseTimeoutMs, scheduledTimestampMs, currentAttemptScheduledTimestampMs } =
    activityInfo();
  if (!scheduleToCloseTimeoutMs) return true;
  const elapsedMs = currentAttemptScheduledTimestampMs - scheduledTimestampMs + attemptTookMs;
  return elapsedMs + retryDelayMs(failure) < scheduleToCloseTimeoutMs;
}

function retryDelayMs({ nextRetryDelay }: ApplicationFailure): number {
  if (typeof nextRetryDelay === 'number') return nextRetryDelay;
  const { initialInterval, backoffCoefficient, maximumInterval } = DOWNLOAD_POLICY.retry;
  return Math.min(initialInterval * backoffCoefficient ** (activityInfo().attempt - 1), maximumInterval);
}
