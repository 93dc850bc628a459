import { createHash } from 'node:crypto';
import { lstat, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../config/service-config';
import { readS3Connection } from '../config/storage-config';
import { firstLineOf } from '../contract/error-code';
import { createS3Storage, readStoredVideo, replaceFile } from '../storage';

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
  try {
    // First: a video that is gone must not look like a folder that is missing.
    const source = await openStored(uri, env);
    await replaceFile(target, verified(source, sha256)).finally(() => source.destroy());
    return target;
  } catch (error) {
    throw new CopyFailed(
      `The video is at ${stored}, but could not be copied to ${target}: ${firstLineOf(error)}`,
    );
  }
}

/** The video; an error at its end if it has another SHA-256, so that the copy gets no name. */
async function* verified(source: Readable, sha256: string | undefined) {
  const hash = createHash('sha256');
  for await (const chunk of source) {
    hash.update(chunk);
    yield chunk;
  }
  const copied = hash.digest('hex');
  if (sha256 !== undefined && copied !== sha256)
    throw new Error(`it is no longer the video of the job: its SHA-256 is ${copied}, not ${sha256}`);
}

/** Opens a stored file for reading. */
export async function openStored(uri: string, env?: Environment): Promise<Readable> {
  // Opened first, because a stream reports a missing file before anything listens for errors.
  if (uri.startsWith('file:')) return (await open(fileURLToPath(uri))).createReadStream();
  if (!uri.startsWith('s3:')) throw new Error('this process cannot read its storage');
  const [, bucket = ''] = /^s3:\/\/([^/]+)\//.exec(uri) ?? [];
  const object = await readStoredVideo(createS3Storage({ bucket, ...readS3Connection(env) }), uri);
  if (object === undefined) throw new Error('it no longer exists');
  return object;
}
