import { link, lstat, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../contract/errors';

const NO_HARD_LINKS: unknown[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** Gives a file its place, in one step and only if nothing is there; EEXIST otherwise. */
export async function placeOnce(file: string, target: string, hardLink = link): Promise<void> {
  try {
    await hardLink(file, target);
  } catch (error) {
    if (!NO_HARD_LINKS.includes(errorCode(error))) throw error;
    await renameUnlessTaken(file, target);
  }
  await rm(file, { force: true });
  await syncFolder(dirname(target));
}

/** Two that look at the same moment can both find nothing there: the price of a file system without hard links. */
async function renameUnlessTaken(file: string, target: string): Promise<void> {
  const there = await lstat(target).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
  if (there) throw Object.assign(new Error(`EEXIST: file already exists, ${target}`), { code: 'EEXIST' });
  await rename(file, target);
}

/** A name can be lost in a power cut that the bytes survive; where folders cannot be synced, that is the system's way. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder).catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
