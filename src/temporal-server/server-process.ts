import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { endWithParent } from './end-with-parent';
import { OutputTail } from './output-tail';

// The dev server closes its database within two seconds. One that needs longer than this is stuck.
const STOP_GRACE_MS = 10_000;

export interface ServerProcessOptions {
  /** The server's output is appended to this file. */
  readonly logFile?: string | undefined;
  /** Whether Ctrl-C ends the server too. By default it has a process group of its own, and we end it when we are done. */
  readonly receivesCtrlC?: boolean;
}

/** A child process that runs a server. It ends on request or with our process, and does not keep our process alive. */
export class ServerProcess {
  readonly output = new OutputTail();
  /** Settles when the process has ended and all of its output is in `output` and in the log. */
  readonly ended: Promise<void>;
  private failure: string | undefined;

  private constructor(
    private readonly child: ChildProcess,
    log: Writable | undefined,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.output.add(chunk);
        log?.write(chunk);
      });
    }
    // A full disk costs the log, not the server.
    log?.on('error', () => undefined);
    child.once('error', (error) => {
      this.failure = error.message;
    });
    this.ended = new Promise((resolve) => {
      child.once('close', () => {
        if (log === undefined) resolve();
        else log.end(() => resolve());
      });
    });
    endWithParent(child);
  }

  static async start(
    executable: string,
    args: readonly string[],
    { logFile, receivesCtrlC = false }: ServerProcessOptions = {},
  ): Promise<ServerProcess> {
    const log = logFile === undefined ? undefined : (await open(logFile, 'a', 0o600)).createWriteStream();
    const child = spawn(executable, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: !receivesCtrlC });
    return new ServerProcess(child, log);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.child.pid !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  howItEnded(): string {
    if (this.failure !== undefined) return `did not start: ${this.failure}`;
    const how = this.child.signalCode ?? `code ${this.child.exitCode}`;
    return `ended with ${how}: ${this.output}`;
  }

  /** Lets our process end while this one runs. */
  unref(): void {
    for (const handle of this.handles()) handle.unref();
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    for (const handle of this.handles()) handle.ref();
    this.child.kill(signal);
    const giveUp = setTimeout(() => this.child.kill('SIGKILL'), STOP_GRACE_MS);
    await this.ended;
    clearTimeout(giveUp);
  }

  private handles(): (ChildProcess | Socket)[] {
    const sockets = [this.child.stdout, this.child.stderr].filter((stream) => stream instanceof Socket);
    return [this.child, ...sockets];
  }
}
