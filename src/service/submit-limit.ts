import { RETRY_AFTER_MAX_MS, RETRY_AFTER_MIN_MS } from '../contract/policies';

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

/** Without Retry-After: a service that limits requests per second has room again after one second. */
export const MIN_BACKOFF_MS = 1_000;
/** The longest that free capacity stays unused because no answer has shown it yet. */
export const MAX_BACKOFF_MS = 60_000;
/** Where a limit per minute was hit, a minute after the first refusal. */
const SECOND_BACKOFF_MS = MAX_BACKOFF_MS - MIN_BACKOFF_MS;
/** The wait for a permit while another submit holds it: about as long as a POST takes. */
const BUSY_WAIT_MS = 1_000;
/** After this many concurrent submits without a refusal, the limit is removed. */
const UNLIMITED_FROM = 16;
/** More than submits use up before the next refusal. */
const MOST_PLACES = 100;
/** One more submit may run at once for each of this many that passed. */
const PASSES_PER_SUBMIT_AT_ONCE = 4;
/** And in a new process one more for each of these: about as long as a POST takes. */
const START_STEP_MS = 1_000;
/** A faster pace is tried after this many submits for free places, and again after this many more. */
const FIRST_TRIAL = 8;
const BETWEEN_TRIALS = 90;
const TRIAL_SPEED = 1.15;
/** It has proved itself when this many submits passed, of which this many came before a place was free. */
const TRIAL_PASSES = 16;
const TRIAL_EARLY_PASSES = 2;
/** After this many refusals that free places explain, they count again. */
const REFUSALS_LIKE_PLACES = 5;
/** After this many refusals in a row, a pace with fewer passes than a trial needs is wrong. */
const REFUSALS_OF_WRONG_PACE = 4;
/** How many turns are made up for after a delay, and how many submits a worker takes for them. */
const MOST_LATE_TURNS = 4;
/** After more than this there was nothing to submit; a busy machine may be late by less. */
const IDLE_MS = 10_000;

/** Why a submit was permitted: no limit is known, a task has ended, or its turn has come at the pace or after the backoff. */
type PermitReason = 'unlimited' | 'place' | 'turn';

/** What is known since the last refusal, when the service had nothing left. */
interface Limited {
  /** When Retry-After ends. */
  notBefore: number;
  /** When a submit may be sent although no task has ended. */
  turnAt: number;
  /** Tasks that ended, less submits. Below 0, time alone made room. */
  places: number;
  fewestPlaces: number;
}

/**
 * What one process knows about the service's limit for submits: on tasks at once, or on submits in a time. No answer says
 * which. Until something speaks against it, each task that ends makes room for a submit. That also passes at a service that
 * limits the rate, only slower than it would take, so a faster pace is tried now and then; what passes more is kept. Whichever
 * is followed, what the other would have allowed is counted, and each refusal shows whether it was right.
 */
export class SubmitLimit {
  private limited: Limited | undefined;
  private readonly pace = new SubmitPace();
  /** Whether ended tasks make room. If not, submits keep to the pace. */
  private followsTasks = true;
  /** Submits for free places that passed, and when the first did; 0 while free places have proved nothing. */
  private proved = { passes: 0, since: 0, nextTrial: FIRST_TRIAL };
  /** What passed while a faster pace is tried next to the free places. */
  private trial: { passes: number; earlyPasses: number } | undefined;
  private refusalsLikePlaces = 0;
  private refusals = 0;
  private passes = 0;
  private running = 0;
  /** When the first submit began. */
  private startedAt = 0;

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
    if (this.passes + this.running === 0) this.startedAt = this.clock();
    this.running += 1;
    // From here on time alone may allow another submit: a worker that waits for one must not wait for this one to end.
    this.onChange();
    return createPermit((outcome) => {
      this.running -= 1;
      if (outcome.kind === 'passed') this.passes += 1;
      if (refusals === this.refusals) this.recordOutcome(outcome, reason);
      // It began before the last refusal: its refusal is the same one, but its Retry-After counts.
      else if (outcome.kind === 'limited') this.pauseFor(boundedRetryAfterMs(outcome) ?? 0);
      this.onChange();
    });
  }

  /** How many submits may run now. */
  allowance(): number {
    if (this.limited === undefined) return Number.POSITIVE_INFINITY;
    const isDue = this.untilNextChangeMs() === undefined;
    if (this.isPaced()) return isDue ? this.running + 1 : this.running;
    if (!isDue) return 0;
    // One at a time, and more for free places that have proved themselves.
    const atOnce = 1 + Math.floor(this.proved.passes / PASSES_PER_SUBMIT_AT_ONCE);
    return Math.max(1, Math.min(this.running + this.limited.places, atOnce));
  }

  /** How many submits a worker may take from Temporal: few at first, since all that exceed a limit are refused together. */
  workerAllowance(): number {
    const dueTurns = this.dueTurns();
    if (dueTurns > 0) return this.running + dueTurns;
    return Math.min(this.startAllowance() ?? Number.POSITIVE_INFINITY, this.allowance());
  }

  /** Milliseconds until time alone changes workerAllowance; undefined when it does not. */
  untilWorkerChangeMs(): number | undefined {
    const dueTurns = this.dueTurns();
    if (this.limited && dueTurns > 0 && dueTurns < MOST_LATE_TURNS) {
      return Math.max(1, Math.ceil(this.limited.turnAt + dueTurns * this.pace.intervalMs() - this.clock()));
    }
    if (this.startAllowance() === undefined || this.running === 0) return this.untilNextChangeMs();
    return START_STEP_MS - ((this.clock() - this.startedAt) % START_STEP_MS);
  }

  recordTaskEnd(): void {
    if (this.limited === undefined) return;
    this.limited.places = Math.min(this.limited.places + 1, MOST_PLACES);
    this.onChange();
  }

  private isPaced(): boolean {
    return !this.followsTasks || this.trial !== undefined;
  }

  private hasPlace({ places }: Limited): boolean {
    return this.followsTasks && places > 0;
  }

  /** How many submits a new process runs at once. It grows with time too: a slow answer must not hold up the others. */
  private startAllowance(): number | undefined {
    if (this.refusals > 0) return undefined;
    const bySubmits = Math.floor(this.passes / PASSES_PER_SUBMIT_AT_ONCE);
    const byTime = 1 + Math.floor((this.clock() - this.startedAt) / START_STEP_MS);
    const atOnce = this.passes + this.running === 0 ? 1 : Math.max(bySubmits, byTime);
    return atOnce < UNLIMITED_FROM ? atOnce : undefined;
  }

  private untilNextChangeMs(): number | undefined {
    if (this.limited === undefined) return undefined;
    const { notBefore, turnAt } = this.limited;
    const waitMs = Math.ceil((this.hasPlace(this.limited) ? notBefore : turnAt) - this.clock());
    return waitMs > 0 ? waitMs : undefined;
  }

  private takePermit(): PermitReason {
    const { limited } = this;
    if (limited === undefined) return 'unlimited';
    const reason = this.hasPlace(limited) ? 'place' : 'turn';
    limited.places -= 1;
    if (this.isPaced()) {
      // A permit taken late does not slow the pace, but after a longer time not all turns are made up for.
      const intervalMs = this.pace.intervalMs();
      const lateMs = this.clock() - limited.turnAt;
      const lostMs = Math.max(0, lateMs - MOST_LATE_TURNS * intervalMs);
      this.pace.excludeTime(lostMs > IDLE_MS ? lateMs : lostMs);
      if (lostMs > IDLE_MS) this.pace.endTest();
      limited.turnAt += lostMs + intervalMs;
    }
    return reason;
  }

  /**
   * Submits whose turn at the pace has come. A worker needs a moment from taking a submit to sending it, longer than an
   * interval on a busy machine: it takes the next one meanwhile.
   */
  private dueTurns(): number {
    if (!this.limited || !this.isPaced() || this.untilNextChangeMs() !== undefined) return 0;
    const lateMs = Math.max(0, this.clock() - this.limited.turnAt);
    return Math.min(1 + Math.floor(lateMs / this.pace.intervalMs()), MOST_LATE_TURNS);
  }

  private recordOutcome(outcome: CallOutcome, reason: PermitReason): void {
    if (outcome.kind === 'limited') this.recordRefusal(boundedRetryAfterMs(outcome) ?? 0, reason);
    else if (this.limited === undefined) return;
    else if (outcome.kind === 'unknown') this.limited.places += 1;
    else this.recordPass(this.limited, reason);
  }

  private recordPass(limited: Limited, reason: PermitReason): void {
    this.pace.recordPass(this.clock());
    limited.fewestPlaces = Math.min(limited.fewestPlaces, limited.places);
    if (!this.followsTasks) return;
    if (this.trial !== undefined) {
      this.trial.passes += 1;
      if (reason === 'place') this.proved.passes += 1;
      else this.trial.earlyPasses += 1;
      if (this.trial.passes >= TRIAL_PASSES && this.trial.earlyPasses >= TRIAL_EARLY_PASSES)
        this.followPace();
    } else if (reason === 'turn') {
      this.followPace();
      limited.turnAt = this.clock() + this.pace.intervalMs();
    } else {
      this.recordPlaceTaken(limited);
    }
  }

  private recordPlaceTaken(limited: Limited): void {
    const now = this.clock();
    const { proved } = this;
    if (proved.passes === 0) proved.since = now;
    proved.passes += 1;
    limited.turnAt = now + RETRY_AFTER_MAX_MS;
    if (proved.passes <= proved.nextTrial) return;
    proved.nextTrial = proved.passes + BETWEEN_TRIALS;
    this.trial = { passes: 0, earlyPasses: 0 };
    this.pace.guess((now - proved.since) / (proved.passes - 1) / TRIAL_SPEED);
    limited.turnAt = now + this.pace.intervalMs();
  }

  private recordRefusal(retryAfterMs: number, reason: PermitReason): void {
    const now = this.clock();
    this.refusals += 1;
    this.pace.recordRefusal(now);
    const { limited, trial } = this;
    this.trial = undefined;
    if (reason === 'place') this.followPace();
    else if (!this.followsTasks && limited && this.speaksForPlaces(limited)) this.followsTasks = true;
    // A trial that is refused leaves the places that became free meanwhile.
    const places = trial && limited && this.followsTasks ? Math.max(0, limited.places) : 0;
    this.limited = { notBefore: now, turnAt: now + this.backoffMs(), places, fewestPlaces: 0 };
    this.pauseFor(retryAfterMs);
  }

  private followPace(): void {
    this.followsTasks = false;
    this.trial = undefined;
    this.proved = { passes: 0, since: 0, nextTrial: FIRST_TRIAL };
    this.refusalsLikePlaces = 0;
  }

  /** Whether a refusal at the pace shows that ended tasks make room after all. */
  private speaksForPlaces({ places, fewestPlaces }: Limited): boolean {
    if (this.pace.refusedInARow > 1) {
      return this.pace.refusedInARow >= REFUSALS_OF_WRONG_PACE && this.pace.counted < TRIAL_PASSES;
    }
    // Nothing was free, and at most the end of one task was seen late.
    const isLikePlaces = places < 0 && fewestPlaces > -2;
    this.refusalsLikePlaces = isLikePlaces ? this.refusalsLikePlaces + 1 : 0;
    return this.refusalsLikePlaces >= REFUSALS_LIKE_PLACES;
  }

  /** From a refusal to the next submit that is not for a free place. */
  private backoffMs(): number {
    if (!this.followsTasks) return this.pace.retryMs();
    // It only has to find out that the limit is gone.
    if (this.proved.passes > 0) return RETRY_AFTER_MAX_MS;
    return [MIN_BACKOFF_MS, SECOND_BACKOFF_MS][this.pace.refusedInARow - 1] ?? MAX_BACKOFF_MS;
  }

  private pauseFor(retryAfterMs: number): void {
    if (this.limited === undefined) return;
    this.limited.notBefore = Math.max(this.limited.notBefore, this.clock() + retryAfterMs);
    this.limited.turnAt = Math.max(this.limited.turnAt, this.limited.notBefore);
  }
}

/** More passes than this make the measure no better; older ones are forgotten, because limits change. */
const MOST_COUNTED = 120;
/** A longer time without a pass counts as this: the service may have been down, or without credit. */
const MOST_REFUSED_MS = 5 * 60_000;
/** The refused pace counts as at most this much faster than the measured one: a burst is no pace. */
const MOST_DIFFERENCE = 2;
/** After this many passes without a refusal the pace has doubled: the fewer are counted, the sooner it is tested. */
const DOUBLES_AFTER = { least: 12, perCounted: 2, most: 200 };
/** A longer wait would miss the beginning of the service's next minute. */
const MOST_INTERVALS = 8;

/**
 * Learns a rate limit. At a refusal the service has nothing left, so between two refusals it accepted just what its limit
 * allows in that time. A service that saves up nothing accepted less while the pace was slow, so the pace is half way to the one
 * that was refused. Without a refusal it grows, slowly at first and then ever faster, because the limit may be higher.
 */
class SubmitPace {
  refusedInARow = 0;
  /** Passes between two refusals, and those since the last one. */
  counted = 0;
  private recent = 0;
  /** Since when passes are counted: a refusal. */
  private countedFrom: number | undefined;
  /** The first refusal in a row. */
  private refusedFrom = 0;
  private knownMs = MIN_BACKOFF_MS;

  recordPass(now: number): void {
    if (this.refusedInARow > 0) this.excludeTime(Math.max(0, now - this.refusedFrom - MOST_REFUSED_MS));
    this.recent += 1;
    this.refusedInARow = 0;
  }

  recordRefusal(now: number): void {
    this.refusedInARow += 1;
    // Until something passes, the service still has nothing left.
    if (this.refusedInARow > 1) return;
    this.refusedFrom = now;
    const refusedMs = this.intervalMs();
    this.endTest();
    if (this.countedFrom === undefined) {
      this.countedFrom = now;
      this.counted = 0;
      return;
    }
    // So much may have been left out that nothing remains to measure: the pace at most doubles.
    const measuredMs = Math.max((now - this.countedFrom) / this.counted, refusedMs / MOST_DIFFERENCE);
    const difference = Math.min(Math.max(measuredMs / refusedMs, 1), MOST_DIFFERENCE);
    this.knownMs = measuredMs / Math.sqrt(difference);
    while (this.counted > MOST_COUNTED) {
      this.counted /= 2;
      this.countedFrom += (now - this.countedFrom) / 2;
    }
  }

  /** A pace to try. It grows slowly, as a measured one does: a trial that outruns the limit would be refused for that. */
  guess(intervalMs: number): void {
    this.knownMs = intervalMs;
    this.countedFrom = undefined;
    this.counted = TRIAL_PASSES;
    this.recent = 0;
  }

  /** For a time without submits: the service could have accepted more. */
  excludeTime(ms: number): void {
    if (this.countedFrom !== undefined) this.countedFrom += ms;
    this.refusedFrom += ms;
  }

  /** For a pace that was not kept: its passes show nothing about a faster one. */
  endTest(): void {
    this.counted += this.recent;
    this.recent = 0;
  }

  /** The time from one submit to the next. */
  intervalMs(): number {
    const { least, perCounted, most } = DOUBLES_AFTER;
    const doublesAfter = Math.min(Math.max(this.counted * perCounted, least), most);
    return this.knownMs / (1 + (this.recent / doublesAfter) ** 3);
  }

  /** The time from a refusal to the next submit. */
  retryMs(): number {
    return Math.min(
      this.intervalMs() * Math.min(2 ** (this.refusedInARow - 1), MOST_INTERVALS),
      MAX_BACKOFF_MS,
    );
  }
}
