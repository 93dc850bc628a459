import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { Socket } from 'node:net';

/** Standard input closes when the parent dies, however it dies. A child that leads no group is signalled alone. */
const KILL_WHEN_INPUT_CLOSES = 'read -r line; kill -TERM "-$1" 2>/dev/null || kill -TERM "$1"';

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
// The dev server closes its database within two seconds. One that needs longer than this is stuck.
export const STOP_GRACE_MS = 10_000;

export interface ServerProcessOptions {
  /** The server's output is appended to this file. */
  readonly logFile?: string | undefined;
  /** Whether Ctrl-C ends the server too. By default it has a process group of its own, and we end it when we are done. */
  readonly receivesCtrlC?: boolean;
}

/** A child process that runs a server. It ends on request or with our process, and does not keep our process alive. */
export class ServerProcess {
  /** Settles when the process has ended and all of its output is in the log. */
  private readonly ended: Promise<void>;
  private readonly output: OutputTail;
  private failure: string | undefined;

  static async start(
    executable: string,
    args: readonly string[],
    { logFile, receivesCtrlC = false }: ServerProcessOptions = {},
  ): Promise<ServerProcess> {
    const log = logFile === undefined ? undefined : (await open(logFile, 'a', 0o600)).createWriteStream();
    const child = spawn(executable, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: !receivesCtrlC });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => log?.write(chunk));
    // A full disk costs the log, not the server.
    log?.on('error', () => undefined);
    const logged = () => new Promise<void>((resolve) => (log ? log.end(() => resolve()) : resolve()));
    return new ServerProcess(child, logged);
  }

  private constructor(
    private readonly child: ChildProcess,
    logged: () => Promise<void>,
  ) {
    this.output = new OutputTail(child);
    child.once('error', (error) => {
      this.failure = error.message;
    });
    this.ended = new Promise((resolve) => {
      child.once('close', () => void logged().then(resolve));
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
    if (isReady && this.isRunning()) {
      for (const handle of this.handles()) handle.unref();
      return undefined;
    }
    const why = this.isRunning() ? `was not ready after ${START_TIMEOUT_MS / 1_000} s: ${this.output}` : '';
    await this.end('SIGKILL');
    return why || this.howItEnded();
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    for (const handle of this.handles()) handle.ref();
    this.child.kill(signal);
    const giveUp = setTimeout(() => this.child.kill('SIGKILL'), STOP_GRACE_MS);
    await this.ended;
    clearTimeout(giveUp);
  }

  private isRunning(): boolean {
    return this.child.pid !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  private howItEnded(): string {
    if (this.failure !== undefined) return `did not start: ${this.failure}`;
    return `ended with ${this.child.signalCode ?? `code ${this.child.exitCode}`}: ${this.output}`;
  }

  private handles(): (ChildProcess | Socket)[] {
    const sockets = [this.child.stdout, this.child.stderr].filter((stream) => stream instanceof Socket);
    return [this.child, ...sockets];
  }
}
