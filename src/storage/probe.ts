import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanText } from '../contract/clean-text';
import type { VideoStorage } from './storage';
import { StorageFault, StorageUnusable, storageFault } from './storage-fault';

/** A healthy storage needs at most a second. */
const PROBE_LIMIT_MS = 30_000;

/** Unique, so that the probes of two workers do not collide. */
export function newProbeKey(): string {
  return `.videogen-probe-${randomUUID()}`;
}

/** Stores a small file and reads it back. */
export async function writeAndRead(
  storage: Pick<VideoStorage, 'write' | 'read'>,
  key: string,
): Promise<void> {
  // Jobs read records that may not exist, and S3 answers that with AccessDenied unless the bucket may be listed.
  if ((await storage.read(key)) !== undefined)
    throw new StorageFault('it returned a file that was never stored');
  await storage.write(key, key, 'text/plain');
  const stored = await storage.read(key);
  // A web server that is not a storage may answer every request with success.
  if (stored === undefined || (await text(stored)) !== key) {
    throw new StorageFault('it did not return the file that was just stored');
  }
}

export interface Probe {
  /** Where the storage is, for the message. */
  location: string;
  limitMs?: number | undefined;
  fixFor(error: StorageFault): string;
}

/** Runs a probe. Any error, and no answer in time, becomes a StorageUnusable with the location and the fix. */
export async function runProbe(
  { location, limitMs, fixFor }: Probe,
  probe: () => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const timeout = sleep(limitMs ?? PROBE_LIMIT_MS, undefined, { signal: stop.signal }).then(() => {
    throw new StorageFault('no answer');
  });
  try {
    await Promise.race([probe(), timeout]);
  } catch (error) {
    const fault = storageFault(error);
    const { code } = fault;
    throw new StorageUnusable(
      location,
      cleanText(fault.message),
      fixFor(fault),
      code === undefined ? {} : { code },
    );
  } finally {
    stop.abort();
  }
}
