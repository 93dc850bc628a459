import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const LOOK_AGAIN_MS = 100;
// As for a server that is stopped: one that needs longer is stuck.
const STOP_GRACE_MS = 10_000;

/**
 * Ends every server on a database, which stays locked as long as one runs. A process that is killed while it starts one
 * leaves no word of it, but the server's own command line names the database. False where command lines cannot be read.
 */
export async function endServersOn(dbFilename: string): Promise<boolean> {
  const startedMs = Date.now();
  const told = new Set<string>();
  for (;;) {
    const running = await serversOn(dbFilename);
    if (running === undefined) return false;
    if (running.length === 0) return true;
    const signal = Date.now() - startedMs < STOP_GRACE_MS ? 'SIGTERM' : 'SIGKILL';
    for (const pid of running) {
      if (!told.has(`${pid} ${signal}`)) endIfThere(pid, signal);
      told.add(`${pid} ${signal}`);
    }
    await sleep(LOOK_AGAIN_MS);
  }
}

function endIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended since, or is not ours to end: then it says so when the next one finds its database locked.
  }
}

async function serversOn(dbFilename: string): Promise<number[] | undefined> {
  const wanted = databaseArguments(dbFilename);
  if (process.platform === 'linux') {
    return processesOfProc((words) =>
      words.some((_, at) => wanted.every((word, i) => words[at + i] === word)),
    );
  }
  if (process.platform === 'win32') return undefined;
  return processesOfPs((line) => `${line} `.includes(` ${wanted.join(' ')} `));
}

/** As a server is given them. */
export function databaseArguments(dbFilename: string): string[] {
  return ['--db-filename', dbFilename];
}

/** A process that has ended and nobody has asked about has no words left. */
async function processesOfProc(isWanted: (words: string[]) => boolean): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    const line = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    if (isWanted(line.split('\0'))) found.push(Number(name));
  }
  return found;
}

async function processesOfPs(isWanted: (line: string) => boolean): Promise<number[] | undefined> {
  const listed = await promisify(execFile)('ps', ['-A', '-o', 'pid=,args=']).catch(() => undefined);
  return listed?.stdout
    .split('\n')
    .filter(isWanted)
    .map((line) => Number.parseInt(line, 10));
}
