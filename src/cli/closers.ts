type Close = () => Promise<unknown>;

/** Closes resources in reverse order of opening. */
export class Closers {
  private readonly pending: Close[] = [];

  add(close: Close): void {
    this.pending.push(close);
  }

  /** Closes everything once. A failure does not stop the rest. */
  async close(): Promise<void> {
    for (let close = this.pending.pop(); close; close = this.pending.pop())
      await close().catch(() => undefined);
  }
}

/** Opens something. If that fails, what was opened until then is closed. */
export async function closingOnError<T>(open: (closers: Closers) => Promise<T>): Promise<T> {
  const closers = new Closers();
  try {
    return await open(closers);
  } catch (error) {
    await closers.close();
    throw error;
  }
}
