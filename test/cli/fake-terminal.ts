import { type Terminal, writeTo } from '../../src/cli/terminal';

/** A terminal that records its output and can be interrupted. */
export class FakeTerminal implements Terminal {
  stdout = '';
  stderr = '';
  private readonly streams = writeTo({
    writeOut: (text) => {
      this.stdout += text;
    },
    writeErr: (text) => {
      this.stderr += text;
    },
  });
  readonly out = this.streams.out;
  readonly err = this.streams.err;
  readonly control = this.streams.control;
  private readonly callbacks = new Set<() => void>();

  constructor(
    readonly env: Record<string, string | undefined> = {},
    readonly isTerminal = false,
    readonly isOutTerminal = false,
  ) {}

  isOutClosed(): boolean {
    return false;
  }

  onInterrupt(callback: () => void): () => unknown {
    this.callbacks.add(callback);
    return () => this.callbacks.delete(callback);
  }

  interrupt(): void {
    for (const callback of this.callbacks) callback();
  }

  /** The number of listeners for Ctrl-C. */
  get listeners(): number {
    return this.callbacks.size;
  }
}
