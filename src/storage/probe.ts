import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanText } from '../contract/clean-text';
import { StorageFault, type VideoStorage } from './storage';
import { storageFault } from './storage-fault';
import { StorageUnusable } from './storage-unusable';

/** A healthy storage needs a second at most. */
const PROBE_LIMIT_MS = 30_000;

/** No two probes have the same, so that those of two workers do not meet. */
export function newProbeKey(): string {
  return `.videogen-probe-${randomUUID()}`;
}

/** Stores something small and reads it again. */
export async function writeAndRead(
  storage: Pick<VideoStorage, 'write' | 'read'>,
  key: string,
): Promise<void> {
  // A bucket that may not be listed answers as if it kept a secret, and jobs look for records that are not there yet.
  if ((await storage.read(key)) !== undefined) throw new StorageFault('what was never stored is there');
  await storage.write(key, key, 'text/plain');
  const stored = await storage.read(key);
  // Many a web server says yes to everything.
  if (stored === undefined || (await text(stored)) !== key) {
    throw new StorageFault('what was stored there is not there');
  }
}

export interface Probe {
  /** Where it is, in words. */
  place: string;
  limitMs?: number | undefined;
  fixFor(error: StorageFault): string;
}

/** Whatever goes wrong, or takes too long, is told with its place and its fix. */
export async function probing({ place, limitMs, fixFor }: Probe, work: () => Promise<void>): Promise<void> {
  const late = new AbortController();
  const silence = sleep(limitMs ?? PROBE_LIMIT_MS, undefined, { signal: late.signal }).then(() => {
    throw new StorageFault('no answer');
  });
  const worked = work();
  // Whoever comes second may fail, with nobody there to hear it.
  for (const outcome of [worked, silence]) outcome.catch(() => undefined);
  try {
    await Promise.race([worked, silence]);
  } catch (error) {
    const fault = storageFault(error);
    const { code } = fault;
    throw new StorageUnusable(
      place,
      cleanText(fault.message),
      fixFor(fault),
      code === undefined ? {} : { code },
    );
  } finally {
    late.abort();
  }
}
