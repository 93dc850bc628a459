import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import { DOWNLOAD_POLICY } from '../src/contract/policies';

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
