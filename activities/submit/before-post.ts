import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { POST_BEFORE_DEADLINE_MS, POST_WITHIN_MS } from '../../src/contract/policies';
import { createFailure } from '../../src/contract/video-failure';
import { StorageFault } from '../../src/storage';

/** The attempt ended before its POST, and neither the service nor the storage is to blame. */
export class NotSent extends Error {
  override readonly name = 'NotSent';
}

/** Sends nothing once Temporal may have given this attempt up: an operator or a retry may act on that already. */
export function refuseIfLate(startedAtMs: number): void {
  const signal = cancellationSignal();
  if (signal.aborted) throw new NotSent('cancelled', { cause: signal.reason });
  const { scheduleToCloseTimeoutMs, scheduledTimestampMs, currentAttemptScheduledTimestampMs } =
    activityInfo();
  const elapsedMs = performance.now() - startedAtMs;
  const beforeAttemptMs = currentAttemptScheduledTimestampMs - scheduledTimestampMs;
  const remainingMs = scheduleToCloseTimeoutMs
    ? scheduleToCloseTimeoutMs - beforeAttemptMs - elapsedMs
    : Number.POSITIVE_INFINITY;
  if (elapsedMs > POST_WITHIN_MS) throw new StorageFault('recording the request took too long');
  if (remainingMs < POST_BEFORE_DEADLINE_MS) {
    throw new NotSent('late', { cause: createFailure('DeadlineExceeded', { message: 'nothing was sent' }) });
  }
}
