import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { VideoStorage } from './storage';
import { asStorageFault, StorageFault } from './storage-fault';

/** A storage that needs longer for a record of a few kilobytes counts as failed. */
export const RECORD_IO_MS = 5_000;

/** Records and sidecars have a few kilobytes; a larger file under their key is not one of them. */
export const LARGEST_SMALL_FILE_BYTES = 1024 * 1024;

/** S3's SDK repeats a call, but not a body that breaks off, or that another worker replaces meanwhile. */
const READS = 3;
const BETWEEN_READS_MS = 50;

/** A storage that does not answer must not block a worker slot, a rate limit and a shutdown. */
export async function inTime<T>(work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new StorageFault(`no answer within ${RECORD_IO_MS / 1_000} s`));
    timer = setTimeout(giveUp, RECORD_IO_MS);
  });
  return Promise.race([asStorageFault(work), late]).finally(() => clearTimeout(timer));
}

/** Cuts a file that is too large, so that its reader finds it incomplete. */
export async function readSmallText(stored: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stored) {
    bytes += chunk.length;
    if (bytes > LARGEST_SMALL_FILE_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The text under a key, in time; undefined when nothing is there. */
export function readSmallFile(
  storage: Pick<VideoStorage, 'read'>,
  key: string,
  options?: { isStrict?: boolean },
): Promise<string | undefined> {
  return inTime(async () => {
    for (let read = 1; ; read++) {
      const stored = await storage.read(key, options);
      try {
        return stored && (await readSmallText(stored));
      } catch (error) {
        if (read === READS) throw error;
      }
      await sleep(BETWEEN_READS_MS);
    }
  });
}

/** Stores an object as JSON, in time. */
export async function writeSmallJson(
  storage: Pick<VideoStorage, 'write'>,
  key: string,
  content: object,
): Promise<void> {
  await inTime(() => storage.write(key, smallJson(content), 'application/json'));
}

/** JSON that people can read. */
export function smallJson(content: object): string {
  return `${JSON.stringify(content, undefined, 2)}\n`;
}
