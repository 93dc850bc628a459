/** More passes than this make the estimate no better, and a lifted limit would be noticed late. */
const MOST_COUNTED_PASSES = 30;
/** When fewer passes than this share came between two refusals, the limit has changed: older ones no longer count. */
const CHANGED_SHARE = 1 / 4;
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
  private counted = 0;
  private recent = 0;
  private knownIntervalMs: number | undefined;

  recordPass(): void {
    this.recent += 1;
  }

  recordRefusal(now: number): void {
    const intervalMs = this.intervalMs();
    this.counted += this.recent;
    if (this.countedFrom === undefined) {
      this.countedFrom = now;
      this.counted = 0;
    } else if (this.recent < this.counted * CHANGED_SHARE) {
      this.countedFrom = this.refusedAt;
      this.counted = this.recent;
    }
    this.refusedAt = now;
    this.recent = 0;
    const measuredMs = this.counted > 0 ? (now - this.countedFrom) / this.counted : undefined;
    // A service that saves up nothing accepted less than it could while the pace was slow: the pace that it refused counts too.
    this.knownIntervalMs =
      measuredMs && Math.cbrt(measuredMs ** 2 * Math.min(measuredMs, intervalMs ?? measuredMs));
  }

  /** For a time without submits: the service could have accepted more. The known pace stays until the next refusal. */
  forgetPasses(): void {
    this.countedFrom = undefined;
    this.recent = 0;
  }

  /** The time from one submit to the next; undefined while no pace is known. */
  intervalMs(): number | undefined {
    if (this.knownIntervalMs === undefined) return undefined;
    const counted = Math.min(this.counted, MOST_COUNTED_PASSES);
    return this.knownIntervalMs / (1 + (GROWTH * this.recent ** 4) / counted ** 5);
  }
}
