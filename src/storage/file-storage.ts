import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { errorCode } from '../contract/error-code';
import { createFile, makeFolder, moveFile, removeIfEmpty, replaceFile } from './disk-files';
import { isPartName, newPartName, removePartsBefore } from './part-file';
import { fixForFolder, newProbeKey, runProbe, writeAndRead } from './probe';
import type { ByteRange, ListedFile, VideoStorage } from './storage';
import { asStorageFault, readWithFaults, StorageFault, storageFault } from './storage-fault';

/**
 * Stores videos as files in one folder. A video is written there under a temporary name and then gets its own.
 *
 * @example
 * ```ts
 * const storage = createFileStorage('./videos');
 * ```
 */
export function createFileStorage(folder: string): VideoStorage {
  const root = resolve(folder);
  const pathOf = (key: string) => pathInside(root, key);
  const temporaryOf = (path: string, key: string) => join(dirname(path), newPartName(key));
  const storage: VideoStorage = {
    // On the disk of the storage a video is published by giving it another name.
    partsFolder: root,

    async publishFile(file, key, whole) {
      const path = pathOf(key);
      await asStorageFault(() => moveFile(file, { key, path, temporaryName: newPartName(key) }, whole));
      return { uri: pathToFileURL(path).href };
    },

    async write(key, content) {
      const path = pathOf(key);
      await asStorageFault(() => replaceFile(path, temporaryOf(path, key), content));
      return { uri: pathToFileURL(path).href };
    },

    async create(key, content, { signal } = {}) {
      const path = pathOf(key);
      return asStorageFault(() => createFile(path, temporaryOf(path, key), content, signal));
    },

    read: async (key) => readFileAt(pathOf(key)),

    open: async (uri, range) => {
      const path = pathOfUri(root, uri);
      return path === undefined ? undefined : readFileAt(path, range);
    },

    probe: (limitMs) =>
      runProbe({ location: root, limitMs, fixFor: fixForFolder }, async () => {
        // First: an error of the folder itself is easier to read than one of a file in it.
        await makeFolder(root);
        const key = newProbeKey();
        // An error of the write says more than one of the removal.
        const remove = () => rm(pathOf(key)).catch(() => undefined);
        await writeAndRead(storage, key).finally(remove);
        await storage.create(key, '{}').finally(remove);
      }),

    sweep: (olderThanMs) => asStorageFault(() => removePartsBefore(Date.now() - olderThanMs, root)),

    list: (prefix) => {
      const end = prefix.lastIndexOf('/') + 1;
      return listFiles(root, prefix.slice(0, end), prefix.slice(end));
    },

    async removeKey(key) {
      const path = pathOf(key);
      await asStorageFault(async () => {
        await rm(path, { force: true });
        await removeIfEmpty(dirname(path), root);
      });
    },

    keyOf: (uri) => {
      const path = pathOfUri(root, uri);
      return path === undefined ? undefined : relative(root, path).split(sep).join('/');
    },
  };
  return storage;
}

/** Keys come from callers: none may name a file outside the folder. */
function pathInside(root: string, key: string): string {
  const path = resolve(root, key);
  const inside = relative(root, path);
  const isOutside = inside === '' || inside === '..' || inside.startsWith(`..${sep}`);
  // The sweeper would remove a file with the name of a part.
  if (isOutside || key.includes('\0') || key.endsWith('/') || isPartName(basename(path)))
    throw new StorageFault(`the key ${JSON.stringify(key)} does not name a file inside the storage folder`);
  return path;
}

/** A uri comes from a history, which others may write: it names a file of this folder or none. */
function pathOfUri(root: string, uri: string): string | undefined {
  try {
    const path = fileURLToPath(uri);
    return pathInside(root, relative(root, path)) === path ? path : undefined;
  } catch {
    return undefined;
  }
}

/** Records and sidecars are smaller: read at once, they need no stream of their own. */
const SMALL_FILE_BYTES = 64 * 1024;

async function readFileAt(path: string, range?: ByteRange): Promise<Readable | undefined> {
  return asStorageFault(async () => {
    const file = await openRegular(path);
    if (file === undefined) return undefined;
    const { size } = await file.stat();
    if (range !== undefined || size > SMALL_FILE_BYTES) return readWithFaults(file.createReadStream(range));
    try {
      return Readable.from([await file.readFile()], { objectMode: false });
    } finally {
      await file.close();
    }
  });
}

// Without O_NONBLOCK, opening a FIFO waits for a writer.
const READ_AT_ONCE = constants.O_RDONLY | constants.O_NONBLOCK;

/** Undefined only when the name is free: anything but a regular file is an error, never an absence. */
async function openRegular(path: string): Promise<FileHandle | undefined> {
  const notFile = new StorageFault(`${path} is not a regular file`);
  const file = await open(path, READ_AT_ONCE).catch(async (error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
    // A broken link has the name.
    const found = await lstat(path).catch(() => undefined);
    if (found?.isSymbolicLink()) throw notFile;
    return undefined;
  });
  if (file === undefined || (await file.stat()).isFile()) return file;
  await file.close();
  throw notFile;
}

/** `folder` is empty, or ends with a slash. It is read when its turn comes, so a reader that stops early has read little. */
async function* listFiles(
  root: string,
  folder: string,
  start: string,
): AsyncGenerator<ListedFile, void, undefined> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(unlessGone([]));
  const named = entries.filter(({ name }) => name.startsWith(start) && !isPartName(name));
  named.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of named) {
    if (entry.isDirectory()) yield* listFiles(root, `${folder}${entry.name}/`, '');
    if (!entry.isFile()) continue;
    const key = `${folder}${entry.name}`;
    const found = await stat(join(root, key)).catch(unlessGone(undefined));
    if (found) yield { key, storedAt: found.mtime };
  }
}

function unlessGone<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return instead;
    throw storageFault(error);
  };
}
