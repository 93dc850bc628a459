import {
  BufferSource,
  CustomSource,
  EncodedPacketSink,
  Input,
  type InputVideoTrack,
  Logging,
  LogLevel,
  MATROSKA,
  MP4,
  MPEG_TS,
  QTFF,
  type Source,
  WEBM,
} from 'mediabunny';
import type { Container, VideoFacts } from '../contract/job';
import { FileBytes, type Outline, TooMuchToRead } from './file-bytes';
import { outlineOfElements } from './matroska-elements';
import { outlineOfBoxes } from './mp4-boxes';
import { describeHead, HEAD_TO_SNIFF, isUnbranded, sniffContainer, tsPacketBytes } from './sniff-container';
import { startsLikeCodec } from './starts-like-codec';

/** No playlists: a downloaded file must not make a worker open other files and addresses. */
const FORMATS = [MP4, QTFF, WEBM, MATROSKA, MPEG_TS];

/** A fragment for each frame and track makes a quarter of this in an hour. To scan all of them takes a second. */
const MAX_PARTS = 1_000_000;

/**
 * A broken file can make mediabunny read in circles; this many reads take half a second, and a good file takes a few dozen. A
 * live recording without an index is read from its beginning to its end.
 */
const MAX_READS = 50_000;
const BYTES_A_READ = 4096;

/** A transport stream is read packet by packet: of a longer one only the beginning, without its duration. */
const TS_BEGINNING_BYTES = 8 * 1024 * 1024;

export type VideoInspection =
  | {
      kind: 'video';
      facts: VideoFacts & { container: Container };
      /** `checked`: the file states where it ends, and ends there. */
      end: 'checked' | 'not-stated';
    }
  /** The reason is one clause for the user: `it begins like a web page`. */
  | { kind: 'no-video'; reason: string };

const noVideo = (reason: string): VideoInspection => ({ kind: 'no-video', reason });

/**
 * Reads the facts of a video file, and whether it is complete: its outermost parts, its tables, and the bytes of its first
 * and last picture. No picture is decoded. A hostile file can make this take any time and memory, so it runs in a process
 * of its own.
 */
export async function inspectVideo(path: string): Promise<VideoInspection> {
  // A strange file is a result, not a reason to write to the console.
  Logging.level = LogLevel.Silent;
  const file = new FileBytes(path);
  try {
    file.readsLeft = MAX_PARTS;
    const head = file.read(0, HEAD_TO_SNIFF);
    const container = sniffContainer(head);
    if (container === undefined) return noVideo(describeHead(head));
    const outline = outlineOf(file, container, head);
    if (outline.problem !== undefined) return noVideo(outline.problem);
    file.readsLeft = MAX_READS + file.size / BYTES_A_READ;
    return await inspectTracks(file, container, outline);
  } finally {
    file.close();
  }
}

function outlineOf(file: FileBytes, container: Container, head: Buffer): Outline {
  try {
    switch (container) {
      case 'mp4':
      case 'mov':
        return outlineOfBoxes(file);
      case 'webm':
      case 'mkv':
        return outlineOfElements(file);
      case 'ts':
        return file.size % (tsPacketBytes(head) ?? 1) === 0
          ? {}
          : { problem: 'it ends within a packet of its transport stream' };
    }
  } catch (error) {
    if (!(error instanceof TooMuchToRead)) throw error;
    const parts = container === 'mp4' || container === 'mov' ? 'boxes' : 'elements';
    return { problem: `it has more ${parts} than any video needs` };
  }
}

async function inspectTracks(
  file: FileBytes,
  container: Container,
  outline: Outline,
): Promise<VideoInspection> {
  const recognition = { isOver: false };
  const source =
    container === 'ts' ? new BufferSource(file.read(0, TS_BEGINNING_BYTES)) : sourceOf(file, recognition);
  const input = new Input({ formats: FORMATS, source });
  try {
    await input.getFormat();
    recognition.isOver = true;
    return await inspectInput(
      input,
      container,
      outline,
      container !== 'ts' || file.size <= TS_BEGINNING_BYTES,
    );
  } catch {
    // mediabunny throws for a file that it cannot read.
    return noVideo('its tables cannot be read');
  } finally {
    input.dispose();
  }
}

function sourceOf(file: FileBytes, recognition: { isOver: boolean }): Source {
  return new CustomSource({
    getSize: () => file.size,
    read: (start, end) => {
      const bytes = file.read(start, end);
      return start === 0 && !recognition.isOver ? branded(bytes) : bytes;
    },
    // Every read must be counted.
    maxCacheSize: 0,
    // The read itself rejects.
    handleUnhandledError: () => undefined,
  });
}

/** Makes an old QuickTime file, from before there were brands, look like a current one to mediabunny. */
const BRAND_AT = 4;
const BRAND = Buffer.from('ftypqt  ', 'latin1');

function branded(bytes: Buffer): Buffer {
  if (!isUnbranded(bytes)) return bytes;
  const copy = Buffer.from(bytes);
  BRAND.copy(copy, BRAND_AT);
  return copy;
}

async function inspectInput(
  input: Input,
  container: Container,
  { isEndChecked = false, statedSeconds, c2paBytes = 0 }: Outline,
  isWhole: boolean,
): Promise<VideoInspection> {
  const track = await input.getPrimaryVideoTrack();
  if (!track) return noVideo('it has no video track');
  const problem = await describeFirstPicture(track);
  if (problem !== undefined) return noVideo(problem);
  const facts = {
    width: positive(await track.getDisplayWidth()),
    height: positive(await track.getDisplayHeight()),
    codec: (await track.getCodec()) ?? undefined,
    container,
    ...(c2paBytes > 0 && { c2pa: { bytes: c2paBytes } }),
  };
  if (!isWhole) return { kind: 'video', facts, end: 'not-stated' };
  if ((await new EncodedPacketSink(track).getPacket(Infinity)) === null)
    return noVideo('its last picture is missing');
  const inMetadata = positive(await track.getDurationFromMetadata());
  const found = positive(await input.computeDuration());
  const stated = statedSeconds === 'in its metadata' ? inMetadata : statedSeconds;
  const missing = stated && found && describeMissingSeconds(stated, found);
  if (missing) return noVideo(missing);
  // Matroska states the length of the whole video, but not of its last picture.
  const isMatroska = container === 'webm' || container === 'mkv';
  const durationSeconds = isMatroska ? (inMetadata ?? found) : (found ?? inMetadata);
  const isChecked = isEndChecked || (stated !== undefined && found !== undefined);
  return {
    kind: 'video',
    facts: { ...facts, durationSeconds },
    end: isChecked ? 'checked' : 'not-stated',
  };
}

async function describeFirstPicture(track: InputVideoTrack): Promise<string | undefined> {
  const first = await new EncodedPacketSink(track).getFirstPacket();
  if (!first) return 'it has no picture';
  const config = await track.getDecoderConfig();
  const isPicture = startsLikeCodec(first.data, await track.getCodec(), config?.description);
  return isPicture ? undefined : 'its first picture is not valid';
}

/** More than a frame, the sound of some frames, and what editing cuts from the beginning. */
const TOLERANCE_SECONDS = 1;
const TOLERANCE_SHARE = 0.02;

function describeMissingSeconds(stated: number, found: number): string | undefined {
  if (stated - found <= Math.max(TOLERANCE_SECONDS, stated * TOLERANCE_SHARE)) return undefined;
  const [says, ends] = [stated, found].map((seconds) => Number(seconds.toFixed(2)));
  return `it says that it is ${says} s long, but ends after ${ends} s`;
}

const positive = (value: number | null | undefined) =>
  typeof value === 'number' && value > 0 && value < Infinity ? value : undefined;
