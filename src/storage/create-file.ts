import { type FileHandle, link, open, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../contract/error-code';
import { inFolder, syncFolder } from './folders';
import { NO_HARD_LINKS } from './publish-file';
import { StorageFault } from './storage-fault';

/** Gives a file its name when it is whole and on disk, and only if the name is free; false if it is not. */
export async function createFile(
  path: string,
  temporaryName: string,
  content: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const folder = dirname(path);
  const temporary = join(folder, temporaryName);
  signal?.throwIfAborted();
  const file = await inFolder(folder, () => open(temporary, 'wx'));
  try {
    await writeDurably(file, content);
    // A disk may have hung meanwhile, and the caller has thought again.
    signal?.throwIfAborted();
    return await linkIfFree(temporary, path);
  } finally {
    // The sweeper removes what cannot be removed now. Not `rm`, which asks twice what it removes.
    const removed = unlink(temporary).catch(() => undefined);
    // Also for a file that is there: whoever created it may have been killed before this.
    await Promise.all([removed, syncFolder(folder)]);
  }
}

async function linkIfFree(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST') return false;
    if (!NO_HARD_LINKS.includes(code)) throw error;
    throw new StorageFault(
      `the file system of ${dirname(path)} refuses hard links (${code}), without which two workers could write the same record`,
      { code: 'ENOTSUP' },
    );
  }
}

export async function writeDurably(file: FileHandle, content: string | Buffer): Promise<void> {
  try {
    await file.writeFile(content);
    // A power cut can keep the new name and lose the bytes.
    await file.sync();
  } finally {
    await file.close();
  }
}
