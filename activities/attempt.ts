import { ApplicationFailure, activityInfo, heartbeat } from '@temporalio/activity';
import { DOWNLOAD_POLICY, HEARTBEAT_EVERY_MS } from '../src/contract/policies';

/** What tells an activity for which item of a batch it works; a job that is its workflow has the workflow's id. */
export interface NamedJob {
  job?: string;
}

/** What names the job for the world outside: the workflow, or the activity itself when it runs without one. */
export function jobId({ job }: NamedJob): string {
  if (job !== undefined) return job;
  const { workflowExecution, activityId } = activityInfo();
  return workflowExecution?.workflowId ?? activityId;
}

/** Beats at once and while the work lasts, each time with what `note` says then. */
export async function whileHeartbeating<T>(note: () => unknown, work: () => Promise<T>): Promise<T> {
  heartbeat(note());
  return whileAlive(note, work);
}

/** The same without the first beat, for work that is mostly over before the second: each one that is sent costs. */
export async function whileAlive<T>(note: () => unknown, work: () => Promise<T>): Promise<T> {
  const beats = setInterval(() => heartbeat(note()), HEARTBEAT_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(beats);
  }
}

/**
 * Whether Temporal will make another attempt at this download after the failure. Counted in the server's times and in
 * how long the attempt took: the clocks of worker and server may differ.
 */
export function isRetried(failure: unknown, attemptTookMs: number): boolean {
  if (!(failure instanceof ApplicationFailure) || failure.nonRetryable) return false;
  const { scheduleToCloseTimeoutMs, scheduledTimestampMs, currentAttemptScheduledTimestampMs } =
    activityInfo();
  if (!scheduleToCloseTimeoutMs) return true;
  const elapsedMs = currentAttemptScheduledTimestampMs - scheduledTimestampMs + attemptTookMs;
  return elapsedMs + pauseAfter(failure) < scheduleToCloseTimeoutMs;
}

function pauseAfter({ nextRetryDelay }: ApplicationFailure): number {
  if (typeof nextRetryDelay === 'number') return nextRetryDelay;
  const { initialInterval, backoffCoefficient, maximumInterval } = DOWNLOAD_POLICY.retry;
  return Math.min(initialInterval * backoffCoefficient ** (activityInfo().attempt - 1), maximumInterval);
}
