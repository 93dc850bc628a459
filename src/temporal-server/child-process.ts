import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { Socket } from 'node:net';
import { devNull } from 'node:os';

/**
 * Standard input closes when the parent dies, however it dies. A child that leads no group is signalled alone. SIGKILL, so that a server
 * frees its database at once: the next command may open it.
 */
const KILL_WHEN_INPUT_CLOSES = 'read -r line; kill -KILL "-$1" 2>/dev/null || kill -KILL "$1"';

/**
 * Ends a child process, and its process group if it leads one, with its parent. An exit hook covers a parent that ends by itself or by
 * process.exit(). A killed parent runs no hooks, so a shell watches it where there is one.
 */
export function endWithParent(child: ChildProcess): void {
  const watcher = child.pid === undefined ? undefined : watchParent(child.pid);
  const dismiss = () => watcher?.kill('SIGKILL');
  const end = () => {
    dismiss();
    signalGroup(child, 'SIGTERM');
  };
  process.once('exit', end);
  child.once('close', () => {
    process.off('exit', end);
    dismiss();
  });
  // Another process may get this pid soon.
  child.once('exit', dismiss);
}

/** Signals the process group that a child leads; the child alone if it leads none, as on Windows. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    child.kill(signal);
  }
}

function watchParent(pid: number): ChildProcess {
  const watcher = spawn('sh', ['-c', KILL_WHEN_INPUT_CLOSES, 'sh', `${pid}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Ctrl-C goes only to our process, which decides what ends.
    detached: true,
  });
  for (const handle of [watcher, watcher.stdin]) {
    handle?.on('error', () => undefined);
    if (handle === watcher || handle instanceof Socket) handle.unref();
  }
  return watcher;
}

const TAIL_LINES = 8;
const TAIL_CHARACTERS = 2_000;

/** The last lines that a process printed. They usually say why it ended. */
export class OutputTail {
  private text = '';

  constructor({ stdout, stderr }: ChildProcess) {
    for (const stream of [stdout, stderr]) stream?.on('data', (chunk: Buffer) => this.add(chunk));
  }

  toString(): string {
    const lines = this.text.split('\n').map((line) => line.trim());
    return lines.filter((line) => line !== '').join(' | ') || '(it printed nothing)';
  }

  private add(chunk: Buffer): void {
    const lines = `${this.text}${chunk}`.split('\n').slice(-TAIL_LINES);
    this.text = lines.join('\n').slice(-TAIL_CHARACTERS);
  }
}

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
export async function runTool(executable: string, args: readonly string[], run: ToolRun): Promise<void> {
  const timeout = AbortSignal.timeout(run.timeoutMs);
  const stopped = run.signal === undefined ? timeout : AbortSignal.any([run.signal, timeout]);
  const child = spawn(executable, args, {
    cwd: run.cwd,
    env: { ...process.env, ...(run.searchPath !== undefined && { PATH: run.searchPath }), ...run.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // The tool may be a wrapper, so whatever it starts ends with it. Ctrl-C goes only to our process, which decides.
    // Windows has no process groups and would open a console.
    detached: process.platform !== 'win32',
  });
  endWithParent(child);
  const output = new OutputTail(child);
  const stop = () => signalGroup(child, 'SIGKILL');
  if (stopped.aborted) stop();
  stopped.addEventListener('abort', stop, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('error', (error) => reject(new Error(`${executable} did not start: ${error.message}`)));
      child.once('close', (code, signal) => {
        if (code === 0) return resolve();
        const how = stopped.aborted
          ? `was stopped because ${timeout.aborted ? `it took more than ${run.timeoutMs / 1_000} s` : stopped.reason}`
          : `ended with ${signal ?? `code ${code}`}`;
        reject(new Error(`${executable} ${how}: ${output}`));
      });
    });
  } finally {
    stopped.removeEventListener('abort', stop);
  }
}

// A start takes one second, or several on a busy machine. After this long, waiting does not help.
const START_TIMEOUT_MS = 60_000;

/** A child process that runs a server. It ends on request or with our process, and does not keep our process alive. */
export class ServerProcess {
  private readonly child: ChildProcess;
  /** Settles when the process has ended and all of its output is in the log. */
  private readonly ended: Promise<void>;
  private readonly output: OutputTail;
  private failure: string | undefined;

  /** Ctrl-C goes only to our process, which ends the server when it is done. The server's output is appended to `logFile`. */
  constructor(executable: string, args: readonly string[], logFile?: string) {
    const child = spawn(executable, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const log = createWriteStream(logFile ?? devNull, { flags: 'a', mode: 0o600 });
    // A full disk costs the log, not the server.
    log.on('error', () => undefined);
    for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
    child.once('error', (error) => {
      this.failure = error.message;
    });
    this.child = child;
    this.output = new OutputTail(child);
    this.ended = new Promise((resolve) => {
      child.once('close', () => log.end(() => resolve()));
    });
    endWithParent(child);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Waits until the server is ready, and then lets our process end without it. If it does not get ready, ends it and says why. */
  async whyNotReady(untilReady: (signal: AbortSignal) => Promise<void>): Promise<string | undefined> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), START_TIMEOUT_MS);
    const ready = untilReady(limit.signal).then(
      () => true,
      () => false,
    );
    const isReady = await Promise.race([ready, this.ended.then(() => false)]);
    clearTimeout(timer);
    limit.abort();
    const isRunning = this.child.exitCode === null && this.child.signalCode === null;
    if (isReady && isRunning) {
      for (const handle of this.handles()) handle.unref();
      return undefined;
    }
    await this.end();
    if (this.failure !== undefined) return `did not start: ${this.failure}`;
    return isRunning
      ? `was not ready after ${START_TIMEOUT_MS / 1_000} s: ${this.output}`
      : `ended with ${this.child.signalCode ?? `code ${this.child.exitCode}`}: ${this.output}`;
  }

  /** By SIGKILL: all that a server has accepted is on disk, and SIGTERM would wait two seconds for its own pollers. */
  async end(): Promise<void> {
    for (const handle of this.handles()) handle.ref();
    this.child.kill('SIGKILL');
    await this.ended;
  }

  private handles(): (ChildProcess | Socket)[] {
    const sockets = [this.child.stdout, this.child.stderr].filter((stream) => stream instanceof Socket);
    return [this.child, ...sockets];
  }
}
