/** The longest that free capacity stays unused because no answer has shown it yet. */
export const MAX_BACKOFF_MS = 60_000;
/** This many refusals in a row mean that the service has nothing left for some time. */
export const LONG_REFUSALS = 4;
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
export class SubmitPace {
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
