import type { Terminal } from '../../src/cli/terminal';

/** A terminal that keeps what is written and is interrupted on demand. */
export class FakeTerminal implements Terminal {
  stdout = '';
  stderr = '';
  private readonly callbacks = new Set<() => void>();

  constructor(
    readonly env: Record<string, string | undefined> = {},
    private readonly width?: number,
    private readonly height?: number,
  ) {}

  out(text: string): void {
    this.stdout += `${text}\n`;
  }

  err(text: string): void {
    this.stderr += text;
  }

  columns(): number | undefined {
    return this.width;
  }

  rows(): number | undefined {
    return this.height;
  }

  onInterrupt(callback: () => void): () => unknown {
    this.callbacks.add(callback);
    return () => this.callbacks.delete(callback);
  }

  interrupt(): void {
    for (const callback of this.callbacks) callback();
  }

  /** How many wait for a Ctrl-C. */
  get listeners(): number {
    return this.callbacks.size;
  }
}
