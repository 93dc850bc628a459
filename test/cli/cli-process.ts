import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '../../src/cli/stack-note';
import type { JobResult } from '../../src/contract/job';
import { ChildProcesses, processesWith, type RunningProcess } from '../support/child-processes';

const MAIN = join(__dirname, '../../dist/src/cli/main.js');

// Far longer than a busy machine needs.
const GIVE_UP_AFTER_MS = 60_000;

/** The built `videogen` in a process of its own, as people run it. */
export type CliProcess = RunningProcess;

/** The state of one machine, which several processes of `videogen` share. */
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

  /** Runs a command to its end. Returns its exit code and both of its streams. */
  async run(args: string[], env?: Record<string, string>): Promise<CliEnd> {
    return endOf(this.start(args, env));
  }

  /** The task ids of all generations that a user would have paid for. */
  paid(): string[] {
    const file = join(this.data, 'emulated-tasks.jsonl');
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
    return lines.map((line) => JSON.parse(line).taskId);
  }

  note(): { pid: number; serverPid: number; address: string } | undefined {
    const place = join(this.data, 'stack.running');
    const [file] = existsSync(place) ? readdirSync(place) : [];
    const text = file === undefined ? '' : readFileSync(join(place, file), 'utf8');
    return text === '' ? undefined : JSON.parse(text);
  }

  /** Processes with our folder in their command line, such as servers with their database in it. */
  processes(): number[] {
    return processesWith(this.folder, 'cmdline').map(Number);
  }

  /** Ends all processes of the test and removes its files. */
  async remove(): Promise<void> {
    await this.children.killAll();
    for (const pid of this.processes()) killIfThere(pid);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The process may have ended by itself. */
function killIfThere(pid: number): void {
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

/** The JSON object in the last line of standard output. */
export function lastLine({ out, err }: CliEnd): JobResult & { workflowId: string; copiedTo?: string } {
  const line = out.trimEnd().split('\n').at(-1) ?? '';
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(`the last line of standard output is not JSON: ${line}\nstandard error: ${err}`);
  }
}

export async function untilErr(cli: CliProcess, text: string | RegExp): Promise<void> {
  await until(`${text} on standard error`, () => cli.err().match(text) !== null, cli.err);
}

export async function until(what: string, condition: () => boolean, describe = () => ''): Promise<void> {
  await untilCount(what, 1, () => Number(condition()), describe);
}

/** Waits until the count is reached. The time limit restarts whenever the count grows. */
export async function untilCount(
  what: string,
  target: number,
  count: () => number,
  describe = () => '',
): Promise<void> {
  let highest = -1;
  let giveUpAt = 0;
  for (let reached = count(); reached < target; reached = count()) {
    if (reached > highest) {
      highest = reached;
      giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
    }
    if (Date.now() > giveUpAt) {
      throw new Error(`${what}: no progress for ${GIVE_UP_AFTER_MS / 1_000} s\n${describe()}`);
    }
    await sleep(50);
  }
}
