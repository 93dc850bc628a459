import { type ChildProcess, spawn } from 'node:child_process';

/** A child process, and what it has printed so far. */
export interface RunningProcess {
  /** Undefined if it could not be started. */
  pid: number | undefined;
  out(): string;
  err(): string;
  ended: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
}

interface ProcessOptions {
  cwd: string;
  env: Record<string, string | undefined>;
}

/** The child processes of a test; `killAll` ends those that still run. */
export class ChildProcesses {
  private readonly running = new Map<ChildProcess, Promise<unknown>>();

  /** Runs a program with this Node. */
  start(args: string[], options: ProcessOptions): RunningProcess {
    return this.startProgram(process.execPath, args, options);
  }

  /** Runs a program. It sees only PATH, HOME and the given variables. */
  startProgram(program: string, args: string[], options: ProcessOptions): RunningProcess {
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
      pid: child.pid,
      out: () => out,
      err: () => err,
      ended,
      kill: (signal) => void child.kill(signal),
    };
  }

  async killAll(): Promise<void> {
    for (const child of this.running.keys()) child.kill('SIGKILL');
    await Promise.all(this.running.values());
  }
}
