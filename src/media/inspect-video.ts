import {
  CustomSource,
  EncodedPacketSink,
  Input,
  type InputVideoTrack,
  Logging,
  LogLevel,
  MATROSKA,
  MP4,
  QTFF,
  WEBM,
} from 'mediabunny';
import type { Container, VideoFacts } from '../contract/job';
import { FileBytes, type Outline } from './file-bytes';
import { outlineOfElements } from './matroska-elements';
import { outlineOfBoxes } from './mp4-boxes';
import { describeHead, HEAD_TO_SNIFF, sniffContainer } from './sniff-container';
import { startsLikeCodec } from './starts-like-codec';

/** No playlists: a downloaded file must not make a worker open other files and addresses. */
const FORMATS = [MP4, QTFF, WEBM, MATROSKA];

/** A fragment for each frame and track makes a quarter of this in an hour. To scan all of them takes a second. */
const MAX_PARTS = 1_000_000;

/**
 * A broken file can make mediabunny read in circles; this many reads take half a second, and a good file takes a few dozen. A
 * live recording without an index is read from its beginning to its end.
 */
const MAX_READS = 50_000;
const BYTES_A_READ = 4096;

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
    return await inspectContainer(file, container);
  } finally {
    file.close();
  }
}

const isMatroska = (container: Container) => container === 'webm' || container === 'mkv';

async function inspectContainer(file: FileBytes, container: Container): Promise<VideoInspection> {
  const source = new CustomSource({
    getSize: () => file.size,
    read: (start, end) => file.read(start, end),
    // Every read must be counted.
    maxCacheSize: 0,
    // The read itself rejects.
    handleUnhandledError: () => undefined,
  });
  const input = new Input({ formats: FORMATS, source });
  try {
    const outline = isMatroska(container) ? outlineOfElements(file) : outlineOfBoxes(file);
    if (outline.problem !== undefined) return noVideo(outline.problem);
    file.readsLeft = MAX_READS + file.size / BYTES_A_READ;
    return await inspectInput(input, container, outline);
  } catch {
    // mediabunny throws for a file that it cannot read, and each read for one of too many parts.
    return noVideo('its tables cannot be read');
  } finally {
    input.dispose();
  }
}

async function inspectInput(
  input: Input,
  container: Container,
  { isEndChecked }: Outline,
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
  };
  if ((await new EncodedPacketSink(track).getPacket(Infinity)) === null)
    return noVideo('its last picture is missing');
  const inMetadata = positive(await track.getDurationFromMetadata());
  const found = positive(await input.computeDuration());
  // Matroska states the length of the whole video, but not of its last picture.
  const durationSeconds = isMatroska(container) ? (inMetadata ?? found) : (found ?? inMetadata);
  return {
    kind: 'video',
    facts: { ...facts, durationSeconds },
    end: isEndChecked ? 'checked' : 'not-stated',
  };
}

async function describeFirstPicture(track: InputVideoTrack): Promise<string | undefined> {
  const first = await new EncodedPacketSink(track).getFirstPacket();
  if (!first) return 'it has no picture';
  const config = await track.getDecoderConfig();
  const isPicture = startsLikeCodec(first.data, await track.getCodec(), config?.description);
  return isPicture ? undefined : 'its first picture is not valid';
}

const positive = (value: number | null | undefined) =>
  typeof value === 'number' && value > 0 && value < Infinity ? value : undefined;
