import { type Screen, type Terminal, writeTo } from '../../src/cli/terminal';

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
  readonly outTable = this.streams.outTable;
  private readonly callbacks = new Set<() => void>();

  constructor(
    readonly env: Record<string, string | undefined> = {},
    private readonly width?: number,
    private readonly height?: number,
    /** The screen of standard output; without it, standard output is a pipe. */
    readonly screen?: Screen,
  ) {}

  readonly outScreen = () => this.screen;

  columns(): number | undefined {
    return this.width;
  }

  rows(): number | undefined {
    return this.height;
  }

  /** What the person answers; without it, there is nobody to ask. */
  answer: string | undefined;
  readonly questions: string[] = [];

  canAsk(): boolean {
    return this.answer !== undefined;
  }

  async ask(question: string): Promise<string> {
    this.questions.push(question);
    return this.answer ?? '';
  }

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
