import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { errorCode } from '../contract/error-code';
import { createFile, writeDurably } from './create-file';
import { inFolder, removeIfEmpty, syncFolder } from './folders';
import { listFiles } from './list-files';
import { isPartName, newPartName, removePartsBefore } from './part-files';
import { newProbeKey, runProbe, writeAndRead } from './probe';
import { publishFile } from './publish-file';
import type { ByteRange, VideoStorage } from './storage';
import { asStorageFault, readWithFaults, StorageFault } from './storage-fault';
import { fixForFolder } from './storage-fixes';

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
  const storage: VideoStorage = {
    // On the disk of the storage a video is published by giving it another name.
    partsFolder: root,

    async publishFile(path, key, file) {
      const target = { key, path: pathOf(key) };
      return asStorageFault(() => publishFile(path, target, file));
    },

    async write(key, content) {
      const path = pathOf(key);
      await asStorageFault(() => replaceFile(path, newPartName(key), content));
      return { uri: pathToFileURL(path).href };
    },

    async create(key, content, { signal } = {}) {
      const path = pathOf(key);
      return asStorageFault(() => createFile(path, newPartName(key), content, signal));
    },

    read: async (key, { isStrict = false } = {}) => readFileAt(pathOf(key), { isStrict }),

    open: async (uri, range) => {
      const path = pathOfUri(root, uri);
      return path === undefined ? undefined : readFileAt(path, { range });
    },

    probe: (limitMs) =>
      runProbe({ location: root, limitMs, fixFor: fixForFolder }, async () => {
        const key = newProbeKey();
        // An error of the write says more than one of the removal.
        const remove = () => rm(pathOf(key)).catch(() => undefined);
        await writeAndRead(storage, key).finally(remove);
        await storage.create(key, '{}').finally(remove);
      }),

    sweep: (olderThanMs) => asStorageFault(() => removePartsBefore(Date.now() - olderThanMs, root)),

    list: (prefix) => listFiles(root, prefix),

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
  if (
    inside === '' ||
    inside === '..' ||
    inside.startsWith(`..${sep}`) ||
    key.includes('\0') ||
    key.endsWith('/') ||
    // The sweeper would remove it.
    isPartName(basename(path))
  ) {
    throw new StorageFault(`the key ${JSON.stringify(key)} does not name a file inside the storage folder`);
  }
  return path;
}

/** As long as a small write to S3 may take. A write that a hung disk delayed for longer could replace a newer file. */
const REPLACE_WITHIN_MS = 60_000;

async function replaceFile(path: string, temporaryName: string, content: string | Buffer): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, temporaryName);
  const startedAtMs = performance.now();
  try {
    const file = await inFolder(folder, () => open(temporary, 'wx'));
    await writeDurably(file, content);
    if (performance.now() - startedAtMs > REPLACE_WITHIN_MS)
      throw new StorageFault('the write took too long');
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary).catch(() => undefined);
    throw error;
  }
  await syncFolder(folder);
}

/** Records and sidecars are smaller: read at once, they need no stream of their own. */
const SMALL_FILE_BYTES = 64 * 1024;

async function readFileAt(
  path: string,
  { range, isStrict = false }: { range?: ByteRange | undefined; isStrict?: boolean } = {},
): Promise<Readable | undefined> {
  return asStorageFault(async () => {
    const found = await (isStrict ? openOnlyFile(path) : openIfFile(path));
    if (found === undefined) return undefined;
    const { file, bytes } = found;
    if (range !== undefined || bytes > SMALL_FILE_BYTES) return readWithFaults(file.createReadStream(range));
    try {
      return Readable.from([await file.readFile()], { objectMode: false });
    } finally {
      await file.close();
    }
  });
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

function unlessMissing(error: unknown): undefined {
  const code = errorCode(error);
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
  return undefined;
}

interface OpenFile {
  file: FileHandle;
  bytes: number;
}

// Without O_NONBLOCK, opening a FIFO waits for a writer.
const READ_AT_ONCE = constants.O_RDONLY | constants.O_NONBLOCK;

async function openIfFile(path: string): Promise<OpenFile | undefined> {
  const file = await open(path, READ_AT_ONCE).catch(unlessMissing);
  return file && unlessNotFile(file);
}

/** Undefined only when the name is free: `link` finds a broken link there too. */
async function openOnlyFile(path: string): Promise<OpenFile | undefined> {
  const notFile = new StorageFault(`${path} is not a regular file`);
  const file = await open(path, READ_AT_ONCE | constants.O_NOFOLLOW).catch((error: unknown) => {
    const code = errorCode(error);
    if (code === 'ENOENT') return undefined;
    throw code === 'ELOOP' ? notFile : error;
  });
  if (file === undefined) return undefined;
  const found = await unlessNotFile(file);
  if (found === undefined) throw notFile;
  return found;
}

async function unlessNotFile(file: FileHandle): Promise<OpenFile | undefined> {
  const found = await file.stat();
  if (found.isFile()) return { file, bytes: found.size };
  await file.close();
  return undefined;
}
