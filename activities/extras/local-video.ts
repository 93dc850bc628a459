import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { StoredVideo } from '../../src/contract/job';
import type { Container } from '../../src/contract/video-facts';
import { CONTAINERS, type LocalVideo } from '../../src/media';
import { asStorageFault, type VideoStorage } from '../../src/storage';

/** The video is not in the storage any more, or it is another file now. */
export class VideoGone extends Error {
  override readonly name = 'VideoGone';
}

export type VideoToRead = Pick<StoredVideo, 'uri' | 'bytes' | 'sha256' | 'contentType'>;

const FOLDER_START = 'videogen-extras-';
/** No activity takes as long: whoever made the folder was killed. */
const STALE_AFTER_MS = 24 * 3_600_000;

/**
 * Runs work on a stored video as a file of this machine. A video in a folder is read where it is. From any other storage it is
 * copied, as far as it should be long, checked by its digest, and removed with the work.
 */
export async function withLocalVideo<T>(
  storage: VideoStorage,
  video: VideoToRead,
  signal: AbortSignal,
  work: (local: LocalVideo, folder: string) => Promise<T>,
): Promise<T> {
  const container = containerOf(video.contentType);
  if (container === undefined) throw new VideoGone(`nothing can be decoded of ${video.contentType}`);
  await removeStale();
  const folder = await mkdtemp(join(tmpdir(), FOLDER_START));
  try {
    const path = await pathOf(storage, video, { folder, signal });
    return await work({ path, container }, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function pathOf(
  storage: VideoStorage,
  video: VideoToRead,
  { folder, signal }: { folder: string; signal: AbortSignal },
): Promise<string> {
  const stored = await asStorageFault(async () => storage.open?.(video.uri));
  if (stored === undefined) throw new VideoGone('the video is no longer in the storage');
  if (video.uri.startsWith('file:')) {
    stored.destroy();
    return fileURLToPath(video.uri);
  }
  const path = join(folder, 'video');
  const hash = createHash('sha256');
  let bytes = 0;
  const counted = async function* () {
    for await (const chunk of stored) {
      bytes += chunk.length;
      if (bytes > video.bytes) throw new VideoGone('another file is stored in place of the video');
      hash.update(chunk);
      yield chunk;
    }
  };
  await pipeline(Readable.from(counted(), { objectMode: false }), createWriteStream(path), { signal });
  if (hash.digest('hex') !== video.sha256)
    throw new VideoGone('another file is stored in place of the video');
  return path;
}

function containerOf(contentType: string): Container | undefined {
  const names = Object.keys(CONTAINERS) as Container[];
  return names.find((name) => CONTAINERS[name].contentType === contentType);
}

/** What workers left that were killed. */
async function removeStale(): Promise<void> {
  const folders = await readdir(tmpdir()).catch(() => []);
  for (const name of folders.filter((one) => one.startsWith(FOLDER_START))) {
    const path = join(tmpdir(), name);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined || Date.now() - found.mtimeMs < STALE_AFTER_MS) continue;
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}
