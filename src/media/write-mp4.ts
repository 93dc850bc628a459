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

/** Boxes with a creation time, and their parents. */
const DATED = new Set(['mvhd', 'tkhd', 'mdhd']);
const PARENTS = new Set(['moov', 'trak', 'mdia']);
const BOX_HEADER_BYTES = 8;

/** Sets the times of creation and modification to zero, so that the same pictures make the same bytes. */
function removeDates(file: Buffer, start = 0, end = file.length): void {
  for (let box = start; box + BOX_HEADER_BYTES <= end; ) {
    const size = file.readUInt32BE(box);
    const type = file.toString('latin1', box + 4, box + 8);
    if (PARENTS.has(type)) removeDates(file, box + BOX_HEADER_BYTES, box + size);
    if (DATED.has(type)) {
      const versionAt = box + BOX_HEADER_BYTES;
      // Version 1 has times of eight bytes, version 0 of four; both times follow version and flags.
      const timeBytes = file[versionAt] === 1 ? 8 : 4;
      file.fill(0, versionAt + 4, versionAt + 4 + 2 * timeBytes);
    }
    // 0 is "to the end of the file" and 1 is "longer than 4 GiB": media data, after which no dated box comes.
    if (size < BOX_HEADER_BYTES) return;
    box += size;
  }
}
