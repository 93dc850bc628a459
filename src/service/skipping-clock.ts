/** The machine's clock, plus what servers that skip time have skipped since they were first asked for theirs. */
export class SkippingClock {
  private skippedMs = 0;
  /** How far each server's clock is ahead of the machine's. */
  private readonly aheadMs = new WeakMap<object, number>();

  constructor(private readonly machine: () => number) {}

  now(): number {
    return this.machine() + this.skippedMs;
  }

  /** Compares a server's clock with what it showed before. An answer that takes long never makes a pause look longer. */
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
