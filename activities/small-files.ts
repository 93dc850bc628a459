import type { Readable } from 'node:stream';
import { RECORD_IO_MS } from '../src/contract/policies';
import { asStorageFault, StorageFault } from '../src/storage';

/** Records and sidecars are a few kilobytes; no more than this is read of what stands in their place. */
const LARGEST_SMALL_FILE_BYTES = 1024 * 1024;

/** Whoever waits for a storage that does not answer holds a place, a rate limit and a shutdown up. */
export async function inTime<T>(work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fault = new StorageFault(`no answer within ${RECORD_IO_MS / 1_000} s`);
    timer = setTimeout(() => reject(fault), RECORD_IO_MS);
  });
  const worked = asStorageFault(work);
  // It may still fail when nobody listens any more.
  worked.catch(() => undefined);
  return Promise.race([worked, late]).finally(() => clearTimeout(timer));
}

/** The beginning of a file that is too large: its reader finds that it is not whole. */
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
