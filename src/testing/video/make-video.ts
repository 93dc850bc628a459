import { createCipheriv, createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BufferTarget, EncodedPacket, EncodedVideoPacketSource, Mp4OutputFormat, Output } from 'mediabunny';
import type { VideoRequest } from '../../contract/request';
import { H264Stream, h264Parameters } from './h264';
import { Mosaic } from './mosaic';
import { scene } from './scene';

/** The values of a request that leaves these fields out. */
const DEFAULT_RESOLUTION = '720p';
const DEFAULT_ASPECT_RATIO = '16:9';
const DEFAULT_DURATION_SECONDS = 5;

/** Enough to show motion and tenths of a second; more frames would make the files larger. */
const FRAMES_PER_SECOND = 10;

/** A playable video that shows its request. The same request always makes the same bytes. */
export function pictureVideo(request: VideoRequest, signal?: AbortSignal): Promise<Buffer> {
  const picture = new Mosaic(...frameSize(request));
  const frames = durationSeconds(request) * FRAMES_PER_SECOND;
  const colourAt = scene(request, picture, frames);
  return writeMp4(
    { picture, framesPerSecond: FRAMES_PER_SECOND, frames },
    (frame) => picture.paint(colourAt(frame)),
    signal,
  );
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

const GREY = 0x808080;

/** By size and duration, of which there are few. */
const greyVideos = new Map<string, Promise<Buffer>>();

/** Cached: a test makes hundreds of noise videos, and encoding takes far longer than the noise. */
function greyVideo(request: VideoRequest): Promise<Buffer> {
  const size = frameSize(request);
  const frames = durationSeconds(request);
  const key = [...size, frames].join();
  const picture = new Mosaic(...size);
  picture.paint(() => GREY);
  const video = greyVideos.get(key) ?? writeMp4({ picture, framesPerSecond: 1, frames });
  greyVideos.set(key, video);
  return video;
}

/** The resolution is the shorter side. The longer side follows from the ratio and is even, as chroma requires. */
function frameSize({
  resolution = DEFAULT_RESOLUTION,
  aspect_ratio = DEFAULT_ASPECT_RATIO,
}: VideoRequest): [width: number, height: number] {
  const [across = 1, down = 1] = aspect_ratio.split(':').map(Number);
  const shorter = Number.parseInt(resolution, 10);
  const longer = 2 * Math.round((shorter * Math.max(across, down)) / Math.min(across, down) / 2);
  return across >= down ? [longer, shorter] : [shorter, longer];
}

/** The interface sets no minimum, so zero and negative durations get the default. */
function durationSeconds({ duration = 0 }: VideoRequest): number {
  return duration > 0 ? duration : DEFAULT_DURATION_SECONDS;
}

/** The colour space of high-definition video. */
const BT709 = { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', fullRange: false } as const;

interface Shot {
  picture: Mosaic;
  framesPerSecond: number;
  frames: number;
}

/**
 * Writes an MP4 file that plays while it loads. `draw` changes the picture before each frame. The same pictures always make
 * the same bytes.
 *
 * It runs on the event loop and yields after each frame, which takes milliseconds. A thread would need its own compiled
 * entry file, which does not exist where the sources run as TypeScript.
 */
async function writeMp4(
  { picture, framesPerSecond, frames }: Shot,
  draw: (frame: number) => void = () => undefined,
  signal?: AbortSignal,
): Promise<Buffer> {
  const { width, height } = picture;
  const stream = new H264Stream(picture);
  const { codec, record: description } = h264Parameters(picture);
  const decoderConfig = { codec, codedWidth: width, codedHeight: height, description, colorSpace: BT709 };
  const target = new BufferTarget();
  // In memory, so that the tables can come before the pictures.
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: 'in-memory' }), target });
  const track = new EncodedVideoPacketSource('avc');
  output.addVideoTrack(track, { frameRate: framesPerSecond });
  await output.start();
  for (let frame = 0; frame < frames; frame++) {
    signal?.throwIfAborted();
    draw(frame);
    const { key, data } = stream.next();
    const kind = key ? 'key' : 'delta';
    const packet = new EncodedPacket(data, kind, frame / framesPerSecond, 1 / framesPerSecond);
    await track.add(packet, key ? { decoderConfig } : undefined);
    await nextTurn();
  }
  await output.finalize();
  if (!target.buffer) throw new Error('The MP4 file was not finished.');
  const file = Buffer.from(target.buffer);
  removeDates(file);
  return file;
}

/** Boxes with a creation time, each of them once in a file of one track, and before its pictures. */
const DATED = ['mvhd', 'tkhd', 'mdhd'];
/** Version and flags come first, then the times of creation and modification, of four bytes each. */
const VERSION_BYTES = 4;
const TIMES_BYTES = 8;

/** Sets the times to zero, so that the same pictures make the same bytes. */
function removeDates(file: Buffer): void {
  for (const type of DATED) {
    const timesAt = file.indexOf(type) + type.length + VERSION_BYTES;
    file.fill(0, timesAt, timesAt + TIMES_BYTES);
  }
}
