import { printable } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';

/** Exit codes besides those of the failure table. */
export const EXIT = {
  ok: 0,
  /** A bug, an error of the machine, or a result that could not be printed. */
  unexpected: 1,
  /** The same code as a refused request. */
  usage: 2,
  noTemporal: 19,
  /** Some items of a batch failed. */
  someFailed: 21,
  /** That of shells for a program that was stopped by Ctrl-C. */
  interrupted: 130,
} as const;

/** A command's input and output. Others choose much of the text, so `out` and `err` remove control characters. */
export interface Terminal {
  env: Record<string, string | undefined>;
  /** Prints a result, for programs. */
  out(text: string): void;
  /** Prints everything else, for people. */
  err(text: string): void;
  /** Writes to the screen of `err` what contains control sequences. */
  control(sequence: string): void;
  /** Whether `err` goes to a screen, and not to a pipe or a file. */
  isTerminal: boolean;
  /** The same of `out`. */
  isOutTerminal: boolean;
  /** Whether the reader of `out` is gone, as `head` is after its lines. */
  isOutClosed(): boolean;
  /** Calls back on the first Ctrl-C or SIGTERM. The returned function removes the callback. */
  onInterrupt(callback: () => void): () => unknown;
}

/** Prints a line for the person at the terminal. */
export function printLine(terminal: Terminal, line: string): void {
  terminal.err(`${line}\n`);
}

/** The streams of a terminal: the process's own, or a test's. */
export interface Streams {
  writeOut(text: string): void;
  writeErr(text: string): void;
}

/** All output of commands passes here, so that no control character of others reaches the screen. */
export function writeTo({ writeOut, writeErr }: Streams): Pick<Terminal, 'out' | 'err' | 'control'> {
  return {
    out: (text) => writeOut(`${printable(text)}\n`),
    err: (text) => writeErr(printable(text)),
    control: writeErr,
  };
}

/** The terminal of a process, which knows whether all results were printed. */
interface ProcessTerminal extends Terminal {
  /** Waits until everything is written. Returns the command's code, or another if its result could not be printed. */
  end(code: number): Promise<number>;
}

export function processTerminal(): ProcessTerminal {
  const callbacks = new Set<() => void>();
  let interrupted = false;
  const interrupt = () => {
    // The second Ctrl-C exits at once. exit() still ends our child servers; a plain kill would not.
    if (interrupted) process.exit(EXIT.interrupted);
    interrupted = true;
    for (const callback of callbacks) callback();
  };
  let lastWrite: Promise<unknown> = Promise.resolve();
  let problem: Error | undefined;
  let isOutClosed = false;
  const writeOut = (text: string) => {
    lastWrite = new Promise<void>((resolve) => {
      process.stdout.write(text, (error) => {
        // A reader such as `head` may close the pipe. That is not an error.
        if (error && errorCode(error) === 'EPIPE') isOutClosed = true;
        else if (error) problem ??= error;
        resolve();
      });
    });
  };
  // A failed write must not end the job. A lost result is reported at the end.
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
      return code || EXIT.unexpected;
    },
    isTerminal: process.stderr.isTTY === true,
    isOutTerminal: process.stdout.isTTY === true,
    isOutClosed: () => isOutClosed,
    onInterrupt: (callback) => {
      if (interrupted) callback();
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
  };
}

export function untilInterrupted(terminal: Pick<Terminal, 'onInterrupt'>): Promise<void> {
  return new Promise((resolve) => {
    terminal.onInterrupt(resolve);
  });
}
