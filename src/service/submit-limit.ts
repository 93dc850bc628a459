import { RETRY_AFTER_MAX_MS } from '../contract/policies';
import {
  boundedRetryAfterMs,
  type CallOutcome,
  createPermit,
  MAX_BACKOFF_MS,
  MIN_BACKOFF_MS,
  type Permit,
} from './permit';
import { SubmitPace } from './submit-pace';

/** The wait for a permit while another submit holds it: about as long as a POST takes. */
const BUSY_WAIT_MS = 1_000;
/** After this many concurrent submits without a refusal, the limit is removed. */
const UNLIMITED_FROM = 16;
/** More free slots than submits use up before the next refusal or probe. */
const MAX_FREE_SLOTS = 100;
/**
 * The pauses before the probes. They are few, because at a service that limits how many tasks run at once every probe before
 * the end of a task is refused. The first three end within half a minute; the fourth ends a minute after the first refusal,
 * when a service that limits submits by the minute has room again.
 */
const BACKOFFS_MS = [MIN_BACKOFF_MS, 4_000, 16_000, 40_000, MAX_BACKOFF_MS] as const;
/** A new process takes one submit at a time at first, and one more for each of this many that passed. */
const PASSES_PER_SUBMIT_AT_ONCE = 4;
/** And one more for each of these: about as long as a POST takes. */
const START_STEP_MS = 1_000;
/** How far the outcomes of submits for free slots count, so that a changed service is noticed. */
const MOST_SLOT_TRUST = 4;
/** Without a submit for this long, although one was allowed, there was nothing to submit. */
const IDLE_MS = 2_000;

/**
 * `open` has no limit. `full` permits one submit at a time: for a slot that an ended task has freed, or as a probe after
 * the backoff. `ramping` follows a probe that passed, and doubles with each submit that passes. `paced` follows a refusal
 * when it is known how many submits the service accepts in a time.
 */
type Mode =
  | { name: 'open'; since: number }
  | { name: 'ramping'; allowance: number }
  | { name: 'full'; since: number; notBefore: number; probeAt: number; freeSlots: number }
  | { name: 'paced'; since: number; notBefore: number; probeAt: number };

/** Why a submit was permitted. */
type PermitReason = 'open' | 'ramping' | 'free-slot' | 'probe' | 'paced';

/** What one process knows about the service's limit for submits: on tasks at once, or on submits in a time. */
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
  /** Above 0 when ended tasks make room for submits, below 0 when they do not: then the limit is a rate. */
  private slotTrust = 0;

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
        return this.untilNextChangeMs() === undefined ? 1 : 0;
      case 'paced':
        return this.untilNextChangeMs() === undefined ? this.running + 1 : this.running;
    }
  }

  /** How many submits a worker may take from Temporal: few at first, since all that exceed a limit are refused together. */
  workerAllowance(): number {
    return Math.min(this.startAllowance() ?? Number.POSITIVE_INFINITY, this.allowance());
  }

  /** Milliseconds until time alone changes workerAllowance; undefined when it does not. */
  untilWorkerChangeMs(): number | undefined {
    if (this.startAllowance() === undefined || this.running === 0) return this.untilNextChangeMs();
    return START_STEP_MS - ((this.clock() - this.startedAt) % START_STEP_MS);
  }

  /** How many submits a new process runs at once. It grows with time too: a slow answer must not hold up the others. */
  private startAllowance(): number | undefined {
    if (this.refusals > 0) return undefined;
    const bySubmits = Math.floor(this.passes / PASSES_PER_SUBMIT_AT_ONCE);
    const byTime = 1 + Math.floor((this.clock() - this.startedAt) / START_STEP_MS);
    const atOnce = this.passes + this.running === 0 ? 1 : Math.max(bySubmits, byTime);
    return atOnce < UNLIMITED_FROM ? atOnce : undefined;
  }

  untilNextChangeMs(): number | undefined {
    if (this.mode.name !== 'full' && this.mode.name !== 'paced') return undefined;
    const { notBefore, probeAt } = this.mode;
    const waitMs = Math.ceil((this.hasFreeSlot() ? notBefore : probeAt) - this.clock());
    return waitMs > 0 ? waitMs : undefined;
  }

  recordTaskEnd(): void {
    if (this.mode.name !== 'full') return;
    this.mode.freeSlots = Math.min(this.mode.freeSlots + 1, MAX_FREE_SLOTS);
    this.onChange();
  }

  private hasFreeSlot(): boolean {
    return this.mode.name === 'full' && this.mode.freeSlots > 0;
  }

  private takePermit(): PermitReason {
    const now = this.clock();
    if (this.mode.name === 'open' || this.mode.name === 'ramping') {
      if (now - this.lastSubmitAt > IDLE_MS) this.pace.forgetPasses();
      return this.mode.name;
    }
    if (this.mode.name === 'full' && this.mode.freeSlots > 0) {
      this.mode.freeSlots -= 1;
      return 'free-slot';
    }
    if (now - Math.max(this.mode.probeAt, this.lastSubmitAt) > IDLE_MS) this.pace.forgetPasses();
    if (this.mode.name === 'full') return 'probe';
    // A limit that has not refused anything for long may be gone.
    if (now - this.mode.since > RETRY_AFTER_MAX_MS) return 'probe';
    const intervalMs = this.pace.intervalMs() ?? this.backoffMs();
    // A permit taken late does not slow the pace, but those missed are not made up for all at once.
    this.mode.probeAt = Math.max(this.mode.probeAt, now - intervalMs) + intervalMs;
    return 'paced';
  }

  private recordOutcome(outcome: CallOutcome, reason: PermitReason): void {
    if (outcome.kind === 'passed') this.recordPass(reason);
    else if (outcome.kind === 'limited') this.recordRefusal(boundedRetryAfterMs(outcome) ?? 0, reason);
    else if (reason === 'free-slot') this.recordTaskEnd();
  }

  private recordPass(reason: PermitReason): void {
    this.countPass();
    if (reason === 'free-slot') this.trustSlots(1);
    if (reason === 'probe') {
      this.refusedProbes = Math.max(0, this.refusedProbes - 1);
      this.mode = { name: 'ramping', allowance: 1 };
    } else if (this.mode.name === 'ramping') {
      this.mode.allowance *= 2;
      if (this.mode.allowance < UNLIMITED_FROM) return;
      this.mode = { name: 'open', since: this.clock() };
    } else if (this.mode.name === 'full') {
      // While free slots are refilled a probe would be refused, but in the end it must find out that a limit is gone.
      this.mode.probeAt = Math.min(this.clock() + this.backoffMs(), this.mode.since + RETRY_AFTER_MAX_MS);
    }
  }

  private countPass(): void {
    this.passes += 1;
    this.pace.recordPass();
  }

  private recordRefusal(retryAfterMs: number, reason: PermitReason): void {
    const now = this.clock();
    this.refusals += 1;
    // Another client may have taken the free slot, or the limit is a rate.
    if (reason === 'free-slot') this.trustSlots(-2);
    // Five submits reopen the limiter at a service that was empty for a moment; its limit is still there.
    const wasOpenLong = this.mode.name === 'open' && now - this.mode.since >= MAX_BACKOFF_MS;
    if (wasOpenLong) {
      this.refusedProbes = 0;
      this.pace.forgetPasses();
    } else if (reason !== 'free-slot') {
      this.refusedProbes += 1;
    }
    this.pace.recordRefusal(now);
    const intervalMs = this.pace.intervalMs();
    const isPaced = intervalMs !== undefined && intervalMs <= MAX_BACKOFF_MS && this.slotTrust <= 0;
    if (isPaced) this.refusedProbes = 0;
    else this.slotTrust = Math.max(0, this.slotTrust);
    const wait = (waitMs: number) => ({
      since: now,
      notBefore: now + retryAfterMs,
      probeAt: now + Math.max(retryAfterMs, waitMs),
    });
    this.mode = isPaced
      ? { name: 'paced', ...wait(intervalMs) }
      : { name: 'full', ...wait(this.backoffMs()), freeSlots: 0 };
  }

  private backoffMs(): number {
    return BACKOFFS_MS[Math.min(this.refusedProbes, BACKOFFS_MS.length - 1)] ?? MAX_BACKOFF_MS;
  }

  private trustSlots(change: number): void {
    this.slotTrust = Math.max(-MOST_SLOT_TRUST, Math.min(this.slotTrust + change, MOST_SLOT_TRUST));
  }

  /** For a call that began before the last refusal: its refusal is the same one, but its Retry-After counts. */
  private recordLateOutcome(outcome: CallOutcome): void {
    if (outcome.kind === 'passed') this.countPass();
    if (outcome.kind !== 'limited' || this.mode.name === 'open' || this.mode.name === 'ramping') return;
    this.mode.notBefore = Math.max(this.mode.notBefore, this.clock() + (boundedRetryAfterMs(outcome) ?? 0));
    this.mode.probeAt = Math.max(this.mode.probeAt, this.mode.notBefore);
  }
}
