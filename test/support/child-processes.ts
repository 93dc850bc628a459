import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_EVERY_MS = 20;

/** A child process, and what it has printed so far. */
export type RunningProcess = ReturnType<ChildProcesses['startProgram']>;

interface ProcessOptions {
  cwd: string;
  env: Record<string, string | undefined>;
}

/** The child processes of a test; `killAll` ends those that still run. */
export class ChildProcesses {
  private readonly running = new Map<ChildProcess, Promise<unknown>>();

  /** Runs a program with this Node. */
  start(args: string[], options: ProcessOptions) {
    return this.startProgram(process.execPath, args, options);
  }

  /** Runs a program. It sees only PATH, HOME and the given variables. */
  startProgram(program: string, args: string[], options: ProcessOptions) {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { PATH: process.env.PATH, HOME: options.cwd, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk;
    });
    const ended = new Promise<number | null>((resolve) => {
      child.once('close', (code) => {
        this.running.delete(child);
        resolve(code);
      });
    });
    this.running.set(child, ended);
    return {
      /** Undefined if it could not be started. */
      pid: child.pid,
      out: () => out,
      err: () => err,
      ended,
      kill: (signal: NodeJS.Signals): void => void child.kill(signal),
    };
  }

  async killAll(): Promise<void> {
    for (const child of this.running.keys()) child.kill('SIGKILL');
    await Promise.all(this.running.values());
  }
}

/** The first match in what a program prints. Fails with all of its output if it ends without one. */
export async function untilPrinted({ out, err, ended }: RunningProcess, pattern: RegExp): Promise<string> {
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  for (;;) {
    const [match] = pattern.exec(out()) ?? [];
    if (match !== undefined) return match;
    if (hasEnded) throw new Error(`it ended without printing ${pattern}: ${out()}${err()}`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** The processes with a text in their command line or their environment. Systems without /proc do not tell. */
export function processesWith(text: string, where: 'cmdline' | 'environ'): string[] {
  if (process.platform !== 'linux') return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => ofProcess(pid, where).includes(text));
}

/** Empty if the process has ended, or is somebody else's. */
export function ofProcess(pid: string, what: 'cmdline' | 'environ'): string {
  try {
    return readFileSync(`/proc/${pid}/${what}`, 'latin1');
  } catch {
    return '';
  }
}
