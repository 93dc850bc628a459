import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { inTime } from '../client/temporal-calls';
import { ConfigError } from '../config/service-config';
import { itemName } from '../contract/batch';
import { printableJson, shown } from '../contract/clean-text';
import type { StoredVideo } from '../contract/job';
import { commandOn } from '../contract/lost-submit';
import { CopyFailed, checkOut, copyOut } from './copy-out';
import { EXIT } from './exit-codes';
import { findJob } from './find-job';
import { type JobsSession, onJob } from './open-jobs';
import { printLine, type Terminal } from './terminal';

/** `videogen download`: copies the stored video of an ended job to a file. */
export function download(
  workflowId: string,
  options: { out?: string; json?: boolean },
  terminal: Terminal,
): Promise<number> {
  return onJob(workflowId, terminal, async (session) => {
    await checkOut(options.out);
    const video = await storedVideo(session, workflowId);
    const target = resolve(options.out ?? fileNameFor(workflowId, video.uri));
    const isThere = options.out === undefined && (await isCopied(target, video));
    const file = isThere ? target : await copyOut(video.uri, target, terminal.env, video.sha256);
    const { bytes, sha256 } = video;
    printLine(terminal, `${isThere ? 'Already there' : 'Copied'}: ${bytes} bytes, SHA-256 ${sha256}.`);
    terminal.out(options.json ? printableJson({ workflowId, file, bytes, sha256 }) : file);
    return EXIT.ok;
  });
}

async function storedVideo(session: JobsSession, workflowId: string): Promise<StoredVideo> {
  const { kind, endedAt } = await findJob(session, workflowId);
  const name = shown(workflowId);
  if (kind === 'batch') {
    throw new ConfigError(
      `${name} is a batch: name one of its items, such as ${shown(itemName(workflowId, 1))}.`,
    );
  }
  if (endedAt === undefined) {
    throw new ConfigError(`${name} has not ended yet. Follow it with: ${commandOn('watch', workflowId)}`);
  }
  return (await inTime(session.client, () => session.videos.handle(workflowId).result())).video;
}

const LONGEST_FILE_NAME_CHARS = 100;

/** A file in this folder, named after the job: a name may contain anything. */
function fileNameFor(workflowId: string, uri: string): string {
  const safe = workflowId
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^[.-]+/, '_')
    .slice(0, LONGEST_FILE_NAME_CHARS)
    .replace(/\p{Cs}$/u, '');
  const extension = extname(uri);
  return `${safe}${/^\.\w{1,5}$/.test(extension) ? extension : '.mp4'}`;
}

/** Whether the file is the video already. Another file of that name is not replaced, because nobody named it. */
async function isCopied(target: string, { bytes, sha256 }: StoredVideo): Promise<boolean> {
  const stats = await lstat(target).catch(() => undefined);
  if (stats === undefined) return false;
  if (stats.isFile() && stats.size === bytes && (await digestOf(target)) === sha256) return true;
  throw new CopyFailed(`${target} exists and is another file`);
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
