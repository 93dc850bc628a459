import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { StorageFault, type WholeVideo } from './storage';

export interface Stored {
  bytes: number;
  content: Readable;
}

/** Whether what is stored is this video, byte for byte. */
export async function isSameVideo(stored: Stored, whole: WholeVideo): Promise<boolean> {
  if (stored.bytes !== whole.bytes) {
    stored.content.destroy();
    return false;
  }
  const hash = createHash('sha256');
  for await (const chunk of stored.content) hash.update(chunk);
  return hash.digest('hex') === whole.sha256;
}

export function keyTaken(key: string): StorageFault {
  return new StorageFault(
    `the key ${JSON.stringify(key)} is taken by another file: give the job another key, or move that file away`,
    { isFinal: true },
  );
}

export function notWhole(given: number, whole: WholeVideo): StorageFault {
  return new StorageFault(`the storage was given ${given} bytes of a video of ${whole.bytes}`);
}
