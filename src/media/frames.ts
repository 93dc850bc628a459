import type { Container } from '../contract/video-facts';
import {
  FFMPEG_THREADS,
  FfmpegFailed,
  type FfmpegLimits,
  FRAMES_PIPE,
  PICTURE_PIPE,
  runFfmpeg,
} from './ffmpeg';

/** A video in a file of this machine. */
export interface LocalVideo {
  path: string;
  container: Container;
  /**
   * Whether every picture counts. By the letter of an MP4 file's edit list, a last picture that is shown for no time is not shown;
   * players show it until the end.
   */
  isWhole?: boolean;
}

export interface FrameTools {
  /** The executable. */
  ffmpeg: string;
  /** A folder to run in. */
  cwd: string;
  signal: AbortSignal;
  limits?: Partial<FfmpegLimits>;
  /** Those of 8K by default. A larger picture is refused before memory is taken for it. */
  mostPixels?: number;
}

/** A picture as PNG. */
export interface Frame {
  png: Buffer;
  width: number;
  height: number;
}

/**
 * The reader of each container. It is not left to ffmpeg to guess: a playlist that pretends to be a video would make it open other
 * files and addresses.
 */
const DEMUXERS: Record<Container, string> = {
  mp4: 'mov',
  mov: 'mov',
  webm: 'matroska',
  mkv: 'matroska',
  ts: 'mpegts',
};

/** What services send. A decoder that is not needed is not offered to a hostile file. */
const DECODERS = [
  ...['h264', 'hevc', 'vp8', 'vp9', 'libvpx', 'libvpx-vp9', 'av1', 'libdav1d', 'libaom-av1'],
  ...['mpeg4', 'mpeg2video', 'prores', 'vvc'],
];

const MOST_PIXELS = 7_680 * 4_320;

/** The first picture of the video as it is shown: rotated, and at its own size. */
export async function firstFrame(video: LocalVideo, tools: FrameTools): Promise<Frame> {
  return frameAt(video, 0, tools);
}

/**
 * The very last picture. Neither the length of the file nor an index says which it is: sound may go on longer, frames may come at
 * any times, and the last of them may be far from a keyframe. So all pictures are decoded and counted, and then the last one is
 * decoded again.
 */
export async function lastFrame(video: LocalVideo, tools: FrameTools): Promise<Frame> {
  const all = { ...video, isWhole: true };
  const count = await countFrames(all, tools);
  if (count === 0) throw new FfmpegFailed('the video has no picture that can be decoded');
  return frameAt(all, count - 1, tools);
}

async function countFrames(video: LocalVideo, tools: FrameTools): Promise<number> {
  const args = [...inputOf(video, tools), ...LINE_PER_FRAME, FRAMES_PIPE];
  return (await runFfmpeg({ ...tools, args })).frames;
}

async function frameAt(video: LocalVideo, index: number, tools: FrameTools): Promise<Frame> {
  const first = index === 0 ? ONE_FRAME : [];
  const chosen = index === 0 ? [] : ['-vf', `select=gte(n\\,${index})`];
  const { picture } = await runFfmpeg({
    ...tools,
    args: [
      ...inputOf(video, tools),
      ...[...LINE_PER_FRAME, ...first, FRAMES_PIPE],
      ...[...chosen, ...EVERY_FRAME, ...ONE_FRAME, ...AS_PNG, PICTURE_PIPE],
    ],
  });
  return { png: picture, ...sizeOf(picture) };
}

/** Once, at whatever times: none is repeated or dropped for an even rate. */
const EVERY_FRAME = ['-map', '0:v:0', '-fps_mode', 'passthrough', '-threads', String(FFMPEG_THREADS)];
const ONE_FRAME = ['-frames:v', '1'];
const AS_PNG = [
  ...['-map_metadata', '-1', '-flags:v', '+bitexact', '-c:v', 'png', '-pred', 'mixed'],
  ...['-f', 'image2pipe'],
];

/** Of a corner of each picture. When nobody reads the lines any more, because the worker is dead, ffmpeg ends. */
const LINE_PER_FRAME = ['-vf', 'crop=2:2:0:0', ...EVERY_FRAME, '-flush_packets', '1', '-f', 'framecrc'];

function inputOf(
  { path, container, isWhole = false }: LocalVideo,
  { mostPixels = MOST_PIXELS }: FrameTools,
): string[] {
  const demuxer = DEMUXERS[container];
  return [
    ...['-protocol_whitelist', 'file', '-f', demuxer],
    ...(isWhole && demuxer === 'mov' ? ['-ignore_editlist', '1'] : []),
    ...['-codec_whitelist', DECODERS.join(','), '-max_pixels', String(mostPixels)],
    ...['-threads', String(FFMPEG_THREADS), '-i', `file:${path}`],
  ];
}

const PNG_HEAD = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
const PNG_END = Buffer.from('\0\0\0\0IEND\xae\x42\x60\x82', 'latin1');

/** From the first byte to the last: what was cut off is no picture. */
function sizeOf(png: Buffer): { width: number; height: number } {
  const isWhole =
    png.subarray(0, PNG_HEAD.length).equals(PNG_HEAD) && png.subarray(-PNG_END.length).equals(PNG_END);
  if (!isWhole) throw new FfmpegFailed('the video has no picture that can be decoded');
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}
