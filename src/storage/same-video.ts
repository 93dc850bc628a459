import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { FileToPublish } from './storage';
import { StorageFault } from './storage-fault';

/** Whether the stored file is this video, byte for byte. Not every server says how many bytes it has. */
export async function isSameVideo(
  stored: { bytes?: number | undefined; content: Readable },
  whole: Pick<FileToPublish, 'bytes' | 'sha256'>,
): Promise<boolean> {
  if (stored.bytes !== undefined && stored.bytes !== whole.bytes) {
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

export function incomplete(foundBytes: number, bytes: number): StorageFault {
  return new StorageFault(`the file has ${foundBytes} bytes, but the video has ${bytes}`);
}
