import { RETRY_AFTER_MAX_MS, RETRY_AFTER_MIN_MS } from '../contract/policies';

/** Without Retry-After: a service that limits requests per second has room again after one second. */
export const MIN_BACKOFF_MS = 1_000;
/** The longest that free capacity stays unused because no answer has shown it yet. */
export const MAX_BACKOFF_MS = 60_000;

/** What a call showed about the limit: it `passed`, it was `limited`, or it never reached the service (`unknown`). */
export type CallOutcome =
  | { kind: 'passed' }
  | { kind: 'limited'; retryAfterMs?: number }
  | { kind: 'unknown' };

/** A permit for one call, or how long to wait for one. A granted permit must be released, however the call ends. */
export type Permit =
  | { granted: true; release(outcome: CallOutcome): void }
  | { granted: false; waitMs: number };

/** A second release does nothing. */
export function createPermit(onRelease: (outcome: CallOutcome) => void): Permit {
  let isReleased = false;
  return {
    granted: true,
    release(outcome) {
      if (isReleased) return;
      isReleased = true;
      onRelease(outcome);
    },
  };
}

export function boundedRetryAfterMs({ retryAfterMs }: { retryAfterMs?: number }): number | undefined {
  if (retryAfterMs === undefined) return undefined;
  return Math.min(Math.max(retryAfterMs, RETRY_AFTER_MIN_MS), RETRY_AFTER_MAX_MS);
}
