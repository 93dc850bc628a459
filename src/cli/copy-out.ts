import { createHash, randomUUID } from 'node:crypto';
import { lstat, open, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../config/service-config';
import { readS3Connection } from '../config/storage-config';
import { errorCode } from '../contract/error-code';
import { createS3Storage, makeFolder, syncFolder } from '../storage';
import { firstLineOf } from './doctor/described-error';

/** The video is stored, but could not be copied. Nothing needs to be generated again. */
export class CopyFailed extends Error {
  override readonly name = 'CopyFailed';

  constructor(problem: string, fix = 'Set --out to a file that can be written, and run the command again.') {
    super(`${problem.replace(/\.$/, '')}. ${fix}`);
  }
}

/** Refuses a target that a copy would destroy: a device, a FIFO, a folder or any link. */
export async function checkOut(out: string | undefined): Promise<void> {
  const problem = out === undefined ? undefined : await targetProblem(resolve(out));
  if (problem !== undefined) throw new CopyFailed(problem);
}

async function targetProblem(target: string): Promise<string | undefined> {
  const stats = await lstat(target).catch((error: unknown) => {
    // Other problems of the path are reported when it is written.
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CopyFailed(`${target} cannot be written: ${firstLineOf(error)}`);
  });
  if (stats === undefined || stats.isFile()) return undefined;
  return `${target} exists and is not a regular file, so it is not replaced`;
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
  const target = resolve(out);
  const problem = await targetProblem(target);
  if (problem !== undefined) throw new CopyFailed(`The video is at ${stored}, but ${problem}`);
  // Others may write to the folder, so the name cannot be guessed and must not exist.
  const temporary = join(dirname(target), `.videogen-${randomUUID()}.part`);
  try {
    const copied = await copyTo(temporary, await openStored(uri, env));
    if (sha256 !== undefined && copied !== sha256) throw changed(stored, copied, sha256);
    await rename(temporary, target);
    await syncFolder(dirname(target));
    return target;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    if (error instanceof CopyFailed) throw error;
    throw new CopyFailed(
      `The video is at ${stored}, but could not be copied to ${target}: ${firstLineOf(error)}`,
    );
  }
}

const changed = (stored: string, found: string, sha256: string) =>
  new CopyFailed(
    `The file ${stored} is no longer the video of the job: its SHA-256 is ${found}, not ${sha256}`,
    'Find out what has changed it; a job that adopts the task stores the video again while the service still has it.',
  );

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
