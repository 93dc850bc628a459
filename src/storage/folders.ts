import { mkdir, open, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../contract/error-code';

/** Makes a folder and those above it, so that a power cut cannot lose one with the files in it. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  // Each new folder is a name in the one above it.
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

/** Folders that were there a moment ago. Date and job prefixes add some every day, so they are forgotten now and then. */
const known = new Set<string>();
const MOST_KNOWN_FOLDERS = 1_000;

/** Opens a file in a folder, and makes the folder if it is missing. Asking first would cost a system call for each file. */
export async function inFolder<T>(folder: string, openFile: () => Promise<T>): Promise<T> {
  if (known.has(folder)) {
    try {
      return await openFile();
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  }
  for (let attempt = 1; ; attempt++) {
    await makeFolder(folder);
    if (known.size >= MOST_KNOWN_FOLDERS) known.clear();
    known.add(folder);
    try {
      return await openFile();
    } catch (error) {
      // Another process may have removed the folder, which was empty.
      if (errorCode(error) !== 'ENOENT' || attempt === MOST_FOLDER_ATTEMPTS) throw error;
    }
  }
}

const MOST_FOLDER_ATTEMPTS = 3;

const NOT_EMPTY: unknown[] = ['ENOTEMPTY', 'EEXIST', 'EBUSY', 'EPERM', 'EACCES'];

/** Removes a folder without files and those above it, but not the root: a bucket has no empty folders either. */
export async function removeIfEmpty(folder: string, root: string): Promise<void> {
  for (let empty = folder; empty.length > root.length; empty = dirname(empty)) {
    try {
      await rmdir(empty);
    } catch (error) {
      if (NOT_EMPTY.includes(errorCode(error))) return syncFolder(empty);
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  }
  await syncFolder(root);
}

/** A power cut can lose a new name although the bytes are on disk. Not every system can sync a folder. */
export const syncFolder = shareRuns(async (folder: string) => {
  const handle = await open(folder).catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
});

/**
 * Lets callers of the same key share one run of the work. A run that has begun may be too early for a new caller, so new
 * callers share the next one: after many files have come into a folder together, it is synced twice and not once for each.
 */
export function shareRuns(work: (key: string) => Promise<void>): (key: string) => Promise<void> {
  const runs = new Map<string, { running: Promise<void>; next?: Promise<void> }>();
  const start = (key: string): Promise<void> => {
    const run: { running: Promise<void>; next?: Promise<void> } = {
      running: work(key).finally(() => {
        if (run.next === undefined) runs.delete(key);
      }),
    };
    runs.set(key, run);
    return run.running;
  };
  return (key) => {
    const run = runs.get(key);
    if (run === undefined) return start(key);
    const restart = () => start(key);
    run.next ??= run.running.then(restart, restart);
    return run.next;
  };
}
