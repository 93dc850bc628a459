import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const CHECK_EVERY_MS = 100;
// The same as for a server that we stop: one that needs longer is stuck.
const STOP_GRACE_MS = 10_000;

/**
 * Ends every server that uses a database, which stays locked while one runs. A process that was killed while it started a
 * server leaves no note, but the server's command line names the database. Returns false if command lines cannot be read.
 */
export async function endServersOn(dbFilename: string): Promise<boolean> {
  const startedMs = Date.now();
  const sent = new Set<string>();
  for (;;) {
    const running = await serversOn(dbFilename);
    if (running === undefined) return false;
    if (running.length === 0) return true;
    const signal = Date.now() - startedMs < STOP_GRACE_MS ? 'SIGTERM' : 'SIGKILL';
    for (const pid of running) {
      if (!sent.has(`${pid} ${signal}`)) signalIfRunning(pid, signal);
      sent.add(`${pid} ${signal}`);
    }
    await sleep(CHECK_EVERY_MS);
  }
}

function signalIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended, or belongs to another user. Then the next server reports that its database is locked.
  }
}

async function serversOn(dbFilename: string): Promise<number[] | undefined> {
  const args = databaseArguments(dbFilename);
  if (process.platform === 'linux') {
    return processesOfProc((words) =>
      words.some((_, start) => args.every((arg, i) => words[start + i] === arg)),
    );
  }
  if (process.platform === 'win32') return undefined;
  return processesOfPs((line) => `${line} `.includes(` ${args.join(' ')} `));
}

/** The arguments that give a server its database. */
export function databaseArguments(dbFilename: string): string[] {
  return ['--db-filename', dbFilename];
}

/** A zombie process has an empty command line. */
async function processesOfProc(matches: (words: string[]) => boolean): Promise<number[]> {
  const pids: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    const line = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    if (matches(line.split('\0'))) pids.push(Number(name));
  }
  return pids;
}

async function processesOfPs(matches: (line: string) => boolean): Promise<number[] | undefined> {
  const listed = await promisify(execFile)('ps', ['-A', '-o', 'pid=,args=']).catch(() => undefined);
  return listed?.stdout
    .split('\n')
    .filter(matches)
    .map((line) => Number.parseInt(line, 10));
}
