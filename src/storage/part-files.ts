import { createHash, randomUUID } from 'node:crypto';
import { link, lstat, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../contract/error-code';
import { FolderListings, syncFolder } from './folders';

// Long enough that two owners in one folder never get the same mark.
const MARK_DIGITS = 16;

const PART_NAME = new RegExp(
  `^\\.videogen-[0-9a-f]{${MARK_DIGITS}}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.part$`,
);

/** What the names of one owner's parts for one key have in common. */
export function partMark(key: string, owner: string): string {
  return createHash('sha256').update(`${key}\0${owner}`).digest('hex').slice(0, MARK_DIGITS);
}

/** The mark for the sidecar of a video. The next attempt for the video removes what a killed one left of it. */
export function sidecarMark(key: string): string {
  return partMark(`${key}.json`, '');
}

export function newPartName(mark: string): string {
  return `.videogen-${mark}-${randomUUID()}.part`;
}

export function isPartName(name: string): boolean {
  return PART_NAME.test(name);
}

const listings = new FolderListings(isPartName);

/** The parts with these marks. Without `isFresh` it may miss those of the last seconds. */
export async function partsIn(
  folder: string,
  marks: string[],
  { isFresh }: { isFresh: boolean },
): Promise<string[]> {
  const names = await listings.list(folder, { isFresh });
  return names.filter((name) => marks.some((mark) => name.startsWith(`.videogen-${mark}-`)));
}

/** Call it when a part is left, for the next attempt to find it. */
export function noteLeftPart(folder: string): void {
  listings.forget(folder);
}

/** Removes what attempts of an owner left for a key, the sidecar's included; returns how many. */
export async function removePartsOf(folder: string, key: string, owner: string): Promise<number> {
  const marks = [partMark(key, owner), sidecarMark(key)];
  const parts = await partsIn(folder, marks, { isFresh: true }).catch(unlessGone([]));
  for (const part of parts) await rm(join(folder, part), { force: true });
  return parts.length;
}

const NO_HARD_LINKS: unknown[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** Moves a part to its final name in one step; fails with EEXIST if a file has that name. */
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
  await syncFolder(dirname(target));
}

/** Without hard links, two attempts that check at the same moment can both find the name free. */
async function renameIfFree(part: string, target: string): Promise<void> {
  const found = await lstat(target).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
  if (found) throw Object.assign(new Error(`EEXIST: file already exists, ${target}`), { code: 'EEXIST' });
  await rename(part, target);
}

/** Removes parts that were last written before a time, from a folder and those inside; does not follow links. */
export async function removePartsBefore(timeMs: number, folder: string): Promise<number> {
  let removed = 0;
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removed += await removePartsBefore(timeMs, path).catch(unlessForbidden(0));
    else if (entry.isFile() && isPartName(entry.name) && (await isOlder(path, timeMs))) {
      await rm(path, { force: true });
      removed += 1;
    }
  }
  return removed;
}

async function entriesOf(folder: string) {
  return readdir(folder, { withFileTypes: true }).catch(unlessGone([]));
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
function unlessGone<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (errorCode(error) === 'ENOENT') return instead;
    throw error;
  };
}
