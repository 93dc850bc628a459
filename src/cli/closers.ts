type Close = () => Promise<unknown>;

/** What has to be closed again, last opened first. */
export class Closers {
  private readonly pending: Close[];

  constructor(...first: Close[]) {
    this.pending = first;
  }

  add(close: Close): void {
    this.pending.push(close);
  }

  /** Closes everything once; what fails to close does not keep the rest open. */
  async close(): Promise<void> {
    for (let close = this.pending.pop(); close; close = this.pending.pop())
      await close().catch(() => undefined);
  }
}
