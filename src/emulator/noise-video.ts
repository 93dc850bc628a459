import { createCipheriv, createHash } from 'node:crypto';
import type { VideoRequest } from '../contract/request';
import { writeMp4 } from '../media';
import { frameSize } from './frame-size';
import { wantedSeconds } from './wanted-seconds';

const BOX_HEAD_BYTES = 8;
const GREY = 0x80;

/**
 * A video of one grey picture, in the form that was asked for, with as much noise behind it as makes it that many bytes
 * large; a few thousand it has in any case. The same bytes for the same request, others for another.
 */
export async function noiseVideo(request: VideoRequest, bytes: number): Promise<Buffer> {
  const video = await greyVideo(request);
  const noise = Math.max(0, bytes - video.length - BOX_HEAD_BYTES);
  // A box that players pass over.
  const head = Buffer.alloc(BOX_HEAD_BYTES);
  head.writeUInt32BE(BOX_HEAD_BYTES + noise);
  head.write('free', 4, 'latin1');
  // The stream of a cipher is noise that can be made again, at the speed of a download.
  const seed = createHash('sha256').update(JSON.stringify(request)).digest();
  const stream = createCipheriv('aes-256-ctr', seed, Buffer.alloc(16));
  return Buffer.concat([video, head, stream.update(Buffer.alloc(noise))]);
}

/** By what they are told apart; there are no more of them than sizes and durations. */
const greyVideos = new Map<string, Promise<Buffer>>();

/** A test makes hundreds of noise videos, and one of these takes as long as thousands of bytes of noise. */
function greyVideo(request: VideoRequest): Promise<Buffer> {
  const { width, height } = frameSize(request);
  const frames = wantedSeconds(request);
  const key = `${width}x${height} ${frames}`;
  const made =
    greyVideos.get(key) ??
    writeMp4({ width, height, framesPerSecond: 1, frames, draw: (picture) => picture.data.fill(GREY) });
  greyVideos.set(key, made);
  return made;
}
