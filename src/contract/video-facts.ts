import type { VideoRequest } from './request';

export const CONTAINER_NAMES = ['mp4', 'mov', 'webm', 'mkv', 'ts'] as const;
export type Container = (typeof CONTAINER_NAMES)[number];

/** What is known of a video. A fact that could not be seen is left out. */
export interface VideoFacts {
  /** As shown, after cropping and rotation. */
  width?: number;
  height?: number;
  durationSeconds?: number;
  /** `avc`, `hevc`, `vp9`, `av1` … */
  codec?: string;
  container?: Container;
}

/** Codecs round sides to 8 or 16 samples: 1088 stands for 1080 and 704 for 720, which is 2.2 % off. */
const SIDE_TOLERANCE = 0.03;
/** Services make whole frames and whole groups of them, so that 5 seconds may well be 4.8 or 5.4. */
const SHORT_TOLERANCE_SECONDS = 0.5;
const LONG_TOLERANCE = 0.1;

/** What a video is compared with when it has come: the small facts of its request. */
export type ExpectedVideo = Partial<Pick<VideoRequest, 'resolution' | 'aspect_ratio' | 'duration' | 'seed'>>;

/** The facts of a request that a video can be compared with. */
export function expectedOf({ resolution, aspect_ratio, duration, seed }: VideoRequest): ExpectedVideo {
  const facts = { resolution, aspect_ratio, duration, seed };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value != null));
}

/** What a video has otherwise than was asked for, a sentence each: `720p was asked for, it is 640x360`. */
export function describeMismatches(expected: ExpectedVideo, facts: VideoFacts): string[] {
  return [...sizeMismatches(expected, facts), ...durationMismatches(expected, facts)];
}

function sizeMismatches(
  { resolution, aspect_ratio }: ExpectedVideo,
  { width, height }: VideoFacts,
): string[] {
  if (width === undefined || height === undefined) return [];
  const wanted = [
    { asked: resolution, value: shorterSideOf(resolution), is: Math.min(width, height) },
    { asked: aspect_ratio, value: ratioOf(aspect_ratio), is: width / height },
  ];
  return wanted.flatMap(({ asked, value, is }) =>
    value === undefined || Math.abs(is - value) <= value * SIDE_TOLERANCE
      ? []
      : [`${asked} was asked for, it is ${width}x${height}`],
  );
}

function durationMismatches({ duration }: ExpectedVideo, { durationSeconds }: VideoFacts): string[] {
  // The interface does not forbid 0, and a service makes of it what it likes.
  if (duration === undefined || duration <= 0 || durationSeconds === undefined) return [];
  const tolerance = Math.max(SHORT_TOLERANCE_SECONDS, duration * LONG_TOLERANCE);
  // Times are sums of fractions, which may be off by the last digit of a number.
  if (Math.abs(durationSeconds - duration) <= tolerance + 1e-6) return [];
  return [`${duration} s were asked for, it is ${Number(durationSeconds.toFixed(2))} s long`];
}

function shorterSideOf(resolution: VideoRequest['resolution']): number | undefined {
  return resolution === undefined ? undefined : Number.parseInt(resolution, 10);
}

function ratioOf(aspectRatio: VideoRequest['aspect_ratio']): number | undefined {
  if (aspectRatio === undefined) return undefined;
  const [across = 1, down = 1] = aspectRatio.split(':').map(Number);
  return across / down;
}
