import { type ChildProcess, spawn } from 'node:child_process';
import { endWithParent, signalGroup } from './end-with-parent';
import { OutputTail } from './output-tail';

export interface ToolRun {
  readonly cwd: string;
  /** PATH of the tool, in which it finds other tools. */
  readonly searchPath?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Stops the tool; the error repeats the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs a program to its end. If it fails, the error contains the last lines that it printed. */
export function runTool(executable: string, args: readonly string[], run: ToolRun): Promise<void> {
  const searchPath = run.searchPath === undefined ? {} : { PATH: run.searchPath };
  const child = spawn(executable, args, {
    cwd: run.cwd,
    env: { ...process.env, ...searchPath, ...run.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // The tool may be a wrapper, so whatever it starts ends with it. Ctrl-C goes only to our process, which decides.
    // Windows has no process groups and would open a console.
    detached: process.platform !== 'win32',
  });
  endWithParent(child);
  let timedOut = false;
  const stop = () => signalGroup(child, 'SIGKILL');
  const timer = setTimeout(() => {
    timedOut = true;
    stop();
  }, run.timeoutMs);
  if (run.signal?.aborted) stop();
  run.signal?.addEventListener('abort', stop, { once: true });
  const output = new OutputTail();
  child.stdout.on('data', (chunk: Buffer) => output.add(chunk));
  child.stderr.on('data', (chunk: Buffer) => output.add(chunk));
  return new Promise<void>((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`${executable} did not start: ${error.message}`)));
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${executable} ${howItEnded(child, run, timedOut)}: ${output}`));
    });
  }).finally(() => {
    clearTimeout(timer);
    run.signal?.removeEventListener('abort', stop);
  });
}

function howItEnded(child: ChildProcess, { signal, timeoutMs }: ToolRun, timedOut: boolean): string {
  if (signal?.aborted) return `was stopped because ${signal.reason}`;
  if (timedOut) return `was stopped after ${Math.round(timeoutMs / 6_000) / 10} minutes`;
  return child.signalCode === null ? `ended with code ${child.exitCode}` : `was ended by ${child.signalCode}`;
}
