import { type FileHandle, lstat, open, readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createFile, isPartName, makeFolder, moveFile, replaceFile, syncFolder, unless } from './disk-files';
import { removeOldParts } from './part-file';
import { fixForFolder, probeStorage } from './probe';
import type { ListedFile, VideoStorage } from './storage';
import { asStorageFault, readWithFaults, StorageFault } from './storage-fault';

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

    async publishFile(file, key, whole) {
      const path = pathOf(key);
      await asStorageFault(() => moveFile(file, { key, path }, whole));
      return { uri: pathToFileURL(path).href };
    },

    async write(key, content) {
      const path = pathOf(key);
      await asStorageFault(() => replaceFile(path, content));
      return { uri: pathToFileURL(path).href };
    },

    create: async (key, content) => asStorageFault(async () => createFile(pathOf(key), content)),

    read: async (key, range) => {
      const file = await asStorageFault(() => openRegular(pathOf(key)));
      return file && readWithFaults(file.createReadStream(range));
    },

    probe: (limitMs) =>
      probeStorage(storage, { location: root, limitMs, fixFor: fixForFolder, open: () => makeFolder(root) }),

    sweep: (olderThanMs) =>
      asStorageFault(() =>
        // A folder of another user, such as `lost+found`, contains no parts.
        removeOldParts(root, keysIn(root, { skipped: [...GONE, 'EACCES', 'EPERM'] }), olderThanMs),
      ),

    async *list(prefix): AsyncGenerator<ListedFile, void, undefined> {
      const end = prefix.lastIndexOf('/') + 1;
      for await (const key of keysIn(root, { folder: prefix.slice(0, end), start: prefix.slice(end) })) {
        if (isPartName(basename(key))) continue;
        const found = await stat(join(root, key)).catch(unless(GONE, undefined));
        if (found) yield { key, storedAt: found.mtime };
      }
    },

    removeKey: async (key) =>
      asStorageFault(async () => {
        const path = pathOf(key);
        await rm(path, { force: true });
        await syncFolder(dirname(path));
      }),

    /** A uri comes from a history, which others may write: it names a file of this folder or none. */
    keyOf: (uri) => {
      try {
        const path = fileURLToPath(uri);
        const key = relative(root, path).split(sep).join('/');
        return pathOf(key) === path ? key : undefined;
      } catch {
        return undefined;
      }
    },
  };
  return storage;
}

/** Keys come from callers: none may name a file outside the folder. */
function pathInside(root: string, key: string): string {
  const path = resolve(root, key);
  const inside = relative(root, path);
  const isOutside = inside === '' || inside === '..' || inside.startsWith(`..${sep}`);
  // The janitor would remove a file with the name of a part.
  if (isOutside || key.includes('\0') || key.endsWith('/') || isPartName(basename(path)))
    throw new StorageFault(`the key ${JSON.stringify(key)} does not name a file inside the storage folder`);
  return path;
}

/** Undefined only when the name is free: anything but a regular file is an error, never an absence. */
async function openRegular(path: string): Promise<FileHandle | undefined> {
  const found = await lstat(path).catch(unless(['ENOENT'], undefined));
  if (found === undefined) return undefined;
  // A broken link has the name, and opening a FIFO waits for a writer.
  const isFile = await stat(path).then((file) => file.isFile(), unless([...GONE, 'ELOOP'], false));
  if (!isFile) throw new StorageFault(`${path} is not a regular file`);
  // It may have been removed meanwhile.
  return open(path).catch(unless(['ENOENT'], undefined));
}

/** Other processes may remove files meanwhile. */
const GONE: readonly unknown[] = ['ENOENT', 'ENOTDIR'];

/**
 * The keys of files, in the order of their names; links are not followed. A folder, which is empty or ends with a slash, is
 * read when its turn comes, so a reader that stops early has read little.
 */
async function* keysIn(
  root: string,
  { folder = '', start = '', skipped = GONE },
): AsyncGenerator<string, void, undefined> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(unless(skipped, []));
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries.filter(({ name }) => name.startsWith(start))) {
    const key = `${folder}${entry.name}`;
    if (entry.isDirectory()) yield* keysIn(root, { folder: `${key}/`, skipped });
    if (entry.isFile()) yield key;
  }
}
