import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../config/service-config';
import { readS3Connection } from '../config/storage-config';
import { errorCode } from '../contract/errors';
import { readS3Uri } from '../storage';
import { wordsOf } from './doctor/described-error';

/** The job has done its work: nothing is to be adopted or generated again. */
export class CopyFailed extends Error {
  override readonly name = 'CopyFailed';

  constructor(happened: string) {
    super(
      `${happened.replace(/\.$/, '')}. Give --out a file that can be written, and run the command again.`,
    );
  }
}

/** Refuses a target that a copy would destroy: a device, a FIFO, a folder, or a link, wherever it leads. */
export async function checkOut(out: string | undefined): Promise<void> {
  const problem = out === undefined ? undefined : await targetProblem(resolve(out));
  if (problem !== undefined) throw new CopyFailed(problem);
}

async function targetProblem(target: string): Promise<string | undefined> {
  const there = await lstat(target).catch((error: unknown) => {
    // What else is wrong with the path is told when it is written to.
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CopyFailed(`${target} cannot be written: ${wordsOf(error)}`);
  });
  if (there === undefined || there.isFile()) return undefined;
  return `${target} exists and is not a regular file, so it is not replaced`;
}

/** Puts the stored video where the caller wants it, whole or not at all; answers where the video is. */
export async function copyOut(uri: string, out: string | undefined, env?: Environment): Promise<string> {
  const stored = uri.startsWith('file:') ? fileURLToPath(uri) : uri;
  if (out === undefined) return stored;
  const target = resolve(out);
  const problem = await targetProblem(target);
  if (problem !== undefined) throw new CopyFailed(`The video is at ${stored}, but ${problem}`);
  // A name that nobody can guess, opened only if it is new: others may write to the folder.
  const temporary = join(dirname(target), `.videogen-${randomUUID()}.part`);
  try {
    const video = await openStored(uri, env);
    await mkdir(dirname(target), { recursive: true }).catch((error: unknown) => {
      video.destroy();
      throw error;
    });
    await pipeline(video, createWriteStream(temporary, { flags: 'wx' }));
    await rename(temporary, target);
    return target;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new CopyFailed(`The video is at ${stored}, but not at ${target}: ${wordsOf(error)}`);
  }
}

/** What is stored at an address, from wherever this process can reach it. */
export async function openStored(uri: string, env?: Environment): Promise<Readable> {
  // Opened before it is read: a stream that cannot open its file says so when nobody listens yet.
  if (uri.startsWith('file:')) return (await open(fileURLToPath(uri))).createReadStream();
  if (!uri.startsWith('s3:')) throw new Error('it cannot be read from here');
  const object = await readS3Uri(uri, readS3Connection(env));
  if (object === undefined) throw new Error('it is no longer there');
  return object;
}
