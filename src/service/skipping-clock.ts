/** The machine's clock plus the time that time-skipping servers have skipped since each was first asked. */
export class SkippingClock {
  private skippedMs = 0;
  /** How far each server's clock is ahead of the machine's. */
  private readonly aheadMs = new WeakMap<object, number>();

  constructor(private readonly machine: () => number) {}

  now(): number {
    return this.machine() + this.skippedMs;
  }

  /** Compares a server's clock with what it showed before. A slow answer can shorten a pause, but never lengthen it. */
  async follow(server: object, readClock: () => Promise<number>): Promise<void> {
    const askedAt = this.machine();
    const serverMs = await readClock();
    const known = this.aheadMs.get(server);
    if (known === undefined) {
      this.aheadMs.set(server, serverMs - this.machine());
    } else if (serverMs - askedAt > known) {
      this.skippedMs += serverMs - askedAt - known;
      this.aheadMs.set(server, serverMs - askedAt);
    }
  }
}
