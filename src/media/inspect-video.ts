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
  WEBM,
} from 'mediabunny';
import type { Container, VideoFacts } from '../contract/video-facts';
import type { RetainedReader } from './retained-reader';
import { isUnbranded } from './sniff-container';
import { startsLikeCodec } from './starts-like-codec';
import { describeMissingSeconds, type StatedEnd, statedEnd } from './stated-end';
import { describeOversizedTable } from './table-counts';

/** No playlists: a downloaded file must not make a worker open other files and addresses. */
const FORMATS = [MP4, QTFF, WEBM, MATROSKA, MPEG_TS];

/** A broken file can make mediabunny read in circles; this many reads take half a second. A good file takes a few dozen. */
const MAX_READS = 50_000;

/** Makes an old QuickTime file, from before there were brands, look like a current one to mediabunny. */
const BRAND_AT = 4;
const BRAND = Buffer.from('ftypqt  ', 'latin1');

export type VideoInspection =
  | {
      kind: 'video';
      facts: VideoFacts;
      /** `checked`: the file states where it ends, and ends there. */
      end: 'checked' | 'not-stated';
    }
  /** The reason is one clause for the user: `it begins like a web page`. */
  | { kind: 'no-video'; reason: string };

const NO_PICTURE = 'it has no picture';
const noVideo = (reason: string): VideoInspection => ({ kind: 'no-video', reason });

/**
 * Reads the facts of a video, as far as it was retained: its tables, and the bytes of its first and last picture. No
 * picture is decoded. A hostile file can make this take any time and memory, so it runs in a process of its own.
 */
export async function inspectVideo(reader: RetainedReader, container: Container): Promise<VideoInspection> {
  // A strange file is a result, not a reason to write to the console.
  Logging.level = LogLevel.Silent;
  const oversized = describeOversizedTable(reader, container);
  if (oversized !== undefined) return noVideo(oversized);
  try {
    // A transport stream is read packet by packet from its beginning, as far as that was retained.
    const view = container === 'ts' ? reader.beginning() : reader;
    const isWhole = view.size === reader.size;
    return await withInput(view, container, (input) => inspectInput(input, view, container, isWhole));
  } catch {
    // mediabunny throws for a file that it cannot read.
    return noVideo('its tables cannot be read');
  }
}

async function withInput<Found>(
  reader: RetainedReader,
  container: Container,
  use: (input: Input) => Promise<Found>,
): Promise<Found> {
  const recognition = { isOver: false };
  const source =
    container === 'ts' ? new BufferSource(reader.available(0, reader.size)) : sourceOf(reader, recognition);
  const input = new Input({ formats: FORMATS, source });
  try {
    await input.getFormat();
    recognition.isOver = true;
    return await use(input);
  } finally {
    input.dispose();
  }
}

function sourceOf(reader: RetainedReader, recognition: { isOver: boolean }): CustomSource {
  let reads = 0;
  return new CustomSource({
    getSize: () => reader.size,
    read: (start, end) => {
      reads++;
      if (reads > MAX_READS) throw new Error('The file is read in circles.');
      const bytes = reader.read(start, end);
      return start === 0 && !recognition.isOver ? branded(bytes) : bytes;
    },
    // Every read must be counted, and the bytes are already in memory.
    maxCacheSize: 0,
    // The read itself rejects.
    handleUnhandledError: () => undefined,
  });
}

/** The first bytes of an old QuickTime file with a brand instead of its first box. */
function branded(bytes: Buffer): Buffer {
  if (!isUnbranded(bytes)) return bytes;
  const copy = Buffer.from(bytes);
  BRAND.copy(copy, BRAND_AT);
  return copy;
}

async function inspectInput(
  input: Input,
  reader: RetainedReader,
  container: Container,
  isWhole: boolean,
): Promise<VideoInspection> {
  const track = await input.getPrimaryVideoTrack();
  if (!track) return noVideo('it has no video track');
  const problem = await describeFirstPicture(track, reader, container);
  if (problem !== undefined) return noVideo(problem);
  const ifRetained = <Fact>(fact: () => Promise<Fact>) => readIfRetained(reader, fact);
  // First what is at the beginning, because the reads are counted.
  const width = positive(await ifRetained(() => track.getDisplayWidth()));
  const height = positive(await ifRetained(() => track.getDisplayHeight()));
  const codec = (await ifRetained(() => track.getCodec())) ?? undefined;
  if (!isWhole) return { kind: 'video', facts: { width, height, codec, container }, end: 'not-stated' };
  const last = await ifRetained(() => new EncodedPacketSink(track).getPacket(Infinity));
  if (last === null) return noVideo('its last picture is missing');
  const stated = positive(await ifRetained(() => track.getDurationFromMetadata()));
  const found = positive(await ifRetained(() => input.computeDuration()));
  const end = compareEnd(statedEnd(reader, container, stated), found);
  if (end.problem !== undefined) return noVideo(end.problem);
  // Matroska states the length of the whole video, but not of its last picture.
  const durationSeconds = isMatroska(container) ? (stated ?? found) : (found ?? stated);
  return {
    kind: 'video',
    facts: { width, height, durationSeconds, codec, container },
    end: end.isChecked ? 'checked' : 'not-stated',
  };
}

function compareEnd({ isChecked, problem, seconds }: StatedEnd, found: number | undefined): StatedEnd {
  if (isChecked || problem !== undefined || seconds === undefined || found === undefined) {
    return { isChecked, problem };
  }
  const missing = describeMissingSeconds(seconds, found);
  return { isChecked: missing === undefined, problem: missing };
}

/** What is wrong with the first picture of the tables, as far as it was retained. */
async function describeFirstPicture(
  track: InputVideoTrack,
  reader: RetainedReader,
  container: Container,
): Promise<string | undefined> {
  reader.missed = false;
  reader.fillsMissing = true;
  try {
    return await describePicture(track);
  } catch (error) {
    if (!reader.missed) throw error;
    reader.fillsMissing = false;
    return isMatroska(container) ? describeInBeginning(reader, container) : describePosition(track);
  } finally {
    reader.fillsMissing = false;
  }
}

async function describePicture(track: InputVideoTrack): Promise<string | undefined> {
  const first = await new EncodedPacketSink(track).getFirstPacket();
  if (!first) return NO_PICTURE;
  const config = await track.getDecoderConfig();
  const isPicture = startsLikeCodec(first.data, await track.getCodec(), config?.description);
  return isPicture ? undefined : 'its first picture is not valid';
}

/** A live recording does not state where its first Cluster ends; it may reach into the part that was not retained. */
function describeInBeginning(reader: RetainedReader, container: Container): Promise<string | undefined> {
  return withInput(reader.beginning(), container, async (input) => {
    const track = await input.getPrimaryVideoTrack();
    return track ? describePicture(track) : NO_PICTURE;
  });
}

/** The picture was not retained, but the tables must say where it is. */
async function describePosition(track: InputVideoTrack): Promise<string | undefined> {
  const position = await new EncodedPacketSink(track).getFirstPacket({ metadataOnly: true });
  return position && position.byteLength > 0 ? undefined : NO_PICTURE;
}

async function readIfRetained<Fact>(
  reader: RetainedReader,
  fact: () => Promise<Fact>,
): Promise<Fact | undefined> {
  reader.missed = false;
  try {
    return await fact();
  } catch (error) {
    if (reader.missed) return undefined;
    throw error;
  }
}

const isMatroska = (container: Container) => container === 'webm' || container === 'mkv';

const positive = (value: number | null | undefined) =>
  typeof value === 'number' && value > 0 && value < Infinity ? value : undefined;
