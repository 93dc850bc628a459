import { createHash } from 'node:crypto';
import type { StoredVideo } from '../contract/job';
import type { VideoStorage } from '../storage';
import { CallError } from './call-error';
import type { ModelVideo } from './video-model-types';

/**
 * How a model hands videos over. `bytes`: read from the storage, as `ai` expects. `link`: a link of the storage, which `ai`
 * downloads. `stored`: not at all; they stay in the storage, and the metadata says where.
 */
export type Delivery = 'bytes' | 'link' | 'stored';

/** `ai` keeps every video in memory, and once more as base64 text if that is asked for. */
export const DEFAULT_MAX_VIDEO_BYTES = 256 * 1024 * 1024;

/** Time to hand a link to somebody; a download that has begun may take longer. */
const LINK_SECONDS = 60 * 60;

export interface DeliveryOptions {
  delivery: Delivery;
  maxVideoBytes: number;
  storage(): VideoStorage;
}

const ANOTHER_ONE = 'To make another one, call with providerOptions.videogen.fresh or another name.';

/** The videos of one call. What cannot be handed over is still stored, and the error says where. */
export async function deliver(
  found: readonly StoredVideo[],
  { delivery, maxVideoBytes, storage }: DeliveryOptions,
): Promise<ModelVideo[]> {
  if (delivery === 'bytes') refuseTooLarge(found, maxVideoBytes);
  const videos: ModelVideo[] = [];
  // One after the other, because each is a whole video in memory.
  for (const video of found) videos.push(await DELIVER[delivery](video, storage));
  return videos;
}

const DELIVER: Record<Delivery, (video: StoredVideo, storage: () => VideoStorage) => Promise<ModelVideo>> = {
  bytes: async (video, storage) => ({
    type: 'binary',
    data: await readVideo(video, storage()),
    mediaType: video.contentType,
  }),
  link: async (video, storage) => ({
    type: 'url',
    url: await linkTo(video, storage()),
    mediaType: video.contentType,
  }),
  stored: async ({ contentType }) => ({ type: 'uploaded', mediaType: contentType }),
};

/** Every value of `Delivery`. */
export const DELIVERIES = Object.keys(DELIVER);

function refuseTooLarge(found: readonly StoredVideo[], maxVideoBytes: number): void {
  const bytes = found.reduce((sum, video) => sum + video.bytes, 0);
  if (bytes <= maxVideoBytes) return;
  const uris = found.map(({ uri }) => uri).join(', ');
  throw unread(
    `The AI SDK keeps videos in memory, and ${uris} has ${bytes} bytes, more than the ${maxVideoBytes} that are allowed: raise maxVideoBytes of videoModel, or set its delivery to link or stored.`,
  );
}

async function readVideo(video: StoredVideo, storage: VideoStorage): Promise<Uint8Array> {
  const { uri, bytes, sha256 } = video;
  const stream = await storage.open?.(uri);
  if (stream === undefined) {
    throw unread(
      `The video is stored at ${uri}, which this process cannot read: set VIDEOGEN_STORAGE here as on the workers (or the option storage of videoModel), or set delivery to stored to get its address alone. If it was removed: ${ANOTHER_ONE.replace(/^To/, 'to')}`,
    );
  }
  const data = new Uint8Array(bytes);
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of stream) {
    if (size + chunk.length > bytes) throw changed(video, 'it is longer');
    data.set(chunk, size);
    hash.update(chunk);
    size += chunk.length;
  }
  if (size < bytes) throw changed(video, 'it is shorter');
  const found = hash.digest('hex');
  if (found !== sha256) throw changed(video, `its SHA-256 is ${found}, not ${sha256}`);
  return data;
}

const changed = ({ uri }: StoredVideo, how: string) =>
  unread(`The file ${uri} is no longer the video of the job: ${how}. Find out what has changed it.`);

async function linkTo({ uri }: StoredVideo, storage: VideoStorage): Promise<string> {
  const key = storage.keyOf?.(uri);
  const validity = { from: new Date(), seconds: LINK_SECONDS };
  const link = key === undefined ? undefined : await storage.link?.(key, validity);
  if (link !== undefined) return link;
  throw unread(
    `The video is stored at ${uri}, to which this storage makes no link: only S3 does. Set delivery of videoModel to bytes or stored.`,
  );
}

/** Nothing is repeated: the video is there, and reading it again would end the same way. */
const unread = (message: string) => new CallError(message, { isRetryable: false });
