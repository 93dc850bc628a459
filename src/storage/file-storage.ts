import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { errorCode } from '../contract/errors';
import { receiveFile } from './incoming-file';
import { isPartName, newPartName, partMark, removePartsBefore } from './part-files';
import { syncFolder } from './place-once';
import { newProbeKey, probing, writeAndRead } from './probe';
import { StorageFault, type VideoStorage } from './storage';
import { asStorageFault } from './storage-fault';
import { fixForFolder } from './storage-fixes';
import { storedReader } from './stored-reader';

/** Videos as files below one folder: written beside their place under a temporary name, then put into it. */
export function createFileStorage(folder: string): VideoStorage {
  const root = resolve(folder);
  const targetOf = (key: string) => placeOf(root, key);
  const storage: VideoStorage = {
    receive: async (key, { owner }) => receiveFile({ key, target: targetOf(key) }, owner, targetOf),

    async write(key, content) {
      const target = targetOf(key);
      await asStorageFault(() => replaceFile(target, newPartName(partMark(key, '')), content));
      return { uri: pathToFileURL(target).href };
    },

    read: async (key) => readFileAt(targetOf(key)),

    async readPart(key, part) {
      const target = targetOf(key);
      return isPartName(part) ? readFileAt(join(dirname(target), part)) : undefined;
    },

    probe: (limitMs) =>
      probing({ place: root, limitMs, fixFor: fixForFolder }, async () => {
        const key = newProbeKey();
        // What cannot be removed says less than what could not be written.
        const remove = () => rm(targetOf(key), { force: true }).catch(() => undefined);
        await writeAndRead(storage, key).finally(remove);
      }),

    sweep: (olderThanMs) => asStorageFault(() => removePartsBefore(Date.now() - olderThanMs, root)),
  };
  return storage;
}

/**
 * A write that a hung disk held up is of no use any more: whoever waited for it has given up, and what stands there by
 * then is newer. As long as S3 gets for the same.
 */
const REPLACE_WITHIN_MS = 60_000;

/** Keys come from callers: none may name a place outside the folder. */
function placeOf(root: string, key: string): string {
  const target = resolve(root, key);
  const inside = relative(root, target);
  if (
    inside === '' ||
    inside === '..' ||
    inside.startsWith(`..${sep}`) ||
    key.includes('\0') ||
    key.endsWith('/') ||
    // The sweeper would take it for a part.
    isPartName(basename(target))
  ) {
    throw new StorageFault(`the key ${JSON.stringify(key)} does not name a file inside the storage folder`);
  }
  return target;
}

async function replaceFile(target: string, temporaryName: string, content: string | Buffer): Promise<void> {
  const folder = dirname(target);
  const temporary = join(folder, temporaryName);
  const begunAtMs = performance.now();
  await mkdir(folder, { recursive: true });
  try {
    await writeDurably(temporary, content);
    if (performance.now() - begunAtMs > REPLACE_WITHIN_MS)
      throw new StorageFault('it took too long to write');
    await rename(temporary, target);
  } finally {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
  await syncFolder(folder);
}

async function writeDurably(path: string, content: string | Buffer): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(content);
    // A rename can survive a power cut that the bytes did not.
    await file.sync();
  } finally {
    await file.close();
  }
}

async function readFileAt(path: string): Promise<Readable | undefined> {
  const file = await asStorageFault(() => openIfFile(path));
  return file && storedReader(file.createReadStream());
}

async function openIfFile(path: string): Promise<FileHandle | undefined> {
  // Without O_NONBLOCK, opening a FIFO waits until somebody writes to it.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    const code = errorCode(error);
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
    return undefined;
  });
  if (file === undefined || (await file.stat()).isFile()) return file;
  await file.close();
  return undefined;
}
