import { createHash, randomUUID } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../contract/errors';

// Long enough that two owners in one folder never meet.
const MARK_DIGITS = 16;

const PART_NAME = new RegExp(
  `^\\.videogen-[0-9a-f]{${MARK_DIGITS}}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.part$`,
);

/** What the names of all files on their way to a key have in common when they are one owner's. */
export function partMark(key: string, owner: string): string {
  return createHash('sha256').update(`${key}\0${owner}`).digest('hex').slice(0, MARK_DIGITS);
}

export function newPartName(mark: string): string {
  return `.videogen-${mark}-${randomUUID()}.part`;
}

export function isPartName(name: string): boolean {
  return PART_NAME.test(name);
}

/** Of what is written beside a video: an attempt that was killed while it did so is followed by another for the video. */
export function sidecarMark(key: string): string {
  return partMark(`${key}.json`, '');
}

export async function partsIn(folder: string, marks: string[]): Promise<string[]> {
  const names = await readdir(folder);
  return names.filter(
    (name) => isPartName(name) && marks.some((mark) => name.startsWith(`.videogen-${mark}-`)),
  );
}

/** Removes what nobody has written to since a time, from a folder and those in it; links are not followed. */
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

/** A folder of somebody else's, such as `lost+found`, has nothing of ours in it. */
function unlessForbidden<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (['EACCES', 'EPERM'].includes(String(errorCode(error)))) return instead;
    throw error;
  };
}

/** Others put and remove files meanwhile. */
function unlessGone<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (errorCode(error) === 'ENOENT') return instead;
    throw error;
  };
}
