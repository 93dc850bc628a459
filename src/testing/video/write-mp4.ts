import { setImmediate as nextTurn } from 'node:timers/promises';
import { BufferTarget, EncodedPacket, EncodedVideoPacketSource, Mp4OutputFormat, Output } from 'mediabunny';
import { h264Parameters } from './h264-parameters';
import { H264Stream } from './h264-stream';
import { Picture } from './picture';

export interface Film {
  /** Even numbers. */
  width: number;
  height: number;
  framesPerSecond: number;
  frames: number;
  /** Changes the picture of the frame before into that of this frame. */
  draw(picture: Picture, frame: number): void;
  /** Stops the work between two frames. */
  signal?: AbortSignal;
}

/**
 * Writes a film as an MP4 file that plays while it loads. The same pictures always make the same bytes.
 *
 * It runs on the event loop and yields after each frame, which takes milliseconds. A thread would need its own compiled
 * entry file, which does not exist where the sources run as TypeScript.
 */
export async function writeMp4({
  width,
  height,
  framesPerSecond,
  frames,
  draw,
  signal,
}: Film): Promise<Buffer> {
  const picture = new Picture(width, height);
  const stream = new H264Stream(picture);
  const { codec, record } = h264Parameters(picture);
  const decoderConfig = {
    codec,
    codedWidth: width,
    codedHeight: height,
    description: record,
    colorSpace: BT709,
  };

  const target = new BufferTarget();
  // In memory, so that the tables can come before the pictures.
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: 'in-memory' }), target });
  const track = new EncodedVideoPacketSource('avc');
  output.addVideoTrack(track, { frameRate: framesPerSecond });
  await output.start();
  for (let frame = 0; frame < frames; frame++) {
    signal?.throwIfAborted();
    draw(picture, frame);
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

/** The colour space of high-definition video. */
const BT709 = { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', fullRange: false } as const;

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
