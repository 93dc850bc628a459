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
import { isDecodable } from './is-decodable';
import type { KeptReader } from './kept-reader';
import { isUnbranded } from './sniff-container';
import { describeMissingSeconds, type StatedEnd, statedEnd } from './stated-end';
import { describeTables } from './table-counts';

/** Containers of video. Not playlists: a downloaded file shall not make anybody open other files and addresses. */
const FORMATS = [MP4, QTFF, WEBM, MATROSKA, MPEG_TS];

/** A broken file can send the reader in circles; this many take half a second. A whole one takes some dozens. */
const MOST_READS = 50_000;

/** A QuickTime file from before there were brands, told to the reader as one of today. */
const BRAND_AT = 4;
const BRAND = Buffer.from('ftypqt  ', 'latin1');

export type VideoInspection =
  | {
      kind: 'video';
      facts: VideoFacts;
      /** Whether the file itself says where it ends, and does end there. */
      end: 'checked' | 'not-stated';
    }
  /** One clause, for people: `it begins like a web page`. */
  | { kind: 'no-video'; reason: string };

const NO_PICTURE = 'no picture is in it';
const noVideo = (reason: string): VideoInspection => ({ kind: 'no-video', reason });

/**
 * What a video of a container says about itself, as far as it was kept. Its tables are read, and its first and its last
 * picture as bytes: no picture is decoded. What came from outside can make this take any time and memory, so it runs in
 * a process of its own.
 */
export async function inspectVideo(kept: KeptReader, container: Container): Promise<VideoInspection> {
  // A strange file is an answer here, and no reason to write to somebody's console.
  Logging.level = LogLevel.Silent;
  const bomb = describeTables(kept, container);
  if (bomb !== undefined) return noVideo(bomb);
  try {
    // A transport stream is read packet by packet from its beginning, as far as that was kept.
    const view = container === 'ts' ? kept.beginning() : kept;
    const isWhole = view.size === kept.size;
    return await withInput(view, container, (input) => inspectInput(input, view, container, isWhole));
  } catch {
    // An error of the reader is about a file that it cannot make sense of.
    return noVideo('its table of contents cannot be read');
  }
}

async function withInput<Found>(
  kept: KeptReader,
  container: Container,
  use: (input: Input) => Promise<Found>,
): Promise<Found> {
  const recognition = { isOver: false };
  const source =
    container === 'ts' ? new BufferSource(kept.seen(0, kept.size)) : readingOf(kept, recognition);
  const input = new Input({ formats: FORMATS, source });
  try {
    await input.getFormat();
    recognition.isOver = true;
    return await use(input);
  } finally {
    input.dispose();
  }
}

function readingOf(kept: KeptReader, recognition: { isOver: boolean }): CustomSource {
  let reads = 0;
  return new CustomSource({
    getSize: () => kept.size,
    read: (start, end) => {
      reads++;
      if (reads > MOST_READS) throw new Error('The file is read in circles.');
      const bytes = kept.read(start, end);
      return start === 0 && !recognition.isOver ? branded(bytes) : bytes;
    },
    // Every read shall be counted, and the bytes are in memory already.
    maxCacheSize: 0,
    // Whoever waits for the bytes is told; nobody else has to know.
    handleUnhandledError: () => undefined,
  });
}

/** The first bytes of a QuickTime file with a brand in the place of whatever its first box is, unless that is one. */
function branded(bytes: Buffer): Buffer {
  if (!isUnbranded(bytes)) return bytes;
  const copy = Buffer.from(bytes);
  BRAND.copy(copy, BRAND_AT);
  return copy;
}

async function inspectInput(
  input: Input,
  kept: KeptReader,
  container: Container,
  isWhole: boolean,
): Promise<VideoInspection> {
  const track = await input.getPrimaryVideoTrack();
  if (!track) return noVideo('no video track is in it');
  const problem = await describeFirstPicture(track, kept, container);
  if (problem !== undefined) return noVideo(problem);
  const seen = <Fact>(fact: () => Promise<Fact>) => unlessUnseen(kept, fact);
  // First what is at the beginning, because the reads are counted.
  const width = positive(await seen(() => track.getDisplayWidth()));
  const height = positive(await seen(() => track.getDisplayHeight()));
  const codec = (await seen(() => track.getCodec())) ?? undefined;
  if (!isWhole) return { kind: 'video', facts: { width, height, codec, container }, end: 'not-stated' };
  const last = await seen(() => new EncodedPacketSink(track).getPacket(Infinity));
  if (last === null) return noVideo('its last picture is not in it');
  const stated = positive(await seen(() => track.getDurationFromMetadata()));
  const found = positive(await seen(() => input.computeDuration()));
  const end = compareEnd(statedEnd(kept, container, stated), found);
  if (end.problem !== undefined) return noVideo(end.problem);
  // Matroska does not say how long its last picture is, but how long the whole is.
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

/** What is wrong with the first picture that the tables tell of, as far as that picture was kept. */
async function describeFirstPicture(
  track: InputVideoTrack,
  kept: KeptReader,
  container: Container,
): Promise<string | undefined> {
  kept.missed = false;
  kept.fillsUnseen = true;
  try {
    return await describePicture(track);
  } catch (error) {
    if (!kept.missed) throw error;
    kept.fillsUnseen = false;
    return isMatroska(container) ? describeInBeginning(kept, container) : describePlace(track);
  } finally {
    kept.fillsUnseen = false;
  }
}

async function describePicture(track: InputVideoTrack): Promise<string | undefined> {
  const first = await new EncodedPacketSink(track).getFirstPacket();
  if (!first) return NO_PICTURE;
  const config = await track.getDecoderConfig();
  const isPicture = isDecodable(first.data, await track.getCodec(), config?.description);
  return isPicture ? undefined : 'its first picture is none';
}

/** A live recording does not say where its first Cluster ends, which may be in the middle that is gone. */
function describeInBeginning(kept: KeptReader, container: Container): Promise<string | undefined> {
  return withInput(kept.beginning(), container, async (input) => {
    const track = await input.getPrimaryVideoTrack();
    return track ? describePicture(track) : NO_PICTURE;
  });
}

/** The picture is gone with the middle: where it was must be in tables that are not. */
async function describePlace(track: InputVideoTrack): Promise<string | undefined> {
  const place = await new EncodedPacketSink(track).getFirstPacket({ metadataOnly: true });
  return place && place.byteLength > 0 ? undefined : NO_PICTURE;
}

async function unlessUnseen<Fact>(kept: KeptReader, fact: () => Promise<Fact>): Promise<Fact | undefined> {
  kept.missed = false;
  try {
    return await fact();
  } catch (error) {
    if (kept.missed) return undefined;
    throw error;
  }
}

const isMatroska = (container: Container) => container === 'webm' || container === 'mkv';

const positive = (value: number | null | undefined) =>
  typeof value === 'number' && value > 0 && value < Infinity ? value : undefined;
