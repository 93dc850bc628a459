import { createCipheriv, createHash } from 'node:crypto';
import type { VideoRequest } from '../../contract/request';
import { paintLayers } from './layer';
import { scene } from './scene';
import { writeMp4 } from './write-mp4';

/** The values of a request that leaves these fields out. */
const DEFAULT_RESOLUTION = '720p';
const DEFAULT_ASPECT_RATIO = '16:9';
const DEFAULT_DURATION_SECONDS = 5;

/** Enough to show motion and tenths of a second; more frames would make the files larger. */
const FRAMES_PER_SECOND = 10;

/** A playable video that shows its request. The same request always makes the same bytes. */
export function pictureVideo(request: VideoRequest, signal?: AbortSignal): Promise<Buffer> {
  const shot = {
    ...frameSize(request),
    framesPerSecond: FRAMES_PER_SECOND,
    frames: durationSeconds(request) * FRAMES_PER_SECOND,
  };
  const layers = scene(request, shot);
  return writeMp4({ ...shot, signal, draw: (picture, frame) => paintLayers(picture, layers, frame) });
}

const BOX_HEADER_BYTES = 8;

/**
 * A video of one grey picture in the requested size and duration, padded with noise to `bytes` bytes; the smallest one
 * has a few thousand. The same request always makes the same bytes, and different requests make different ones.
 */
export async function noiseVideo(request: VideoRequest, bytes: number): Promise<Buffer> {
  const video = await greyVideo(request);
  const noiseBytes = Math.max(0, bytes - video.length - BOX_HEADER_BYTES);
  // Players skip a `free` box.
  const header = Buffer.alloc(BOX_HEADER_BYTES);
  header.writeUInt32BE(BOX_HEADER_BYTES + noiseBytes);
  header.write('free', 4, 'latin1');
  // A cipher stream is repeatable noise, made as fast as a download reads it.
  const seed = createHash('sha256').update(JSON.stringify(request)).digest();
  const noise = createCipheriv('aes-256-ctr', seed, Buffer.alloc(16));
  return Buffer.concat([video, header, noise.update(Buffer.alloc(noiseBytes))]);
}

const GREY = 0x80;

/** By size and duration, of which there are few. */
const greyVideos = new Map<string, Promise<Buffer>>();

/** Cached: a test makes hundreds of noise videos, and encoding takes far longer than the noise. */
function greyVideo(request: VideoRequest): Promise<Buffer> {
  const { width, height } = frameSize(request);
  const frames = durationSeconds(request);
  const key = `${width}x${height} ${frames}`;
  const video =
    greyVideos.get(key) ??
    writeMp4({ width, height, framesPerSecond: 1, frames, draw: (picture) => picture.data.fill(GREY) });
  greyVideos.set(key, video);
  return video;
}

/** The resolution is the shorter side. The longer side follows from the ratio and is even, as chroma requires. */
function frameSize({ resolution = DEFAULT_RESOLUTION, aspect_ratio = DEFAULT_ASPECT_RATIO }: VideoRequest): {
  width: number;
  height: number;
} {
  const [across = 1, down = 1] = aspect_ratio.split(':').map(Number);
  const shorter = Number.parseInt(resolution, 10);
  const longer = 2 * Math.round((shorter * Math.max(across, down)) / Math.min(across, down) / 2);
  return across >= down ? { width: longer, height: shorter } : { width: shorter, height: longer };
}

/** The interface sets no minimum, so zero and negative durations get the default. */
function durationSeconds({ duration = 0 }: VideoRequest): number {
  return duration > 0 ? duration : DEFAULT_DURATION_SECONDS;
}
