import { printable } from '../contract/clean-text';
import { errorCode } from '../contract/errors';

/** As shells count a program that was left by Ctrl-C. */
export const INTERRUPTED = 130;

/** The code of a command that did its work and could not print its result: as for any fault of the machine. */
const NOT_PRINTED = 1;

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

export const CLEAR_LINE = '\r\u001b[K';

/** Shows a line in the place of the last one, an empty one to end with; undefined where nothing can be shown in place. */
export function redrawOn(terminal: Terminal): ((line: string) => void) | undefined {
  if (terminal.columns() === undefined) return undefined;
  return (line) => {
    terminal.steer(CLEAR_LINE);
    terminal.err(line.slice(0, (terminal.columns() ?? 1) - 1));
  };
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

/** The terminal of a process, which knows at its end whether all results were printed. */
export interface ProcessTerminal extends Terminal {
  /** The code to end with, once everything is written: that of the command, unless its result could not be printed. */
  end(code: number): Promise<number>;
}

export function processTerminal(): ProcessTerminal {
  const callbacks = new Set<() => void>();
  let interrupted = false;
  const interrupt = () => {
    // The second time the caller means it. exit() still ends the servers that run beside us; a plain kill would not.
    if (interrupted) process.exit(INTERRUPTED);
    interrupted = true;
    for (const callback of callbacks) callback();
  };
  let lastWrite: Promise<unknown> = Promise.resolve();
  let problem: Error | undefined;
  const writeOut = (text: string) => {
    lastWrite = new Promise<void>((resolve) => {
      process.stdout.write(text, (error) => {
        // Whoever read it may leave, as `head` does: nobody is there to be told then.
        if (error && errorCode(error) !== 'EPIPE') problem ??= error;
        resolve();
      });
    });
  };
  // What cannot be printed is told at the end, if it was a result: the job is not to end for it.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  return {
    env: process.env,
    ...writeTo({ writeOut, writeErr: (text) => void process.stderr.write(text) }),
    end: async (code) => {
      await lastWrite;
      if (problem === undefined) return code;
      process.stderr.write(
        printable(`The result could not be written to standard output: ${problem.message}.\n`),
      );
      return code === 0 ? NOT_PRINTED : code;
    },
    columns: () => (process.stderr.isTTY ? process.stderr.columns : undefined),
    rows: () => (process.stderr.isTTY ? process.stderr.rows : undefined),
    onInterrupt: (callback) => {
      if (interrupted) callback();
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
  };
}
