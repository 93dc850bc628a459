import type { Call } from '../contract/failure-table';
import {
  boundedRetryAfterMs,
  type CallOutcome,
  createPermit,
  MAX_BACKOFF_MS,
  MIN_BACKOFF_MS,
  type Permit,
  SubmitLimit,
} from './submit-limit';

/** Options of a RateLimiter. */
export interface RateLimiterOptions {
  /** Milliseconds from any origin; `performance.now` by default. It must never go back, which would prolong a pause. */
  clock?: () => number;
}

/** Shares what one process knows about the service's limits: after a 429, every job pauses that kind of call. */
export class RateLimiter {
  private readonly listeners = new Set<() => void>();
  private readonly submits: SubmitLimit;
  private readonly limits: Record<Call, { acquire(): Permit }>;
  private isOff = false;

  constructor({ clock = () => performance.now() }: RateLimiterOptions = {}) {
    this.submits = new SubmitLimit(clock, () => this.notifyListeners());
    this.limits = { submit: this.submits, poll: new CallLimit(clock), download: new CallLimit(clock) };
  }

  /** Permits every call from now on. For a Temporal server that skips time: it skips pauses that this process measures. */
  turnOff(): void {
    if (this.isOff) return;
    this.isOff = true;
    this.notifyListeners();
  }

  /** A permit for one call now, or how long to wait for one. */
  acquire(call: Call): Permit {
    return this.isOff ? createPermit(() => undefined) : this.limits[call].acquire();
  }

  /**
   * How many submits a worker may take from Temporal now: 0 during a pause, few in a new process, Infinity once many have
   * passed without a refusal.
   */
  submitAllowance(): number {
    return this.isOff ? Number.POSITIVE_INFINITY : this.submits.workerAllowance();
  }

  /** Call it when a task has ended at the service: there may be room for another. */
  recordTaskEnd(): void {
    this.submits.recordTaskEnd();
  }

  /** Calls back when an event, not time, may have changed the allowance; returns a function that stops it. */
  onChange(callback: () => void): () => void {
    const listener = () => callback();
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Milliseconds until time alone changes the allowance; undefined when it does not. */
  untilNextChangeMs(): number | undefined {
    return this.isOff ? undefined : this.submits.untilWorkerChangeMs();
  }

  private notifyListeners(): void {
    for (const listener of [...this.listeners]) listener();
  }
}

/** For calls that only a 429 limits: all may go, or none until a time. */
class CallLimit {
  private pausedUntil = Number.NEGATIVE_INFINITY;
  private backoffMs = MIN_BACKOFF_MS;
  private refusals = 0;

  constructor(private readonly clock: () => number) {}

  acquire(): Permit {
    const waitMs = Math.ceil(this.pausedUntil - this.clock());
    if (waitMs > 0) return { granted: false, waitMs };
    const { refusals } = this;
    return createPermit((outcome) => this.recordOutcome(outcome, refusals === this.refusals));
  }

  /** Calls that ran at the same time are refused together: only the first refusal lengthens the backoff. */
  private recordOutcome(outcome: CallOutcome, isFirst: boolean): void {
    if (outcome.kind === 'limited') {
      const waitMs = boundedRetryAfterMs(outcome) ?? (isFirst ? this.backoffMs : 0);
      this.pausedUntil = Math.max(this.pausedUntil, this.clock() + waitMs);
      if (!isFirst) return;
      this.backoffMs = Math.min(this.backoffMs * 2, MAX_BACKOFF_MS);
      this.refusals += 1;
    } else if (outcome.kind === 'passed' && isFirst) {
      this.backoffMs = MIN_BACKOFF_MS;
    }
  }
}
