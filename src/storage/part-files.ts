import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorCode } from '../contract/error-code';
import { inFolder } from './folders';
import type { VideoStorage } from './storage';
import { asStorageFault } from './storage-fault';

// Long enough that two owners in one folder never get the same mark.
const MARK_DIGITS = 16;

const PART_NAME = new RegExp(
  `^\\.videogen-[0-9a-f]{${MARK_DIGITS}}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.part$`,
);

/** What the names of one owner's parts have in common. */
function markOf(owner: string): string {
  return `.videogen-${createHash('sha256').update(owner).digest('hex').slice(0, MARK_DIGITS)}-`;
}

/** Nobody else has this name: an attempt that Temporal took for dead may still write to its own part. */
export function newPartName(owner: string): string {
  return `${markOf(owner)}${randomUUID()}.part`;
}

export function isPartName(name: string): boolean {
  return PART_NAME.test(name);
}

/** Where videos are written before they are published. */
export function partsFolderOf({ partsFolder = tmpdir() }: Pick<VideoStorage, 'partsFolder'>): string {
  return partsFolder;
}

/** A file for a video that is not published yet. In a folder that others share, only this user may read it. */
export async function createPart(
  { partsFolder }: Pick<VideoStorage, 'partsFolder'>,
  owner: string,
): Promise<{ path: string; file: FileHandle }> {
  const folder = partsFolderOf({ partsFolder });
  const path = join(folder, newPartName(owner));
  const mode = partsFolder === undefined ? 0o600 : 0o666;
  return { path, file: await inFolder(folder, () => open(path, 'wx', mode)) };
}

/** The parts that earlier attempts of an owner have left. */
export async function partsOf(storage: Pick<VideoStorage, 'partsFolder'>, owner: string): Promise<string[]> {
  const names = await readdir(partsFolderOf(storage)).catch(unlessGone([]));
  return names.filter((name) => isPartName(name) && name.startsWith(markOf(owner)));
}

/** Removes unfinished videos that were not written to for this long, from the storage and from this machine. */
export async function sweepParts(storage: VideoStorage, olderThanMs: number): Promise<number> {
  const inStorage = (await storage.sweep?.(olderThanMs)) ?? 0;
  if (storage.partsFolder !== undefined) return inStorage;
  const here = asStorageFault(() => removeOldParts(Date.now() - olderThanMs, partsFolderOf(storage)));
  return inStorage + (await here);
}

/** Removes parts that were last written before a time, from a folder and those inside; does not follow links. */
export async function removePartsBefore(timeMs: number, folder: string): Promise<number> {
  let removed = await removeOldParts(timeMs, folder);
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(unlessGone([]))) {
    if (!entry.isDirectory()) continue;
    removed += await removePartsBefore(timeMs, join(folder, entry.name)).catch(unlessForbidden(0));
  }
  return removed;
}

async function removeOldParts(timeMs: number, folder: string): Promise<number> {
  let removed = 0;
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(unlessGone([]))) {
    const path = join(folder, entry.name);
    if (!entry.isFile() || !isPartName(entry.name) || !(await isOlder(path, timeMs))) continue;
    await rm(path, { force: true });
    removed += 1;
  }
  return removed;
}

async function isOlder(file: string, timeMs: number): Promise<boolean> {
  const found = await stat(file).catch(unlessGone(undefined));
  return found !== undefined && found.mtimeMs < timeMs;
}

/** A folder of another user, such as `lost+found`, contains no parts. */
function unlessForbidden<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (['EACCES', 'EPERM'].includes(String(errorCode(error)))) return instead;
    throw error;
  };
}

/** Other processes may remove files meanwhile. */
export function unlessGone<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (errorCode(error) === 'ENOENT') return instead;
    throw error;
  };
}
