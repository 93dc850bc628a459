import { randomUUID } from 'node:crypto';
import {
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  truncate,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { errorCode } from '../contract/error-code';
import type { Terminal } from './terminal';

/** How long a generation takes in an emulator that a command starts. Short, for a quick first run. */
export const EMULATED_JOB_MS = 1_000;

const noteSchema = z.object({
  pid: z.int(),
  serverPid: z.int(),
  address: z.string(),
  namespace: z.string(),
  uiUrl: z.string().optional(),
  /** Address of its gateway, which only `videogen dev` has. */
  pageUrl: z.string().optional(),
  /** The services of its worker, as `servicesInUse` names them; unset for the emulator. */
  serviceName: z.string().optional(),
  /** Its worker's emulator. Every process that can read this note may use it. */
  emulator: z.object({ url: z.string(), key: z.string() }).optional(),
  /** Address of its worker's storage. */
  storage: z.string(),
});

/** What the process that runs Temporal in a data folder tells other processes of this machine. */
export type StackNote = z.infer<typeof noteSchema>;

/** The one process that may open the database of a data folder. It writes its note when its server is ready. */
interface Holder {
  file: string;
  pid: number;
  host: string;
  isGone: boolean;
  note: StackNote | undefined;
}

const CHECK_EVERY_MS = 200;
/** Most waits are shorter and need no message. */
const ANNOUNCE_WAIT_AFTER_MS = 3_000;
const BEAT_EVERY_MS = 5_000;
/** Twelve missed beats: after a crash of the machine another program may have the holder's pid. */
const GONE_AFTER_MS = 60_000;

/**
 * A folder with one file, named by the process that holds it. Taking it renames a folder that already has our file in it, which the
 * system refuses while the target has a file. Freeing it removes the one file by its name, so of two processes that free the place of
 * a third, neither removes what the other has just taken.
 */
const placeIn = (folder: string) => join(folder, 'stack.running');

async function readHolder(folder: string): Promise<Holder | undefined> {
  const [name] = await readdir(placeIn(folder)).catch(() => []);
  if (name === undefined) return undefined;
  const file = join(placeIn(folder), name);
  const [text, stats] = await Promise.all([readFile(file, 'utf8'), stat(file)]).catch(() => []);
  if (text === undefined || stats === undefined) return undefined;
  const [pid = 0, host = ''] = [Number.parseInt(name, 10), name.slice(name.indexOf('@') + 1)];
  // A process of another machine, or container, cannot be checked.
  const isGone = Date.now() - stats.mtimeMs > GONE_AFTER_MS || (host === hostname() && !isAlive(pid));
  return { file, pid, host, isGone, note: parseNote(text) };
}

function parseNote(text: string): StackNote | undefined {
  try {
    return noteSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** The note of the process that runs Temporal in a data folder. */
export async function readStackNote(folder: string): Promise<StackNote | undefined> {
  const holder = await readHolder(folder);
  return holder?.isGone ? undefined : holder?.note;
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}

export async function untilEnded(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(CHECK_EVERY_MS, undefined, { ref: false });
}

/** The right to open the database of a data folder. */
export interface StackClaim {
  writeNote(note: StackNote): Promise<void>;
  /** Others then wait for the release. */
  removeNote(): Promise<void>;
  release(): Promise<void>;
}

/** Ctrl-C was pressed while the command waited for another process. */
export class LeftWaiting extends Error {
  override readonly name = 'LeftWaiting';

  constructor(folder: string, holder: { pid: number } | undefined) {
    const user = holder === undefined ? 'another process' : `process ${holder.pid}`;
    super(`Stopped before anything was started: ${user} still uses ${folder}.`);
  }
}

/** Joins the stack that runs in a data folder, or claims the folder, whichever is possible first. */
export async function joinOrClaim<Joined>(
  folder: string,
  join: (note: StackNote) => Promise<Joined | undefined>,
  { terminal, printLine }: { terminal: Pick<Terminal, 'onInterrupt'>; printLine: (line: string) => void },
): Promise<{ joined: Joined } | { claim: StackClaim }> {
  const interrupted = new AbortController();
  const stopListening = terminal.onInterrupt(() => interrupted.abort());
  const announceAtMs = Date.now() + ANNOUNCE_WAIT_AFTER_MS;
  let isAnnounced = false;
  try {
    for (;;) {
      const holder = await readHolder(folder);
      if (holder?.isGone) await free(holder.file, folder);
      else if (holder?.note) {
        const joined = await join(holder.note);
        if (joined) return { joined };
      }
      const claim = await tryClaim(folder);
      if (claim) return { claim };
      if (interrupted.signal.aborted) throw new LeftWaiting(folder, holder);
      if (holder && !isAnnounced && Date.now() >= announceAtMs) {
        isAnnounced = true;
        printLine(
          `Waiting for process ${holder.pid} on ${holder.host}, which is starting or stopping Temporal in ${folder}. Press Ctrl-C to stop waiting.`,
        );
      }
      await sleep(CHECK_EVERY_MS, undefined, { signal: interrupted.signal }).catch(() => undefined);
    }
  } finally {
    stopListening();
  }
}

const HELD_BY_ANOTHER =
  process.platform === 'win32' ? ['EPERM', 'EACCES', 'EEXIST', 'ENOTEMPTY'] : ['EEXIST', 'ENOTEMPTY'];

async function tryClaim(folder: string): Promise<StackClaim | undefined> {
  const place = placeIn(folder);
  const name = `${process.pid}@${hostname()}`;
  const file = join(place, name);
  const ours = `${place}.${randomUUID()}`;
  try {
    await mkdir(ours, { recursive: true });
    await writeFile(join(ours, name), '', { mode: 0o600 });
    // Windows cannot rename onto an existing folder, even an empty one. Elsewhere this has no effect.
    await rmdir(place).catch(() => undefined);
    await rename(ours, place);
  } catch (error) {
    await rm(ours, { recursive: true, force: true });
    if (HELD_BY_ANOTHER.includes(String(errorCode(error)))) return undefined;
    throw error;
  }
  const beat = setInterval(() => {
    const now = new Date();
    // If another process has taken the place over, our file is gone.
    utimes(file, now, now).catch(() => undefined);
  }, BEAT_EVERY_MS).unref();
  return {
    // Not a new file: another process may have taken the place over.
    writeNote: (note) => writeFile(file, JSON.stringify(note), { flag: 'r+' }),
    removeNote: () => truncate(file),
    async release() {
      clearInterval(beat);
      await free(file, folder);
    },
  };
}

async function free(file: string, folder: string): Promise<void> {
  await unlink(file).catch(() => undefined);
  await rmdir(placeIn(folder)).catch(() => undefined);
}
