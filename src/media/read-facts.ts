import {
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
import type { KeptReader } from './kept-bytes';

/** Containers of video. Not playlists: a downloaded file shall not make anybody open other files and addresses. */
const FORMATS = [MP4, QTFF, WEBM, MATROSKA, MPEG_TS];

/** A broken file can send the reader in circles for ever; this many take a second. A whole one takes some dozens. */
const MOST_READS = 100_000;

export type VideoLook =
  | { kind: 'video'; facts: VideoFacts }
  /** One clause, for people: `it begins like a web page`. */
  | { kind: 'no-video'; reason: string };

/**
 * What a video of a container says about itself, as far as it was kept. The tables of the file are read, and its last
 * picture as bytes: no picture is decoded.
 */
export async function readFacts(kept: KeptReader, container: Container): Promise<VideoLook> {
  // A strange file is an answer here, and no reason to write to somebody's console.
  Logging.level = LogLevel.Silent;
  let reads = 0;
  const source = new CustomSource({
    getSize: () => kept.size,
    read: (start, end) => {
      reads++;
      // A transport stream is read packet by packet: a large one is no circle, and what comes later is not seen.
      kept.missed ||= reads > MOST_READS && container === 'ts';
      if (reads > MOST_READS) throw new Error('The file is read in circles.');
      return kept.read(start, end);
    },
    // Every read shall be counted, and the bytes are in memory already.
    maxCacheSize: 0,
    // Whoever waits for the bytes is told; nobody else has to know.
    handleUnhandledError: () => undefined,
  });
  const input = new Input({ formats: FORMATS, source });
  try {
    return await look(input, kept, container);
  } catch {
    // An error of the reader is about a file that it cannot make sense of, unless it could not see it.
    return kept.missed
      ? { kind: 'video', facts: { container } }
      : { kind: 'no-video', reason: 'its table of contents cannot be read' };
  } finally {
    input.dispose();
  }
}

async function look(input: Input, kept: KeptReader, container: Container): Promise<VideoLook> {
  // A form of the container that the reader does not know, such as QuickTime from before there were brands.
  if (!(await input.canRead())) return { kind: 'video', facts: { container } };
  const track = await input.getPrimaryVideoTrack();
  if (!track) return { kind: 'no-video', reason: 'no video track is in it' };
  const seen = <Fact>(fact: () => Promise<Fact>) => unlessUnseen(kept, fact);
  // First what is at the beginning, because the reads are counted.
  const width = (await seen(() => track.getDisplayWidth())) || undefined;
  const height = (await seen(() => track.getDisplayHeight())) || undefined;
  const codec = (await seen(() => track.getCodec())) ?? undefined;
  const last = await seen(() => new EncodedPacketSink(track).getPacket(Infinity));
  if (last === null) return { kind: 'no-video', reason: 'its last picture is not in it' };
  const durationSeconds = await duration(input, track, container, seen);
  return { kind: 'video', facts: { width, height, durationSeconds, codec, container } };
}

type Seen = <Fact>(fact: () => Promise<Fact>) => Promise<Fact | undefined>;

/** The end of the last picture; Matroska does not say how long that one is, but how long the whole is. */
async function duration(
  input: Input,
  track: InputVideoTrack,
  container: Container,
  seen: Seen,
): Promise<number | undefined> {
  const stated = (await seen(() => track.getDurationFromMetadata())) || undefined;
  if (stated !== undefined && (container === 'webm' || container === 'mkv')) return stated;
  return (await seen(() => input.computeDuration())) || stated;
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
