import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VideoFailure } from '../contract';

/** Puts the stored video where the caller wants it, whole or not at all; answers where the video is. */
export async function copyOut(uri: string, out: string | undefined): Promise<string> {
  const stored = uri.startsWith('file:') ? fileURLToPath(uri) : uri;
  if (out === undefined) return stored;
  const target = resolve(out);
  const temporary = `${target}.${process.pid}.part`;
  try {
    await mkdir(dirname(target), { recursive: true });
    await copyFile(stored, temporary);
    await rename(temporary, target);
    return target;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    const reason = error instanceof Error ? error.message : String(error);
    throw new VideoFailure('StorageFailed', {
      message: `the video is at ${stored}, but not at ${target}: ${reason}`,
    });
  }
}
