import type { Readable } from 'node:stream';
import type { VideoStorage } from './storage';
import { asStorageFault, StorageFault } from './storage-fault';

/** A storage that needs longer for a record of a few kilobytes counts as failed. */
export const RECORD_IO_MS = 5_000;

/** Records and sidecars have a few kilobytes; a larger file under their key is not one of them. */
export const LARGEST_SMALL_FILE_BYTES = 1024 * 1024;

/** A storage that does not answer must not block a worker slot, a rate limit and a shutdown. */
export async function withinTime<T>(work: () => Promise<T>, limitMs = RECORD_IO_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new StorageFault(`no answer within ${limitMs / 1_000} s`));
    timer = setTimeout(giveUp, limitMs);
  });
  return Promise.race([asStorageFault(work), late]).finally(() => clearTimeout(timer));
}

/** A stored file, of which no more than this is read: a larger one is cut, so that its reader finds it incomplete. */
export async function readUpTo(stored: Readable, mostBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stored) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= mostBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, mostBytes);
}

/** The text under a key, in time; undefined when nothing is there. */
export function readSmallFile(storage: Pick<VideoStorage, 'read'>, key: string): Promise<string | undefined> {
  return withinTime(async () => {
    const stored = await storage.read(key);
    return stored && (await readUpTo(stored, LARGEST_SMALL_FILE_BYTES)).toString('utf8');
  });
}

/** Whether there is a file under a key, in time. Nothing of it is read. */
export function isStored(
  storage: Pick<VideoStorage, 'read'>,
  key: string,
  limitMs?: number,
): Promise<boolean> {
  return withinTime(async () => {
    const stored = await storage.read(key);
    stored?.destroy();
    return stored !== undefined;
  }, limitMs);
}

/** Stores an object as JSON, in time. */
export async function writeSmallJson(
  storage: Pick<VideoStorage, 'write'>,
  key: string,
  content: object,
): Promise<void> {
  await withinTime(() => storage.write(key, smallJson(content), 'application/json'));
}

/** JSON that people can read. */
export function smallJson(content: object): string {
  return `${JSON.stringify(content, undefined, 2)}\n`;
}
