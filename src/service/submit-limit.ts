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

/** The longest that free capacity stays unused because no answer has shown it yet. */
export const MAX_BACKOFF_MS = 60_000;
/** This many refusals in a row mean that the service has nothing left for some time. */
const LONG_REFUSALS = 4;
/** The wait for a permit while another submit holds it: about as long as a POST takes. */
const BUSY_WAIT_MS = 1_000;
/** After this many concurrent submits without a refusal, the limit is removed. */
const UNLIMITED_FROM = 16;
/** More free slots than submits use up before the next refusal or probe. */
const MAX_FREE_SLOTS = 100;
/** Without Retry-After: a service that limits requests per second has room again after one second. */
export const MIN_BACKOFF_MS = 1_000;
/**
 * The pauses before probes while nothing is known: a limit by the second has room again after one second, a limit by the
 * minute a minute after the first refusal. More probes would all be refused at a service that limits running tasks.
 */
const BACKOFFS_MS = [MIN_BACKOFF_MS, 59_000, MAX_BACKOFF_MS] as const;
/** A new process takes one submit at a time at first, and one more for each of this many that passed. */
const PASSES_PER_SUBMIT_AT_ONCE = 4;
/** And one more for each of these: about as long as a POST takes. */
const START_STEP_MS = 1_000;
/** After this many submits for free slots a pace is tried, and after each try that failed this many times as many. */
const SLOTS_BEFORE_TRIAL = 8;
const FEWER_TRIALS = 16;
const MOST_SLOTS_BEFORE_TRIAL = 128;
/** How much faster than the free slots came. */
const TRIAL_SPEED = 1.15;
/** A pace has proved itself when this many submits passed, of which this many came before a slot was free. */
const TRIAL_PASSES = 12;
const TRIAL_EARLY_PASSES = 2;
/** How much of a pause is made up for at once, and how many submits a worker takes for it. */
const CATCH_UP_MS = 1_000;
const MOST_DUE_TURNS = 4;
/** Without a submit for this long, although one was allowed, there was nothing to submit. */
const IDLE_MS = 2_000;

/**
 * `open` has no limit. `full` permits one submit at a time: for a slot that an ended task has freed, or as a probe after the
 * backoff. `ramping` follows a probe that passed, and doubles with each submit that passes. `paced` submits in even steps.
 */
type Mode =
  | { name: 'open'; since: number }
  | { name: 'ramping'; allowance: number }
  | { name: 'full' | 'paced'; since: number; notBefore: number; probeAt: number; freeSlots: number };

/** Why a submit was permitted. */
type PermitReason = 'open' | 'ramping' | 'free-slot' | 'probe' | 'paced';

/**
 * What one process knows about the service's limit for submits: on tasks at once, or on submits in a time. No answer says
 * which: tasks that end steadily make room steadily, so submits for free slots also pass at a service that limits their rate,
 * only fewer than it would take. So the limiter tries: a pace faster than the free slots. What passes more is kept.
 */
export class SubmitLimit {
  private mode: Mode = { name: 'open', since: Number.NEGATIVE_INFINITY };
  private refusedProbes = 0;
  private refusals = 0;
  private running = 0;
  private passes = 0;
  /** When the first submit that passed began, or one that still runs. */
  private startedAt = 0;
  private readonly pace = new SubmitPace();
  /** When a submit last began or ended. */
  private lastSubmitAt = Number.NEGATIVE_INFINITY;
  /** Submits for free slots that passed, and when the first did; 0 while free slots have proved nothing. */
  private slots = { passes: 0, since: 0 };
  private slotsBeforeTrial = SLOTS_BEFORE_TRIAL;
  /** What passed since the mode is `paced`. In a trial, free slots are used too: only what comes early is the pace's own. */
  private paced = { isTrial: false, passes: 0, earlyPasses: 0 };

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
    this.lastSubmitAt = this.clock();
    // From here on time alone may allow another submit: a worker that waits for one must not wait for this one to end.
    this.onChange();
    return createPermit((outcome) => {
      this.running -= 1;
      this.lastSubmitAt = this.clock();
      if (refusals === this.refusals) this.recordOutcome(outcome, reason);
      else this.recordLateOutcome(outcome);
      this.onChange();
    });
  }

  /** How many submits may run now. */
  allowance(): number {
    switch (this.mode.name) {
      case 'open':
        return Number.POSITIVE_INFINITY;
      case 'ramping':
        return this.mode.allowance;
      case 'full':
        return this.untilNextChangeMs() === undefined ? this.slotsAtOnce(this.mode.freeSlots) : 0;
      case 'paced':
        return this.untilNextChangeMs() === undefined ? this.running + 1 : this.running;
    }
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
    if (this.mode.name === 'paced' && dueTurns > 0 && dueTurns < MOST_DUE_TURNS)
      return Math.ceil(this.mode.probeAt + dueTurns * this.turnMs() - this.clock());
    if (this.startAllowance() === undefined || this.running === 0) return this.untilNextChangeMs();
    return START_STEP_MS - ((this.clock() - this.startedAt) % START_STEP_MS);
  }

  recordTaskEnd(): void {
    if (this.mode.name !== 'full' && this.mode.name !== 'paced') return;
    this.mode.freeSlots = Math.min(this.mode.freeSlots + 1, MAX_FREE_SLOTS);
    this.onChange();
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
    if (this.mode.name !== 'full' && this.mode.name !== 'paced') return undefined;
    const { name, notBefore, probeAt, freeSlots } = this.mode;
    const hasSlot = freeSlots > 0 && (name === 'full' || this.isOnTrial());
    const waitMs = Math.ceil((hasSlot ? notBefore : probeAt) - this.clock());
    return waitMs > 0 ? waitMs : undefined;
  }

  private takePermit(): PermitReason {
    const now = this.clock();
    const { mode } = this;
    if (mode.name === 'open' || mode.name === 'ramping') {
      if (now - this.lastSubmitAt > IDLE_MS) this.pace.forgetPasses();
      return mode.name;
    }
    if (mode.freeSlots > 0 && (mode.name === 'full' || this.isOnTrial())) {
      mode.freeSlots -= 1;
      if (mode.name === 'paced') this.delayNext(mode, now);
      return 'free-slot';
    }
    if (now - Math.max(mode.probeAt, this.lastSubmitAt) > IDLE_MS) this.pace.forgetPasses();
    if (mode.name === 'full') return 'probe';
    // A limit that has not refused anything for long may be gone.
    if (now - mode.since > RETRY_AFTER_MAX_MS) return 'probe';
    this.delayNext(mode, now);
    mode.freeSlots -= 1;
    return 'paced';
  }

  /** One submit at a time, and more for free slots that have proved themselves. */
  private slotsAtOnce(freeSlots: number): number {
    const proved = 1 + Math.floor(this.slots.passes / PASSES_PER_SUBMIT_AT_ONCE);
    return Math.max(1, Math.min(this.running + freeSlots, proved));
  }

  /** A permit taken late does not slow the pace, but after a pause not all that were missed are made up for. */
  private delayNext(mode: { probeAt: number }, now: number): void {
    const intervalMs = this.turnMs();
    mode.probeAt = Math.max(mode.probeAt, now - Math.max(intervalMs, CATCH_UP_MS)) + intervalMs;
  }

  private turnMs(): number {
    return this.pace.intervalMs() ?? MAX_BACKOFF_MS;
  }

  /**
   * Submits whose turn at the pace has come. A worker needs a moment from taking a submit to sending it, longer than an
   * interval on a busy machine: it takes the next one meanwhile.
   */
  private dueTurns(): number {
    if (this.mode.name !== 'paced' || this.untilNextChangeMs() !== undefined) return 0;
    const lateMs = Math.max(0, this.clock() - this.mode.probeAt);
    return Math.min(1 + Math.floor(lateMs / this.turnMs()), MOST_DUE_TURNS);
  }

  private isOnTrial(): boolean {
    const { isTrial, passes, earlyPasses } = this.paced;
    return (
      this.mode.name === 'paced' && isTrial && (passes < TRIAL_PASSES || earlyPasses < TRIAL_EARLY_PASSES)
    );
  }

  private recordOutcome(outcome: CallOutcome, reason: PermitReason): void {
    if (outcome.kind === 'passed') this.recordPass(reason);
    else if (outcome.kind === 'limited') this.recordRefusal(boundedRetryAfterMs(outcome) ?? 0, reason);
    else if (reason === 'free-slot') this.recordTaskEnd();
  }

  private recordPass(reason: PermitReason): void {
    this.countPass();
    const { mode } = this;
    if (reason === 'probe') {
      this.refusedProbes = Math.max(0, this.refusedProbes - 1);
      this.mode = { name: 'ramping', allowance: 1 };
    } else if (mode.name === 'ramping') {
      mode.allowance *= 2;
      if (mode.allowance >= UNLIMITED_FROM) this.mode = { name: 'open', since: this.clock() };
    } else if (mode.name === 'paced') {
      this.paced.passes += 1;
      if (reason === 'paced') this.paced.earlyPasses += 1;
      else this.countSlot();
    } else if (mode.name === 'full') {
      this.countSlot();
      // While free slots are refilled a probe would be refused, but in the end it must find out that a limit is gone.
      mode.probeAt = Math.min(this.clock() + this.backoffMs(), mode.since + RETRY_AFTER_MAX_MS);
      if (this.slots.passes > this.slotsBeforeTrial) this.tryPace(mode.freeSlots);
    }
  }

  private countPass(): void {
    this.passes += 1;
    this.pace.recordPass();
  }

  private countSlot(): void {
    if (this.slots.passes === 0) this.slots.since = this.clock();
    this.slots.passes += 1;
  }

  /** Submits faster than slots become free, to see whether they are the limit. */
  private tryPace(freeSlots: number): void {
    const now = this.clock();
    const intervalMs = (now - this.slots.since) / (this.slots.passes - 1) / TRIAL_SPEED;
    this.slotsBeforeTrial = Math.min(
      this.slots.passes * FEWER_TRIALS,
      this.slots.passes + MOST_SLOTS_BEFORE_TRIAL,
    );
    this.paced = { isTrial: true, passes: 0, earlyPasses: 0 };
    this.pace.guess(intervalMs);
    this.mode = { name: 'paced', since: now, notBefore: now, probeAt: now + intervalMs, freeSlots };
  }

  private recordRefusal(retryAfterMs: number, reason: PermitReason): void {
    const now = this.clock();
    const { mode } = this;
    this.refusals += 1;
    // Five submits reopen the limiter at a service that was empty for a moment; its limit is still there.
    const wasOpenLong = mode.name === 'open' && now - mode.since >= MAX_BACKOFF_MS;
    if (wasOpenLong) {
      this.refusedProbes = 0;
      this.pace.forgetPasses();
    } else if (reason !== 'free-slot' && reason !== 'paced') {
      this.refusedProbes += 1;
    }
    this.pace.recordRefusal(now);
    const keepsSlots = this.isPaceWrong() || (reason === 'probe' && this.slots.passes > 0);
    const paceMs = keepsSlots ? undefined : this.pace.retryMs();
    const pause = (waitMs: number) => ({
      since: now,
      notBefore: now + retryAfterMs,
      probeAt: now + Math.max(retryAfterMs, waitMs),
    });
    if (paceMs === undefined) {
      const freeSlots = mode.name === 'paced' ? Math.max(0, mode.freeSlots) : 0;
      this.mode = { name: 'full', ...pause(this.backoffMs()), freeSlots };
    } else {
      // A refused submit for a free slot speaks against slots: the pace needs no trial.
      if (mode.name !== 'paced') this.paced = { isTrial: reason !== 'free-slot', passes: 0, earlyPasses: 0 };
      this.mode = { name: 'paced', ...pause(paceMs), freeSlots: 0 };
    }
    if (keepsSlots) return;
    this.slots.passes = 0;
    this.slotsBeforeTrial = SLOTS_BEFORE_TRIAL;
  }

  /** Whether a refusal shows that the pace is not the service's limit. */
  private isPaceWrong(): boolean {
    if (this.mode.name !== 'paced') return false;
    if (this.isOnTrial() && this.slots.passes > 0) return true;
    const isUnproven = this.paced.passes + this.pace.counted < TRIAL_PASSES;
    return this.pace.refusedInARow >= LONG_REFUSALS && isUnproven;
  }

  private backoffMs(): number {
    // While ended tasks make room and time alone did not, a probe only has to find out that the limit is gone.
    if (this.slots.passes > 0 && this.refusedProbes > 0)
      return Math.min(MAX_BACKOFF_MS * 2 ** this.refusedProbes, RETRY_AFTER_MAX_MS);
    return BACKOFFS_MS[Math.min(this.refusedProbes, BACKOFFS_MS.length - 1)] ?? MAX_BACKOFF_MS;
  }

  /** For a call that began before the last refusal: its refusal is the same one, but its Retry-After counts. */
  private recordLateOutcome(outcome: CallOutcome): void {
    if (outcome.kind === 'passed') this.passes += 1;
    if (outcome.kind !== 'limited' || this.mode.name === 'open' || this.mode.name === 'ramping') return;
    this.mode.notBefore = Math.max(this.mode.notBefore, this.clock() + (boundedRetryAfterMs(outcome) ?? 0));
    this.mode.probeAt = Math.max(this.mode.probeAt, this.mode.notBefore);
  }
}

/** More passes than this make the estimate no better, and a lifted limit would be noticed late. */
const MOST_COUNTED_PASSES = 30;
/** A pace that is only guessed is tested soon. */
const FEWEST_COUNTED_PASSES = 4;
/** When the refused pace was faster than the measured one by this, the service had more room than was used. */
const MOST_DIFFERENCE = 1.3;
/** A longer wait would miss the beginning of the service's next minute. */
const MOST_INTERVALS = 8;
/** So that all growth together makes one submit too many after four times as many passes as are counted. */
const GROWTH = 5 / 4 ** 5;

/**
 * Learns a rate limit. At a refusal the service has nothing left, so between two refusals it accepted just what its limit
 * allows in that time. The pace starts there and grows: slowly at first, so that the next refusal comes after about four
 * times as many submits as are counted, and ever faster, because without a refusal the limit may be higher.
 */
class SubmitPace {
  /** The refusal from which passes are counted, the last refusal, and the passes between them and since. */
  private countedFrom: number | undefined;
  private refusedAt = 0;
  counted = 0;
  private recent = 0;
  refusedInARow = 0;
  private knownIntervalMs: number | undefined;
  private measuredMs: number | undefined;
  /** A guess is tested soon, and counts anew from the next refusal. */
  private isGuess = false;

  recordPass(): void {
    this.recent += 1;
    this.refusedInARow = 0;
  }

  recordRefusal(now: number): void {
    this.refusedInARow += 1;
    // Until something passes, the service still has nothing left.
    if (this.refusedInARow > 1 && this.countedFrom !== undefined) {
      this.trustMeasureIfRefusedLong();
      return;
    }
    const refusedMs = this.intervalMs();
    this.counted += this.recent;
    if (this.countedFrom === undefined) {
      this.countedFrom = now;
      this.counted = 0;
    } else if (this.isGuess) {
      this.countedFrom = this.refusedAt;
      this.counted = this.recent;
    }
    this.refusedAt = now;
    this.recent = 0;
    // A time without submits was no measure: the pace that was refused is the best that is known.
    this.knownIntervalMs = refusedMs;
    if (this.counted === 0) return;
    this.measuredMs = (now - this.countedFrom) / this.counted;
    // A service that saves up nothing accepted less than it could while the pace was slow: the pace that it refused counts too.
    const fasterMs = Math.min(this.measuredMs, refusedMs ?? this.measuredMs);
    this.knownIntervalMs = Math.sqrt(this.measuredMs * fasterMs);
    this.isGuess = this.measuredMs > fasterMs * MOST_DIFFERENCE;
  }

  /** A service that counts by the minute has given all of it: what it accepted is its limit. */
  private trustMeasureIfRefusedLong(): void {
    if (this.refusedInARow < LONG_REFUSALS || this.measuredMs === undefined) return;
    this.knownIntervalMs = this.measuredMs;
    this.isGuess = false;
  }

  /** A pace to try. */
  guess(intervalMs: number): void {
    this.forgetPasses();
    this.knownIntervalMs = intervalMs;
    this.isGuess = true;
  }

  /** For a time without submits: the service could have accepted more. The known pace stays until the next refusal. */
  forgetPasses(): void {
    this.countedFrom = undefined;
    this.recent = 0;
  }

  /** The time from one submit to the next; undefined while no pace is known. */
  intervalMs(): number | undefined {
    if (this.knownIntervalMs === undefined) return undefined;
    const known = this.isGuess ? 0 : this.counted;
    const counted = Math.min(Math.max(known, FEWEST_COUNTED_PASSES), MOST_COUNTED_PASSES);
    return this.knownIntervalMs / (1 + (GROWTH * this.recent ** 4) / counted ** 5);
  }

  /** The time from a refusal to the next submit. */
  retryMs(): number | undefined {
    const intervalMs = this.intervalMs();
    if (intervalMs === undefined || intervalMs > MAX_BACKOFF_MS) return undefined;
    return Math.min(intervalMs * Math.min(2 ** (this.refusedInARow - 1), MOST_INTERVALS), MAX_BACKOFF_MS);
  }
}
