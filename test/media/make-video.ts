import {
  BufferTarget,
  EncodedPacket,
  EncodedVideoPacketSource,
  MkvOutputFormat,
  MovOutputFormat,
  Mp4OutputFormat,
  MpegTsOutputFormat,
  Output,
  type OutputFormat,
} from 'mediabunny';
import { h264Parameters } from '../../src/media/h264-parameters';
import { H264Stream } from '../../src/media/h264-stream';
import { Picture } from '../../src/media/picture';

/** The same film in every form that services send. */
export const FORMS = {
  'MP4 that begins with its tables': () => new Mp4OutputFormat({ fastStart: 'in-memory' }),
  'MP4 that ends with its tables': () => new Mp4OutputFormat({ fastStart: false }),
  'MP4 of fragments': () => new Mp4OutputFormat({ fastStart: 'fragmented' }),
  QuickTime: () => new MovOutputFormat({ fastStart: false }),
  Matroska: () => new MkvOutputFormat(),
  'Matroska of a live recording': () => new MkvOutputFormat({ appendOnly: true }),
  'MPEG transport stream': () => new MpegTsOutputFormat(),
} satisfies Record<string, () => OutputFormat>;

export type Form = keyof typeof FORMS;

/** Four seconds of noise at two frames a second. */
export async function makeVideo(form: Form, width = 64, height = 48): Promise<Buffer> {
  const picture = new Picture(width, height);
  const stream = new H264Stream(picture);
  const { codec, record } = h264Parameters(picture);
  const decoderConfig = { codec, codedWidth: width, codedHeight: height, description: record };
  const target = new BufferTarget();
  const output = new Output({ format: FORMS[form](), target });
  const track = new EncodedVideoPacketSource('avc');
  output.addVideoTrack(track);
  await output.start();
  for (let frame = 0; frame < 8; frame++) {
    for (let at = 0; at < picture.data.length; at++) picture.data[at] = (at * 31 + frame * 7) % 251;
    const { key, data } = stream.next();
    const packet = new EncodedPacket(data, key ? 'key' : 'delta', frame / 2, 1 / 2);
    await track.add(packet, key ? { decoderConfig } : undefined);
  }
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

export function isForm(name: string): name is Form {
  return name in FORMS;
}
