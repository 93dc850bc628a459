type Close = () => Promise<unknown>;

/** Closes resources in reverse order of opening. */
export class Closers {
  private readonly pending: Close[];

  constructor(...first: Close[]) {
    this.pending = first;
  }

  add(close: Close): void {
    this.pending.push(close);
  }

  /** Closes everything once. A failure does not stop the rest. */
  async close(): Promise<void> {
    for (let close = this.pending.pop(); close; close = this.pending.pop())
      await close().catch(() => undefined);
  }
}
