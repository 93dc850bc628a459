import type { Call } from '../contract/failure-table';
import { RETRY_AFTER_MAX_MS, RETRY_AFTER_MIN_MS } from '../contract/policies';
import { SkippingClock } from './skipping-clock';

/** A service that limits requests by the second has room again after one. */
const FIRST_GUESS_MS = 1_000;
/** The longest that room stays unused because nobody told us of it. */
const LONGEST_GUESS_MS = 60_000;
/** How soon to ask again when another submit stands in the way: about as long as a POST takes. */
const BUSY_WAIT_MS = 1_000;
/** So many submits at once without a refusal, and there is no limit worth minding. */
const WIDE_OPEN = 16;
/** More ended tasks than a queue of submits makes use of before the service is known anew. */
const MOST_VACANCIES = 100;

export interface RateLimiterOptions {
  /** Milliseconds since whenever; by default a clock that is never set back, which would keep the rate limiter shut. */
  clock?: () => number;
}

/** What a call taught about the limit: it was let through, it met the limit, or it never got as far (no connection). */
export type CallOutcome =
  | { kind: 'passed' }
  | { kind: 'limited'; retryAfterMs?: number }
  | { kind: 'nothing-learnt' };

/** Whoever gets in has to leave, however the call ends. */
export type Permit = { open: true; release(outcome: CallOutcome): void } | { open: false; waitMs: number };

/** What all jobs of a process know together about the service's limits: a 429 to one keeps the others away. */
export class RateLimiter {
  private readonly listeners = new Set<() => void>();
  private readonly submits: SubmitLimit;
  private readonly gates: Record<Call, { acquire(): Permit }>;
  private readonly skippingClock: SkippingClock;
  private timeIsSkipped = false;

  constructor({ clock: machine = () => performance.now() }: RateLimiterOptions = {}) {
    this.skippingClock = new SkippingClock(machine);
    const clock = () => this.skippingClock.now();
    this.submits = new SubmitLimit(clock, () => this.tellListeners());
    this.gates = { submit: this.submits, poll: new Pause(clock), download: new Pause(clock) };
  }

  /** Measures pauses on the clock of a Temporal server that skips time. For no other: the machine's is more exact. */
  async follow(server: object, readClock: () => Promise<number>): Promise<void> {
    await this.skippingClock.follow(server, readClock);
    this.timeIsSkipped = true;
    this.tellListeners();
  }

  /** A pass for one call now, or how long to stay away. */
  enter(call: Call): Permit {
    return this.gates[call].acquire();
  }

  /**
   * How many submits may be under way now: 0 while the rate limiter is shut, Infinity when nothing is known against it. Also
   * Infinity where time is skipped: a worker that takes no submits meanwhile would wait by the machine's clock.
   */
  submitAllowance(): number {
    return this.timeIsSkipped ? Number.POSITIVE_INFINITY : this.submits.allowance();
  }

  /** A task has reached its end at the service, so there may be room for another. */
  taskEnded(): void {
    this.submits.taskEnded();
  }

  /** Calls back whenever an event, not time, may have changed the allowance; returns what ends that. */
  onChange(callback: () => void): () => void {
    const listener = () => callback();
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Milliseconds until time alone changes the allowance; undefined when it does not. */
  untilNextChange(): number | undefined {
    return this.timeIsSkipped ? undefined : this.submits.untilNextChange();
  }

  private tellListeners(): void {
    for (const listener of [...this.listeners]) listener();
  }
}

/** Calls that nothing limits but the service's 429: all go, or none until a time. */
class Pause {
  private until = Number.NEGATIVE_INFINITY;
  private guess = FIRST_GUESS_MS;
  private refusals = 0;

  constructor(private readonly clock: () => number) {}

  acquire(): Permit {
    const waitMs = Math.ceil(this.until - this.clock());
    if (waitMs > 0) return { open: false, waitMs };
    const { refusals } = this;
    return passOnce((outcome) => this.learn(outcome, refusals === this.refusals));
  }

  /** Calls that were under way together are refused together: only the first answer is news. */
  private learn(outcome: CallOutcome, isNews: boolean): void {
    if (outcome.kind === 'limited') {
      const waitMs = asked(outcome) ?? (isNews ? this.guess : 0);
      this.until = Math.max(this.until, this.clock() + waitMs);
      if (!isNews) return;
      this.guess = longer(this.guess);
      this.refusals += 1;
    } else if (outcome.kind === 'passed' && isNews) {
      this.guess = FIRST_GUESS_MS;
    }
  }
}

/**
 * `full` lets one submit in at a time: for a task that was seen to end, or as a probe after a guessed wait.
 * `ramping` follows a probe that found room, and widens with each submit that passes.
 */
type Mode =
  | { name: 'open'; since: number }
  | { name: 'full'; since: number; notBefore: number; probeAt: number; vacancies: number }
  | { name: 'ramping'; allowance: number };

type Ticket = 'open' | 'vacancy' | 'probe' | 'ramping';

class SubmitLimit {
  private mode: Mode = { name: 'open', since: Number.NEGATIVE_INFINITY };
  private guess = FIRST_GUESS_MS;
  private refusals = 0;
  private underWay = 0;

  constructor(
    private readonly clock: () => number,
    private readonly changed: () => void,
  ) {}

  acquire(): Permit {
    if (this.underWay >= this.allowance()) {
      return { open: false, waitMs: this.untilNextChange() ?? BUSY_WAIT_MS };
    }
    const ticket = this.takeTicket();
    const { refusals } = this;
    this.underWay += 1;
    return passOnce((outcome) => {
      this.underWay -= 1;
      if (refusals === this.refusals) this.learn(outcome, ticket);
      else this.learnLate(outcome);
      this.changed();
    });
  }

  allowance(): number {
    switch (this.mode.name) {
      case 'open':
        return Number.POSITIVE_INFINITY;
      case 'ramping':
        return this.mode.allowance;
      case 'full':
        return this.untilNextChange() === undefined ? 1 : 0;
    }
  }

  untilNextChange(): number | undefined {
    if (this.mode.name !== 'full') return undefined;
    const { vacancies, notBefore, probeAt } = this.mode;
    const waitMs = Math.ceil((vacancies > 0 ? notBefore : probeAt) - this.clock());
    return waitMs > 0 ? waitMs : undefined;
  }

  taskEnded(): void {
    if (this.mode.name !== 'full') return;
    this.mode.vacancies = Math.min(this.mode.vacancies + 1, MOST_VACANCIES);
    this.changed();
  }

  private takeTicket(): Ticket {
    if (this.mode.name !== 'full') return this.mode.name;
    if (this.mode.vacancies === 0) return 'probe';
    this.mode.vacancies -= 1;
    return 'vacancy';
  }

  private learn(outcome: CallOutcome, ticket: Ticket): void {
    if (outcome.kind === 'passed') this.passed(ticket);
    else if (outcome.kind === 'limited') this.shut(asked(outcome) ?? 0, ticket);
    else if (ticket === 'vacancy') this.taskEnded();
  }

  private passed(ticket: Ticket): void {
    if (ticket === 'probe') {
      this.guess = Math.max(FIRST_GUESS_MS, this.guess / 2);
      this.mode = { name: 'ramping', allowance: 1 };
    } else if (this.mode.name === 'ramping') {
      this.mode.allowance *= 2;
      if (this.mode.allowance < WIDE_OPEN) return;
      this.mode = { name: 'open', since: this.clock() };
    } else if (this.mode.name === 'full') {
      // Refilling works, so a probe would be refused; but a limit that was lifted has to be noticed some day.
      this.mode.probeAt = Math.min(this.clock() + this.guess, this.mode.since + RETRY_AFTER_MAX_MS);
    }
  }

  private shut(askedMs: number, ticket: Ticket): void {
    const now = this.clock();
    // Five submits open the rate limiter at a service that was empty for a moment: that is no reason to forget its limit.
    const wasOpenLong = this.mode.name === 'open' && now - this.mode.since >= LONGEST_GUESS_MS;
    if (wasOpenLong) this.guess = FIRST_GUESS_MS;
    // A vacancy that another client took says nothing about how long to wait.
    else if (ticket !== 'vacancy') this.guess = longer(this.guess);
    this.refusals += 1;
    this.mode = {
      name: 'full',
      since: now,
      notBefore: now + askedMs,
      probeAt: now + Math.max(askedMs, this.guess),
      vacancies: 0,
    };
  }

  /** The call was under way when the rate limiter shut: its refusal is the same one, but its Retry-After holds. */
  private learnLate(outcome: CallOutcome): void {
    if (outcome.kind !== 'limited' || this.mode.name !== 'full') return;
    this.mode.notBefore = Math.max(this.mode.notBefore, this.clock() + (asked(outcome) ?? 0));
    this.mode.probeAt = Math.max(this.mode.probeAt, this.mode.notBefore);
  }
}

function passOnce(learn: (outcome: CallOutcome) => void): Permit {
  let hasLeft = false;
  return {
    open: true,
    release(outcome) {
      if (hasLeft) return;
      hasLeft = true;
      learn(outcome);
    },
  };
}

function longer(guess: number): number {
  return Math.min(guess * 2, LONGEST_GUESS_MS);
}

function asked({ retryAfterMs }: { retryAfterMs?: number }): number | undefined {
  if (retryAfterMs === undefined) return undefined;
  return Math.min(Math.max(retryAfterMs, RETRY_AFTER_MIN_MS), RETRY_AFTER_MAX_MS);
}
