import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../../src/emulator/seeded-random';
import { freePort } from '../../src/temporal-server/loopback-port';
import { untilErr } from '../cli/cli-process';
import { ChildProcesses, type RunningProcess } from './child-processes';

const MAIN = join(__dirname, '../../dist/src/cli/main.js');

/** `videogen gateway` in a process that can be killed. It comes back at the same address. */
export class GatewayProcess {
  url = '';
  private readonly children = new ChildProcesses();
  private running: RunningProcess | undefined;
  private port: number | undefined;

  constructor(private readonly env: Record<string, string>) {}

  async start(): Promise<RunningProcess> {
    this.port ??= await freePort();
    this.running = this.children.start([MAIN, 'gateway', '--port', `${this.port}`], {
      cwd: tmpdir(),
      env: this.env,
    });
    await untilErr(this.running, /^The gateway is at (\S+)[.] /m);
    this.url = `http://127.0.0.1:${this.port}`;
    return this.running;
  }

  /** Kills it during some of the next calls, each time after a few milliseconds, and starts it again. */
  killDuringCalls({ seed, kills, calls }: { seed: string; kills: number; calls: number }): Killing {
    const random = seededRandom(seed);
    const due = Array.from({ length: kills }, () => Math.ceil(random() * calls)).sort((a, b) => a - b);
    let called = 0;
    let killed = 0;
    let restarts = Promise.resolve();
    const killAndRestart = async (delayMs: number) => {
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      this.running?.kill('SIGKILL');
      await this.running?.ended;
      killed += 1;
      await this.start();
    };
    return {
      countCall: () => {
        called += 1;
        for (; due[0] !== undefined && due[0] <= called; due.shift()) {
          const delayMs = Math.floor(random() * 30);
          restarts = restarts.then(() => killAndRestart(delayMs));
        }
      },
      kills: () => killed,
      over: () => restarts,
    };
  }

  stop(): Promise<void> {
    return this.children.killAll();
  }
}

export interface Killing {
  /** Before each call. */
  countCall(): void;
  kills(): number;
  /** Settles when the gateway is up after the last kill so far. */
  over(): Promise<void>;
}
