import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { HashingFile } from './hashing-file';
import { StorageFault, type VideoStorage } from './storage';

/** Videos as files below one folder: written beside their place under a temporary name, then renamed into it. */
export function createFileStorage(folder: string): VideoStorage {
  const root = resolve(folder);
  return {
    async save(key, video, { signal, onBytes, accept } = {}) {
      // The connection may break before the pipeline listens, and an error nobody listens to ends the process.
      video.on('error', () => undefined);
      const { target, temporary, file } = await openBeside(root, key).catch((error: unknown) => {
        // Nobody will read it, and the connection behind it is not to stay open until it times out.
        video.destroy();
        throw error;
      });
      try {
        const sink = new HashingFile(file, onBytes);
        await pipeline(video, sink, { signal });
        const written = sink.written();
        accept?.(written);
        // A rename can survive a power cut that the bytes did not.
        await asStorageFault(() => file.sync());
        await asStorageFault(() => rename(temporary, target));
        return { uri: pathToFileURL(target).href, ...written };
      } finally {
        await file.close().catch(() => undefined);
        await rm(temporary, { force: true }).catch(() => undefined);
      }
    },
  };
}

async function openBeside(root: string, key: string) {
  const target = placeOf(root, key);
  const temporary = join(dirname(target), `.${randomUUID()}.part`);
  const file = await asStorageFault(async () => {
    await mkdir(dirname(target), { recursive: true });
    return open(temporary, 'wx');
  });
  return { target, temporary, file };
}

/** Keys come from callers: none may name a place outside the folder. */
function placeOf(root: string, key: string): string {
  const target = resolve(root, key);
  const inside = relative(root, target);
  if (
    inside === '' ||
    inside === '..' ||
    inside.startsWith(`..${sep}`) ||
    key.includes('\0') ||
    key.endsWith('/')
  ) {
    throw new StorageFault(`the key ${JSON.stringify(key)} does not name a file inside the storage folder`);
  }
  return target;
}

async function asStorageFault<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new StorageFault(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
