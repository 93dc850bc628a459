import { setImmediate as nextTurn } from 'node:timers/promises';
import { BufferTarget, EncodedPacket, EncodedVideoPacketSource, Mp4OutputFormat, Output } from 'mediabunny';
import { h264Parameters } from './h264-parameters';
import { H264Stream } from './h264-stream';
import { Picture } from './picture';
import { removeDates } from './undated';

export interface Film {
  /** Even numbers. */
  width: number;
  height: number;
  framesPerSecond: number;
  frames: number;
  /** Changes the picture of the frame before into that of this frame. */
  draw(picture: Picture, frame: number): void;
  /** Ends the work between two frames. */
  signal?: AbortSignal;
}

/**
 * A film as an MP4 file that plays while it loads, the same bytes for the same pictures.
 *
 * It is made on the event loop, with a turn for everybody else after each frame: a frame takes milliseconds, and a
 * thread would need its own compiled entry file, which does not exist where the sources run as TypeScript.
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
  // In memory, because only then the table of contents can stand before the pictures.
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

/** How colours are told as luma and chroma in video of high definition. */
const BT709 = { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', fullRange: false } as const;
