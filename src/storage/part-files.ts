import { createHash, randomUUID } from 'node:crypto';
import { link, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../contract/errors';

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

export async function partsIn(folder: string, marks: string[]): Promise<string[]> {
  const names = await readdir(folder);
  return names.filter(
    (name) => isPartName(name) && marks.some((mark) => name.startsWith(`.videogen-${mark}-`)),
  );
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
  await rm(part, { force: true });
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

/** Makes a folder and those above it, so that a power cut cannot lose one with the files in it. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  // Each new folder is a name in the one above it.
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

/** A power cut can lose a new name although the bytes are on disk. Not every system can sync a folder. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder).catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
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
