import { copyFile, link, mkdir, open, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../contract/error-code';
import { incomplete, isSameVideo, keyTaken } from './same-video';
import type { FileToPublish } from './storage';
import { StorageFault } from './storage-fault';

/** Makes a folder and those above it, so that a power cut cannot lose one with the files in it. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  // Each new folder is a name in the one above it.
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

const MOST_FOLDERS_MADE = 3;

/** Makes a file in a folder, and the folder if it is missing. Asking first would cost a system call for each file. */
export async function inFolder<T>(folder: string, makeFile: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await makeFile();
    } catch (error) {
      // Another process may have removed the folder again, because it was empty.
      if (errorCode(error) !== 'ENOENT' || attempt > MOST_FOLDERS_MADE) throw error;
      await makeFolder(folder);
    }
  }
}

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
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder).catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

/** Gives a small file its name when it is whole and on disk, and only if the name is free; false if it is not. */
export async function createFile(
  path: string,
  temporary: string,
  content: string,
  signal?: AbortSignal,
): Promise<boolean> {
  signal?.throwIfAborted();
  try {
    await writeNew(temporary, content);
    // The disk may have hung, and the caller has given up meanwhile.
    signal?.throwIfAborted();
    return await linkIfFree(temporary, path);
  } finally {
    // The sweeper removes what cannot be removed now. Not `rm`, which asks first what it removes.
    await unlink(temporary).catch(() => undefined);
    // Also for a file that is there: its creator may have been killed before this.
    await syncFolder(dirname(path));
  }
}

/** As long as a small write to S3 may take. A write that a hung disk delayed for longer could replace a newer file. */
const REPLACE_WITHIN_MS = 60_000;

/** Gives a small file its name when it is whole and on disk, in place of an earlier one. */
export async function replaceFile(path: string, temporary: string, content: string | Buffer): Promise<void> {
  const startedAtMs = performance.now();
  try {
    await writeNew(temporary, content);
    if (performance.now() - startedAtMs > REPLACE_WITHIN_MS)
      throw new StorageFault('the write took too long');
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}

async function writeNew(path: string, content: string | Buffer): Promise<void> {
  const file = await inFolder(dirname(path), () => open(path, 'wx'));
  try {
    await file.writeFile(content);
    // A power cut can keep the new name and lose the bytes.
    await file.sync();
  } finally {
    await file.close();
  }
}

export interface FileTarget {
  key: string;
  path: string;
  /** In the folder of the path, for a file that comes from another disk. */
  temporaryName: string;
}

/** Moves a complete file to its final name in one step. All of it is on the disk before the name is. */
export async function moveFile(file: string, target: FileTarget, whole: FileToPublish): Promise<void> {
  const folder = dirname(target.path);
  await syncFile(file, whole.bytes);
  const isMoved = await inFolder(folder, () => linkIfFree(file, target.path)).catch((error: unknown) => {
    const code = errorCode(error);
    // A folder inside the storage may be another disk.
    if (code === 'EXDEV') return linkCopy(file, join(folder, target.temporaryName), target.path);
    // A later attempt was faster, and removed our part.
    if (code === 'ENOENT') return isStored(target, whole).then((isThere) => refuseUnless(isThere, error));
    throw error;
  });
  if (isMoved) await unlink(file).catch(() => undefined);
  else if (!(await isStored(target, whole))) throw keyTaken(target.key);
  // Also when it was there: the attempt that stored it may have been killed before this.
  await syncFolder(folder);
}

function refuseUnless(isThere: boolean, error: unknown): boolean {
  if (!isThere) throw error;
  return true;
}

async function syncFile(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    if (size !== bytes) throw incomplete(size, bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function linkCopy(file: string, copy: string, path: string): Promise<boolean> {
  try {
    await copyFile(file, copy);
    await syncFile(copy, (await stat(file)).size);
    return await linkIfFree(copy, path);
  } finally {
    await unlink(copy).catch(() => undefined);
  }
}

/** Whether the file with that name is this video; false when there is none. */
async function isStored({ key, path }: FileTarget, whole: FileToPublish): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return false;
  if (!found.isFile()) throw keyTaken(key);
  const content = (await open(path)).createReadStream();
  if (!(await isSameVideo({ bytes: found.size, content }, whole))) throw keyTaken(key);
  return true;
}

const NO_HARD_LINKS: unknown[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** `rename` would replace what has the name. */
async function linkIfFree(from: string, path: string): Promise<boolean> {
  try {
    await link(from, path);
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST') return false;
    if (!NO_HARD_LINKS.includes(code)) throw error;
    throw new StorageFault(
      `the file system of ${dirname(path)} refuses hard links (${code}), without which two workers could write the same file`,
      { code: 'ENOTSUP' },
    );
  }
}
