import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobResult } from '../../src/contract';
import { isAlive } from '../../src/temporal-server';
import { ChildProcesses, type RunningProcess } from '../support/child-processes';

const MAIN = join(__dirname, '../../dist/src/cli/main.js');

// Far beyond what a busy machine needs: what has not come by then does not come.
const GIVE_UP_AFTER_MS = 60_000;

/** `videogen` as people run it: the built program in a process of its own. */
export type CliProcess = RunningProcess;

/** One machine's worth of state: what several processes of `videogen` share. */
export class Home {
  readonly folder = mkdtempSync(join(tmpdir(), 'videogen-cli-'));
  readonly data = join(this.folder, 'data');
  readonly videos = join(this.folder, 'videos');
  private readonly children = new ChildProcesses();

  start(args: string[], env: Record<string, string> = {}): CliProcess {
    return this.children.start([MAIN, ...args], {
      cwd: this.folder,
      env: {
        VIDEOGEN_TEMPORAL_CLI: process.env.VIDEOGEN_TEMPORAL_CLI,
        VIDEOGEN_DATA: this.data,
        VIDEOGEN_STORAGE: this.videos,
        ...env,
      },
    });
  }

  /** The end of one command: its exit code and both of its streams. */
  async run(args: string[], env?: Record<string, string>): Promise<CliEnd> {
    return endOf(this.start(args, env));
  }

  /** The generations that a user would have paid for, by task id. */
  paid(): string[] {
    const file = join(this.data, 'emulated-tasks.jsonl');
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
    return lines.map((line) => JSON.parse(line).taskId);
  }

  note(): { serverPid: number; address: string } | undefined {
    const file = join(this.data, 'stack.json');
    return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  }

  /** Processes that work in our folder, ours or of our children: servers have their database there. */
  processes(): number[] {
    const lines = execFileSync('ps', ['-A', '-o', 'pid=,args='], { encoding: 'utf8' }).split('\n');
    return lines.filter((line) => line.includes(this.folder)).map((line) => Number.parseInt(line, 10));
  }

  /** Nothing outlives the tests, however they ended. */
  async remove(): Promise<void> {
    await this.children.killAll();
    for (const pid of this.processes()) killIfThere(pid);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A process that we saw may have ended by itself since. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (isAlive(pid)) throw error;
  }
}

export interface CliEnd {
  code: number | null;
  out: string;
  err: string;
}

export async function endOf(cli: CliProcess): Promise<CliEnd> {
  const code = await cli.ended;
  return { code, out: cli.out(), err: cli.err() };
}

/** The object that a program would read: the last line of standard output. */
export function lastLine({ out, err }: CliEnd): JobResult & { workflowId: string } {
  const line = out.trimEnd().split('\n').at(-1) ?? '';
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(`the last line of standard output is no JSON: ${line}\nstandard error: ${err}`);
  }
}

export async function untilErr(cli: CliProcess, words: string | RegExp): Promise<void> {
  await until(`${words} on standard error`, () => cli.err().match(words) !== null, cli.err);
}

export async function until(what: string, condition: () => boolean, seen = () => ''): Promise<void> {
  await untilCount(what, 1, () => Number(condition()), seen);
}

/** Until there are so many: as long as more come, it may take its time. */
export async function untilCount(
  what: string,
  wanted: number,
  count: () => number,
  seen = () => '',
): Promise<void> {
  let most = -1;
  let giveUpAt = 0;
  for (let found = count(); found < wanted; found = count()) {
    if (found > most) {
      most = found;
      giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
    }
    if (Date.now() > giveUpAt) {
      throw new Error(`${what}: nothing came for ${GIVE_UP_AFTER_MS / 1_000} s\n${seen()}`);
    }
    await sleep(50);
  }
}
