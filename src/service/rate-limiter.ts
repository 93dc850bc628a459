import type { Call } from '../contract/failure-table';
import { RETRY_AFTER_MAX_MS, RETRY_AFTER_MIN_MS } from '../contract/policies';
import { SkippingClock } from './skipping-clock';

/** Without Retry-After: a service that limits requests per second has room again after one second. */
const MIN_BACKOFF_MS = 1_000;
/** The longest that free capacity stays unused because no answer has shown it yet. */
const MAX_BACKOFF_MS = 60_000;
/** The wait for a permit while another submit holds it: about as long as a POST takes. */
const BUSY_WAIT_MS = 1_000;
/** After this many concurrent submits without a refusal, the limit is removed. */
const UNLIMITED_FROM = 16;
/** More free slots than submits use up before the next refusal or probe. */
const MAX_FREE_SLOTS = 100;

/** Options of a RateLimiter. */
export interface RateLimiterOptions {
  /** Milliseconds from any origin; `performance.now` by default. It must never go back, which would prolong a pause. */
  clock?: () => number;
}

/** What a call showed about the limit: it `passed`, it was `limited`, or it never reached the service (`unknown`). */
export type CallOutcome =
  | { kind: 'passed' }
  | { kind: 'limited'; retryAfterMs?: number }
  | { kind: 'unknown' };

/** A permit for one call, or how long to wait for one. A granted permit must be released, however the call ends. */
export type Permit =
  | { granted: true; release(outcome: CallOutcome): void }
  | { granted: false; waitMs: number };

/** Shares what one process knows about the service's limits: after a 429, every job pauses that kind of call. */
export class RateLimiter {
  private readonly listeners = new Set<() => void>();
  private readonly submits: SubmitLimit;
  private readonly limits: Record<Call, { acquire(): Permit }>;
  private readonly skippingClock: SkippingClock;
  private timeIsSkipped = false;

  constructor({ clock: machine = () => performance.now() }: RateLimiterOptions = {}) {
    this.skippingClock = new SkippingClock(machine);
    const clock = () => this.skippingClock.now();
    this.submits = new SubmitLimit(clock, () => this.notifyListeners());
    this.limits = { submit: this.submits, poll: new CallLimit(clock), download: new CallLimit(clock) };
  }

  /** Measures pauses on the clock of a time-skipping Temporal server. Only for those: the machine's clock is more exact. */
  async followServerClock(server: object, readClock: () => Promise<number>): Promise<void> {
    await this.skippingClock.follow(server, readClock);
    this.timeIsSkipped = true;
    this.notifyListeners();
  }

  /** A permit for one call now, or how long to wait for one. */
  acquire(call: Call): Permit {
    return this.limits[call].acquire();
  }

  /**
   * How many submits may run now: 0 during a pause, Infinity while no limit is known. Also Infinity where time is
   * skipped: a worker that takes no submits would wait by the machine's clock.
   */
  submitAllowance(): number {
    return this.timeIsSkipped ? Number.POSITIVE_INFINITY : this.submits.allowance();
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
    return this.timeIsSkipped ? undefined : this.submits.untilNextChangeMs();
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
      this.backoffMs = longerBackoffMs(this.backoffMs);
      this.refusals += 1;
    } else if (outcome.kind === 'passed' && isFirst) {
      this.backoffMs = MIN_BACKOFF_MS;
    }
  }
}

/**
 * `open` has no limit. `full` permits one submit at a time: for a slot that an ended task has freed, or as a probe after
 * the backoff. `ramping` follows a probe that passed, and doubles with each submit that passes.
 */
type Mode =
  | { name: 'open'; since: number }
  | { name: 'full'; since: number; notBefore: number; probeAt: number; freeSlots: number }
  | { name: 'ramping'; allowance: number };

/** Why a submit was permitted. */
type PermitReason = 'open' | 'free-slot' | 'probe' | 'ramping';

class SubmitLimit {
  private mode: Mode = { name: 'open', since: Number.NEGATIVE_INFINITY };
  private backoffMs = MIN_BACKOFF_MS;
  private refusals = 0;
  private running = 0;

  constructor(
    private readonly clock: () => number,
    private readonly onChange: () => void,
  ) {}

  acquire(): Permit {
    if (this.running >= this.allowance()) {
      return { granted: false, waitMs: this.untilNextChangeMs() ?? BUSY_WAIT_MS };
    }
    const reason = this.takePermit();
    const { refusals } = this;
    this.running += 1;
    return createPermit((outcome) => {
      this.running -= 1;
      if (refusals === this.refusals) this.recordOutcome(outcome, reason);
      else this.recordLateOutcome(outcome);
      this.onChange();
    });
  }

  allowance(): number {
    switch (this.mode.name) {
      case 'open':
        return Number.POSITIVE_INFINITY;
      case 'ramping':
        return this.mode.allowance;
      case 'full':
        return this.untilNextChangeMs() === undefined ? 1 : 0;
    }
  }

  untilNextChangeMs(): number | undefined {
    if (this.mode.name !== 'full') return undefined;
    const { freeSlots, notBefore, probeAt } = this.mode;
    const waitMs = Math.ceil((freeSlots > 0 ? notBefore : probeAt) - this.clock());
    return waitMs > 0 ? waitMs : undefined;
  }

  recordTaskEnd(): void {
    if (this.mode.name !== 'full') return;
    this.mode.freeSlots = Math.min(this.mode.freeSlots + 1, MAX_FREE_SLOTS);
    this.onChange();
  }

  private takePermit(): PermitReason {
    if (this.mode.name !== 'full') return this.mode.name;
    if (this.mode.freeSlots === 0) return 'probe';
    this.mode.freeSlots -= 1;
    return 'free-slot';
  }

  private recordOutcome(outcome: CallOutcome, reason: PermitReason): void {
    if (outcome.kind === 'passed') this.recordPass(reason);
    else if (outcome.kind === 'limited') this.recordRefusal(boundedRetryAfterMs(outcome) ?? 0, reason);
    else if (reason === 'free-slot') this.recordTaskEnd();
  }

  private recordPass(reason: PermitReason): void {
    if (reason === 'probe') {
      this.backoffMs = Math.max(MIN_BACKOFF_MS, this.backoffMs / 2);
      this.mode = { name: 'ramping', allowance: 1 };
    } else if (this.mode.name === 'ramping') {
      this.mode.allowance *= 2;
      if (this.mode.allowance < UNLIMITED_FROM) return;
      this.mode = { name: 'open', since: this.clock() };
    } else if (this.mode.name === 'full') {
      // While free slots are refilled a probe would be refused, but in the end it must find out that a limit is gone.
      this.mode.probeAt = Math.min(this.clock() + this.backoffMs, this.mode.since + RETRY_AFTER_MAX_MS);
    }
  }

  private recordRefusal(retryAfterMs: number, reason: PermitReason): void {
    const now = this.clock();
    // Five submits reopen the limiter at a service that was empty for a moment; its limit is still there.
    const wasOpenLong = this.mode.name === 'open' && now - this.mode.since >= MAX_BACKOFF_MS;
    if (wasOpenLong) this.backoffMs = MIN_BACKOFF_MS;
    // Another client may have taken the free slot, which says nothing about how long to wait.
    else if (reason !== 'free-slot') this.backoffMs = longerBackoffMs(this.backoffMs);
    this.refusals += 1;
    this.mode = {
      name: 'full',
      since: now,
      notBefore: now + retryAfterMs,
      probeAt: now + Math.max(retryAfterMs, this.backoffMs),
      freeSlots: 0,
    };
  }

  /** For a call that began before the last refusal: its refusal is the same one, but its Retry-After counts. */
  private recordLateOutcome(outcome: CallOutcome): void {
    if (outcome.kind !== 'limited' || this.mode.name !== 'full') return;
    this.mode.notBefore = Math.max(this.mode.notBefore, this.clock() + (boundedRetryAfterMs(outcome) ?? 0));
    this.mode.probeAt = Math.max(this.mode.probeAt, this.mode.notBefore);
  }
}

/** A second release does nothing. */
function createPermit(onRelease: (outcome: CallOutcome) => void): Permit {
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

function longerBackoffMs(backoffMs: number): number {
  return Math.min(backoffMs * 2, MAX_BACKOFF_MS);
}

function boundedRetryAfterMs({ retryAfterMs }: { retryAfterMs?: number }): number | undefined {
  if (retryAfterMs === undefined) return undefined;
  return Math.min(Math.max(retryAfterMs, RETRY_AFTER_MIN_MS), RETRY_AFTER_MAX_MS);
}
