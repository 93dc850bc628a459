import { copyFile, link, lstat, open, rename, rm, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorCode } from '../contract/error-code';
import { inFolder, syncFolder } from './folders';
import { newPartName } from './part-files';
import { incomplete, isSameVideo, keyTaken } from './same-video';
import type { FileToPublish } from './storage';

/** A key and the path of its file. */
export interface FileTarget {
  key: string;
  path: string;
}

/** Gives a file its final name: all of it is on the disk before the name is. */
export async function publishFile(
  file: string,
  target: FileTarget,
  whole: FileToPublish,
): Promise<{ uri: string }> {
  const folder = dirname(target.path);
  await syncFile(file, whole.bytes);
  try {
    await inFolder(folder, () => moveIfFree(file, target.path)).catch(async (error: unknown) => {
      if (errorCode(error) !== 'EXDEV') throw error;
      await withCopy(file, join(folder, newPartName(target.key)), (copy) => moveIfFree(copy, target.path));
    });
  } catch (error) {
    if (!(await isStored(error, target, whole))) throw error;
  }
  // Also when it was there: the attempt that stored it may have been killed before it did so.
  await syncFolder(folder);
  return { uri: pathToFileURL(target.path).href };
}

/** A power cut can keep the new name and lose the bytes. */
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

/** A folder inside the storage may be another disk, to which no file can be moved. */
async function withCopy(file: string, copy: string, move: (copy: string) => Promise<void>): Promise<void> {
  try {
    await copyFile(file, copy);
    await syncFile(copy, (await stat(file)).size);
    await move(copy);
  } finally {
    await rm(copy, { force: true });
  }
}

/** Whether the error says that the same video is there. ENOENT: a later attempt was faster, and removed our part. */
async function isStored(error: unknown, { key, path }: FileTarget, whole: FileToPublish): Promise<boolean> {
  if (errorCode(error) !== 'EEXIST' && errorCode(error) !== 'ENOENT') return false;
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return false;
  if (!found.isFile()) throw keyTaken(key);
  const content = (await open(path)).createReadStream();
  if (!(await isSameVideo({ bytes: found.size, content }, whole))) throw keyTaken(key);
  return true;
}

export const NO_HARD_LINKS: unknown[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** Moves a file to its final name in one step; fails with EEXIST if a file has that name. */
export async function moveIfFree(part: string, target: string, hardLink = link): Promise<void> {
  try {
    await hardLink(part, target);
  } catch (error) {
    if (!NO_HARD_LINKS.includes(errorCode(error))) throw error;
    await renameIfFree(part, target);
  }
  await unlink(part).catch((error: unknown) => {
    // Renamed, or a later attempt was faster and removed it.
    if (errorCode(error) !== 'ENOENT') throw error;
  });
}

/** Without hard links, two attempts that check at the same moment can both find the name free. */
async function renameIfFree(part: string, target: string): Promise<void> {
  const found = await lstat(target).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
  if (found) throw Object.assign(new Error(`EEXIST: file already exists, ${target}`), { code: 'EEXIST' });
  await rename(part, target);
}
