import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { endWithParent } from '../../src/temporal-server/child-process';
import { untilPortOpen } from '../../src/temporal-server/loopback-port';

/** How a part is started, each time anew. */
export interface Launch {
  command: string;
  args: string[];
  env: Record<string, string | undefined>;
  options?: Pick<SpawnOptions, 'cwd' | 'uid' | 'gid'>;
  /** It is ready when it listens there, or else when it sends a message. */
  port?: number;
}

const READY_WITHIN_MS = 60_000;
const AGAIN_AFTER_MS = 300;
const ENDED_WITHIN_MS = 30_000;

/** A program of the run, which can be killed, frozen and started again. What it prints goes into a file. */
export class Part {
  /** When it ended although nobody had killed it. */
  readonly endedAlone: string[] = [];
  private child: ChildProcess | undefined;
  private expected = false;
  /** One thing after the other: a program cannot be killed while it starts. */
  private turn: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(
    readonly name: string,
    private readonly logFile: string,
    private readonly launch: () => Launch,
  ) {}

  /** It is being killed, frozen or started. */
  get isBusy(): boolean {
    return this.waiting > 0;
  }

  get process(): ChildProcess | undefined {
    return this.child;
  }

  start(): Promise<void> {
    return this.inTurn(() => this.run());
  }

  /** Kills it, and starts it again after a while. */
  kill(downMs: number): Promise<void> {
    return this.inTurn(async () => {
      await this.end('SIGKILL');
      await sleep(downMs);
      await this.run();
    });
  }

  /** Stops it in the middle of whatever it does, without a word to anybody. */
  freeze(ms: number): Promise<void> {
    return this.inTurn(async () => {
      this.child?.kill('SIGSTOP');
      await sleep(ms);
      this.child?.kill('SIGCONT');
    });
  }

  stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    return this.inTurn(() => this.end(signal));
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.waiting++;
    const done = this.turn.then(work).finally(() => this.waiting--);
    this.turn = done.catch(() => undefined);
    return done;
  }

  /** As a supervisor does: a worker that cannot reach Temporal ends, and is started again. */
  private async run(): Promise<void> {
    const givesUpAtMs = Date.now() + READY_WITHIN_MS;
    for (;;) {
      const outcome = await this.launchOnce(givesUpAtMs);
      if (outcome === 'ready') return;
      if (outcome === 'late') throw new Error(`${this.name} did not start: see ${this.logFile}`);
      await sleep(AGAIN_AFTER_MS);
    }
  }

  private async launchOnce(givesUpAtMs: number): Promise<'ready' | 'ended' | 'late'> {
    const { command, args, env, options, port } = this.launch();
    const log = openSync(this.logFile, 'a');
    const ipc = port === undefined ? ['ipc' as const] : [];
    const child = spawn(command, args, { ...options, env, stdio: ['ignore', log, log, ...ipc] });
    closeSync(log);
    endWithParent(child);
    this.child = child;
    this.expected = false;
    let isReady = false;
    const ended = once(child, 'exit').then(([code, signal]) => {
      appendFileSync(this.logFile, `--- ended with ${signal ?? code}\n`);
      if (isReady && !this.expected)
        this.endedAlone.push(`${this.name} ended by itself with ${signal ?? code}`);
      return 'ended' as const;
    });
    const gone = new AbortController();
    child.once('exit', () => gone.abort());
    const listens = port === undefined ? once(child, 'message') : untilPortOpen(port, gone.signal);
    const ready = listens.then(
      () => 'ready' as const,
      () => ended,
    );
    const late = sleep(Math.max(0, givesUpAtMs - Date.now()), 'late' as const, { ref: false });
    const outcome = await Promise.race([ready, ended, late]);
    isReady = outcome === 'ready';
    return outcome;
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    this.expected = true;
    const ended = once(child, 'exit');
    child.kill(signal);
    const late = sleep(ENDED_WITHIN_MS, 'late', { ref: false });
    if ((await Promise.race([ended, late])) !== 'late') return;
    this.endedAlone.push(`${this.name} did not end within ${ENDED_WITHIN_MS} ms of ${signal}`);
    child.kill('SIGKILL');
    await ended;
  }
}
