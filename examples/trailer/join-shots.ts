import { ApplicationFailure } from '@temporalio/common';
import {
  BufferSource,
  BufferTarget,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  Input,
  type InputVideoTrack,
  MP4,
  Mp4OutputFormat,
  Output,
  QTFF,
  WEBM,
} from 'mediabunny';

type Encoding = NonNullable<Awaited<ReturnType<InputVideoTrack['getDecoderConfig']>>>;

interface Film {
  pictures: EncodedVideoPacketSource;
  encoding: Encoding;
  seconds: number;
}

/**
 * Joins several videos into one MP4. Pictures are copied, not encoded again, and an MP4 has one codec configuration for all
 * of them, so all shots must have the same. Sound is left out.
 */
export async function joinShots(shots: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const target = new BufferTarget();
  // `fastStart` lets a browser play the file before it has all of it.
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: 'in-memory' }), target });
  let film: Film | undefined;
  let number = 0;
  for await (const shot of shots) {
    number += 1;
    const input = new Input({ source: new BufferSource(shot), formats: [MP4, QTFF, WEBM] });
    try {
      const track = await input.getPrimaryVideoTrack();
      const encoding = await track?.getDecoderConfig();
      if (!track || !encoding)
        throw unfit(`Shot ${number} cannot be read: its format or its codec is unknown`);
      film ??= await beginFilm(output, track, encoding);
      if (!areAlike(encoding, film.encoding)) {
        throw unfit(
          `Shot ${number} has another encoding than shot 1 (${describe(encoding)}, ${describe(film.encoding)})`,
        );
      }
      await append(film, track);
    } finally {
      input.dispose();
    }
  }
  if (!film) throw unfit('There are no shots');
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

async function beginFilm(output: Output, track: InputVideoTrack, encoding: Encoding): Promise<Film> {
  const codec = await track.getCodec();
  if (!codec) throw unfit('The codec of the shots is unknown');
  const pictures = new EncodedVideoPacketSource(codec);
  output.addVideoTrack(pictures);
  await output.start();
  return { pictures, encoding, seconds: 0 };
}

/** Packets arrive in decoding order, which may differ from the order of display. */
async function append(film: Film, track: InputVideoTrack): Promise<void> {
  const shift = film.seconds - (await track.getFirstTimestamp());
  for await (const packet of new EncodedPacketSink(track).packets()) {
    const timestamp = packet.timestamp + shift;
    await film.pictures.add(packet.clone({ timestamp }), { decoderConfig: film.encoding });
    film.seconds = Math.max(film.seconds, timestamp + packet.duration);
  }
}

function areAlike(a: Encoding, b: Encoding): boolean {
  return describe(a) === describe(b) && bytesOf(a).equals(bytesOf(b));
}

function describe({ codec, codedWidth, codedHeight }: Encoding): string {
  return `${codec} ${codedWidth}x${codedHeight}`;
}

function bytesOf({ description }: Encoding): Buffer {
  if (description === undefined) return Buffer.alloc(0);
  return ArrayBuffer.isView(description)
    ? Buffer.from(description.buffer, description.byteOffset, description.byteLength)
    : Buffer.from(description);
}

/** A retry would get the same shots. */
function unfit(what: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    `${what}: ask for the same resolution and aspect ratio in all shots, or join them with a program that encodes again, such as ffmpeg.`,
    'ShotsDoNotFit',
  );
}
