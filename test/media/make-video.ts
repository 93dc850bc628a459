import {
  BufferTarget,
  EncodedPacket,
  EncodedVideoPacketSource,
  MkvOutputFormat,
  MovOutputFormat,
  Mp4OutputFormat,
  Output,
  type OutputFormat,
  WebMOutputFormat,
} from 'mediabunny';
import { H264Stream, h264Parameters } from '../../src/testing/video/h264';
import { Mosaic } from '../../src/testing/video/mosaic';

/** The formats that services send. */
export const FORMS = {
  'MP4 that begins with its tables': () => new Mp4OutputFormat({ fastStart: 'in-memory' }),
  'MP4 that ends with its tables': () => new Mp4OutputFormat({ fastStart: false }),
  'MP4 of fragments': () => new Mp4OutputFormat({ fastStart: 'fragmented' }),
  QuickTime: () => new MovOutputFormat({ fastStart: false }),
  Matroska: () => new MkvOutputFormat(),
  'Matroska of a live recording': () => new MkvOutputFormat({ appendOnly: true }),
  WebM: () => new WebMOutputFormat(),
} satisfies Record<string, () => OutputFormat>;

export type Form = keyof typeof FORMS;

/** Four seconds of coloured squares at two frames per second; a file of fragments has one fragment per key frame. */
export async function makeVideo(form: Form, width = 64, height = 48, framesPerKey = 8): Promise<Buffer> {
  const picture = new Mosaic(width, height);
  let stream = new H264Stream(picture);
  const { codec, record } = h264Parameters(picture);
  const decoderConfig = { codec, codedWidth: width, codedHeight: height, description: record };
  const vp8Config = { codec: 'vp8', codedWidth: width, codedHeight: height };
  const target = new BufferTarget();
  const output = new Output({ format: FORMS[form](), target });
  const isWebM = form === 'WebM';
  const track = new EncodedVideoPacketSource(isWebM ? 'vp8' : 'avc');
  output.addVideoTrack(track);
  await output.start();
  for (let frame = 0; frame < 8; frame++) {
    picture.colours.forEach((_, at, colours) => {
      colours[at] = (at * 310_307 + frame * 70_001) % 0xffffff;
    });
    if (frame % framesPerKey === 0) stream = new H264Stream(picture);
    const { key, data } = stream.next();
    const shown = isWebM ? asVp8(data, key, width, height) : data;
    const packet = new EncodedPacket(shown, key ? 'key' : 'delta', frame / 2, 1 / 2);
    await track.add(packet, key ? { decoderConfig: isWebM ? vp8Config : decoderConfig } : undefined);
  }
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

/** Starts like a picture of VP8, but cannot be decoded. */
function asVp8(data: Uint8Array, key: boolean, width: number, height: number): Uint8Array {
  const head = Buffer.from([key ? 0x10 : 0x11, 0, 0, 0x9d, 0x01, 0x2a, 0, 0, 0, 0]);
  head.writeUInt16LE(width, 6);
  head.writeUInt16LE(height, 8);
  return Buffer.concat([head, data]);
}

export function isForm(name: string): name is Form {
  return name in FORMS;
}
/** A box of an MP4 file, with this content or so many zeros. */
export function box(type: string, content: Buffer | number): Buffer {
  const bytes = typeof content === 'number' ? Buffer.alloc(content) : content;
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + bytes.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, bytes]);
}

/** Where the first box of a type begins, and how long it is. */
export function boxOf(file: Buffer, type: string): { at: number; size: number } {
  const at = file.indexOf(type) - 4;
  return { at, size: file.readUInt32BE(at) };
}
