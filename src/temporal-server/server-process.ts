import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { endWithParent } from './end-with-parent';
import { OutputTail } from './output-tail';

// The dev server closes its database within two seconds; one that needs longer than this is stuck.
const STOP_GRACE_MS = 10_000;

export interface ServerProcessOptions {
  /** What the server prints is added to this file. */
  readonly logFile?: string | undefined;
  /**
   * Whether a Ctrl-C ends it too. Otherwise it is in a process group of its own: the Ctrl-C is for us, and we end it when
   * nothing needs it any more.
   */
  readonly hearsCtrlC?: boolean;
}

/** A server that runs beside us: it ends when told to, or with us, and does not keep us from ending. */
export class ServerProcess {
  readonly output = new OutputTail();
  /** Settles when the process is gone and its last words are in `output` and in the log. */
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
    // A disk that fills up costs the log, not the server.
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
    { logFile, hearsCtrlC = false }: ServerProcessOptions = {},
  ): Promise<ServerProcess> {
    const log = logFile === undefined ? undefined : (await open(logFile, 'a', 0o600)).createWriteStream();
    const child = spawn(executable, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: !hearsCtrlC });
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

  /** Lets our own process end although this one runs. */
  letGo(): void {
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
