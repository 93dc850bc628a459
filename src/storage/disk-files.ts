import { createHash, randomUUID } from 'node:crypto';
import { copyFile, link, mkdir, open, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../contract/error-code';
import { incomplete, isSameVideo, keyTaken } from './same-video';
import type { FileToPublish } from './storage';
import { StorageFault, storageFault } from './storage-fault';

// Long enough that two owners in one folder never get the same mark.
const MARK_DIGITS = 16;

const PART_NAME = new RegExp(
  `^\\.videogen-[0-9a-f]{${MARK_DIGITS}}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.part$`,
);

/** What the names of one owner's parts have in common. */
export function markOf(owner: string): string {
  return `.videogen-${createHash('sha256').update(owner).digest('hex').slice(0, MARK_DIGITS)}-`;
}

/** Nobody else has this name: an attempt that Temporal took for dead may still write to its own part. */
export function newPartName(owner: string): string {
  return `${markOf(owner)}${randomUUID()}.part`;
}

export function isPartName(name: string): boolean {
  return PART_NAME.test(name);
}

/** For a call that may fail with one of these codes. */
export function unless<T>(codes: readonly unknown[], instead: T): (error: unknown) => T {
  return (error) => {
    if (codes.includes(errorCode(error))) return instead;
    throw storageFault(error);
  };
}

/** Makes a folder and those above it, so that a power cut cannot lose one with the files in it. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  // Each new folder is a name in the one above it.
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

/** Makes a file in a folder, and the folder if it is missing. Asking first would cost a system call for each file. */
export async function inFolder<T>(folder: string, makeFile: () => Promise<T>): Promise<T> {
  try {
    return await makeFile();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    await makeFolder(folder);
    return makeFile();
  }
}

/** A power cut can lose a new name although the bytes are on disk. Not every system can sync a folder. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder).catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

/** Gives a small file its name when it is whole and on disk, and only if the name is free; false if it is not. */
export function createFile(path: string, content: string): Promise<boolean> {
  return withTemporary(path, writing(content), (temporary) => linkIfFree(temporary, path));
}

/** Gives a file its name when it is whole and on disk, in place of an earlier one. */
export function replaceFile(path: string, content: Content): Promise<void> {
  return withTemporary(path, writing(content), (temporary) => rename(temporary, path));
}

type Content = string | Buffer | AsyncIterable<Buffer>;

/** Flushed: a power cut can keep the new name and lose the bytes. */
const writing = (content: Content) => (path: string) => writeFile(path, content, { flag: 'wx', flush: true });

async function withTemporary<T>(
  path: string,
  write: (temporary: string) => Promise<void>,
  giveName: (temporary: string) => Promise<T>,
): Promise<T> {
  const folder = dirname(path);
  const temporary = join(folder, newPartName(path));
  try {
    await inFolder(folder, () => write(temporary));
    return await giveName(temporary);
  } finally {
    // The janitor removes what cannot be removed now. Not `rm`, which asks first what it removes.
    await unlink(temporary).catch(() => undefined);
    // Also for a file that is there: its creator may have been killed before this.
    await syncFolder(folder);
  }
}

/** Moves a complete file to its final name in one step. All of it is on the disk before the name is. */
export async function moveFile(
  file: string,
  { key, path }: { key: string; path: string },
  whole: FileToPublish,
): Promise<void> {
  const folder = dirname(path);
  await syncFile(file, whole.bytes);
  const isMoved = await inFolder(folder, () => linkIfFree(file, path)).catch((error: unknown) => {
    if (errorCode(error) !== 'EXDEV') throw error;
    // A folder inside the storage may be another disk.
    const copying = async (copy: string) => {
      await copyFile(file, copy);
      await syncFile(copy, whole.bytes);
    };
    return withTemporary(path, copying, (copy) => linkIfFree(copy, path));
  });
  if (isMoved) await unlink(file).catch(() => undefined);
  else if (!(await isVideoAt(path, whole))) throw keyTaken(key);
  // Also when it was there: the attempt that stored it may have been killed before this.
  await syncFolder(folder);
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

async function isVideoAt(path: string, whole: FileToPublish): Promise<boolean> {
  const found = await stat(path);
  if (!found.isFile()) return false;
  return isSameVideo({ bytes: found.size, content: (await open(path)).createReadStream() }, whole);
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
