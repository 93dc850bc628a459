import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, rmdir, truncate, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { jsonIn } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';
import { SearchStopped } from '../temporal-server';
import { printLine, type Terminal } from './terminal';

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
  isGone: boolean;
  note: StackNote | undefined;
}

const CHECK_EVERY_MS = 200;
/** Most waits are shorter and need no message. */
const ANNOUNCE_WAIT_AFTER_MS = 3_000;

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
  const { data: note } = noteSchema.safeParse(jsonIn(await readFile(file, 'utf8').catch(() => '')));
  const pid = Number.parseInt(name, 10);
  // A process of another machine, or container, cannot be checked. After a crash of the machine other programs may have a pid, but
  // hardly both.
  const isGone = name === holderName(pid) && ![pid, note?.serverPid ?? pid].every(isAlive);
  return { file, pid, isGone, note };
}

const holderName = (pid: number) => `${pid}@${hostname()}`;

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

/** Joins the stack that runs in a data folder, or claims the folder, whichever is possible first. */
export async function joinOrClaim<Joined>(
  folder: string,
  join: (note: StackNote) => Promise<Joined | undefined>,
  terminal: Terminal,
): Promise<{ joined: Joined } | { claim: StackClaim }> {
  const interrupted = new AbortController();
  const stopListening = terminal.onInterrupt(() => interrupted.abort());
  let announceAtMs = Date.now() + ANNOUNCE_WAIT_AFTER_MS;
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
      if (interrupted.signal.aborted) throw new SearchStopped('Temporal server');
      if (holder && Date.now() >= announceAtMs) {
        announceAtMs = Number.POSITIVE_INFINITY;
        printLine(
          terminal,
          `Waiting for process ${holder.pid}, which is starting or stopping Temporal in ${folder}. Press Ctrl-C to stop waiting. If it no longer runs, delete ${holder.file}.`,
        );
      }
      await sleep(CHECK_EVERY_MS, undefined, { signal: interrupted.signal }).catch(() => undefined);
    }
  } finally {
    stopListening();
  }
}

async function tryClaim(folder: string): Promise<StackClaim | undefined> {
  const place = placeIn(folder);
  const name = holderName(process.pid);
  const file = join(place, name);
  const ours = `${place}.${randomUUID()}`;
  await mkdir(ours);
  try {
    await writeFile(join(ours, name), '', { mode: 0o600 });
    // Windows cannot rename onto an existing folder, even an empty one. Elsewhere this has no effect.
    await rmdir(place).catch(() => undefined);
    const isOurs = await rename(ours, place).then(
      () => true,
      () => false,
    );
    if (!isOurs) return undefined;
  } finally {
    await rm(ours, { recursive: true, force: true });
  }
  return {
    // Not a new file: another process may have taken the place over.
    writeNote: (note) => writeFile(file, JSON.stringify(note), { flag: 'r+' }),
    removeNote: () => truncate(file),
    release: () => free(file, folder),
  };
}

async function free(file: string, folder: string): Promise<void> {
  await unlink(file).catch(() => undefined);
  await rmdir(placeIn(folder)).catch(() => undefined);
}
