import { printable } from '../contract/clean-text';
import { errorCode } from '../contract/errors';

/** As shells count a program that was left by Ctrl-C. */
export const INTERRUPTED = 130;

/** Where a command reads and writes. Others choose many of the words: nothing in `out` and `err` steers the screen. */
export interface Terminal {
  env: Record<string, string | undefined>;
  /** Results: what a program reads. */
  out(text: string): void;
  /** Everything else: what a person reads. */
  err(text: string): void;
  /** Moves the cursor behind `err`, or clears lines. */
  steer(sequence: string): void;
  /** Width of the screen behind `err`, or undefined when it is a pipe or a file. */
  columns(): number | undefined;
  /** Its height. */
  rows(): number | undefined;
  /** Calls back at the first Ctrl-C or SIGTERM; the answer takes the callback back. */
  onInterrupt(callback: () => void): () => unknown;
}

/** One line for the person at the terminal. */
export function tell(terminal: Terminal, line: string): void {
  terminal.err(`${line}\n`);
}

/** What writes for a terminal: the process's own streams, or a test's. */
export interface Streams {
  writeOut(text: string): void;
  writeErr(text: string): void;
}

/** The last rateLimiter before a screen: all that commands write goes through it. */
export function writeTo({ writeOut, writeErr }: Streams): Pick<Terminal, 'out' | 'err' | 'steer'> {
  return {
    out: (text) => writeOut(`${printable(text)}\n`),
    err: (text) => writeErr(printable(text)),
    steer: writeErr,
  };
}

export function processTerminal(): Terminal {
  const callbacks = new Set<() => void>();
  let interrupted = false;
  const interrupt = () => {
    // The second time the caller means it. exit() still ends the servers that run beside us; a plain kill would not.
    if (interrupted) process.exit(INTERRUPTED);
    interrupted = true;
    for (const callback of callbacks) callback();
  };
  // Whoever read it may leave, as `head` does: nothing is there to be told then, and the job is nobody's to end.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error) => {
      if (errorCode(error) !== 'EPIPE') throw error;
    });
  }
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  return {
    env: process.env,
    ...writeTo({
      writeOut: (text) => void process.stdout.write(text),
      writeErr: (text) => void process.stderr.write(text),
    }),
    columns: () => (process.stderr.isTTY ? process.stderr.columns : undefined),
    rows: () => (process.stderr.isTTY ? process.stderr.rows : undefined),
    onInterrupt: (callback) => {
      if (interrupted) callback();
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
  };
}
