import { createHash, randomUUID } from 'node:crypto';
import { lstat, open, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../config/service-config';
import { readS3Connection } from '../config/storage-config';
import { firstLineOf } from '../contract/error-code';
import { createS3Storage, makeFolder, syncFolder } from '../storage';

/** The video is stored, but could not be copied. Nothing needs to be generated again. */
export class CopyFailed extends Error {
  override readonly name = 'CopyFailed';

  constructor(problem: string) {
    super(
      `${problem.replace(/\.$/, '')}. Set --out to another file, and run the command again: nothing is paid again.`,
    );
  }
}

/** Refuses a target that a copy would destroy: a device, a FIFO, a folder or any link. */
export async function checkOut(out: string | undefined): Promise<void> {
  if (out === undefined) return;
  const target = resolve(out);
  // Other problems of the path are reported when it is written.
  const stats = await lstat(target).catch(() => undefined);
  if (stats !== undefined && !stats.isFile())
    throw new CopyFailed(`${target} exists and is not a regular file, so it is not replaced`);
}

/**
 * Copies the stored video to `out`, completely or not at all. Returns where the video is. With a SHA-256, a file that has
 * another one is not kept.
 */
export async function copyOut(
  uri: string,
  out: string | undefined,
  env?: Environment,
  sha256?: string,
): Promise<string> {
  const stored = uri.startsWith('file:') ? fileURLToPath(uri) : uri;
  if (out === undefined) return stored;
  await checkOut(out);
  const target = resolve(out);
  // Others may write to the folder, so the name cannot be guessed and must not exist.
  const temporary = join(dirname(target), `.videogen-${randomUUID()}.part`);
  try {
    const copied = await copyTo(temporary, await openStored(uri, env));
    if (sha256 !== undefined && copied !== sha256)
      throw new Error(`it is no longer the video of the job: its SHA-256 is ${copied}, not ${sha256}`);
    await rename(temporary, target);
    await syncFolder(dirname(target));
    return target;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new CopyFailed(
      `The video is at ${stored}, but could not be copied to ${target}: ${firstLineOf(error)}`,
    );
  }
}

/** Returns the SHA-256 of what was written. */
async function copyTo(path: string, video: Readable): Promise<string> {
  const hash = createHash('sha256');
  try {
    await makeFolder(dirname(path));
    const file = await open(path, 'wx');
    try {
      for await (const chunk of video) {
        hash.update(chunk);
        await file.writeFile(chunk);
      }
      // A power cut can keep the new name and lose the bytes.
      await file.sync();
    } finally {
      await file.close();
    }
    return hash.digest('hex');
  } finally {
    video.destroy();
  }
}

/** Opens a stored file for reading. */
export async function openStored(uri: string, env?: Environment): Promise<Readable> {
  // Opened first, because a stream reports a missing file before anything listens for errors.
  if (uri.startsWith('file:')) return (await open(fileURLToPath(uri))).createReadStream();
  if (!uri.startsWith('s3:')) throw new Error('this process cannot read its storage');
  const [, bucket = ''] = /^s3:\/\/([^/]+)\//.exec(uri) ?? [];
  const object = await createS3Storage({ bucket, ...readS3Connection(env) }).open?.(uri);
  if (object === undefined) throw new Error('it no longer exists');
  return object;
}
