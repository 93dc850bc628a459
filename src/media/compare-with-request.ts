import type { ExpectedVideo, VideoFacts } from '../contract/job';
import type { VideoRequest } from '../contract/request';

/** Codecs round to multiples of 8 or 16: 1088 for 1080, or 704 for 720, which is 2.2 % off. */
const SIDE_TOLERANCE = 0.03;
/** Services make whole groups of frames, so 5 seconds may become 4.8 or 5.4. */
const SHORT_TOLERANCE_SECONDS = 0.5;
const LONG_TOLERANCE = 0.1;

/** How a video differs from its request, one sentence each: `720p was requested, but the video is 640x360`. */
export function describeMismatches(expected: ExpectedVideo, facts: VideoFacts): string[] {
  return [...sizeMismatches(expected, facts), ...durationMismatches(expected, facts)];
}

function sizeMismatches(
  { resolution, aspect_ratio }: ExpectedVideo,
  { width, height }: VideoFacts,
): string[] {
  if (width === undefined || height === undefined) return [];
  const shorterSide = resolution && Number.parseInt(resolution, 10);
  const checks = [
    { requested: resolution, expected: shorterSide, actual: Math.min(width, height) },
    { requested: aspect_ratio, expected: ratioOf(aspect_ratio), actual: width / height },
  ];
  return checks.flatMap(({ requested, expected, actual }) =>
    expected === undefined || Math.abs(actual - expected) <= expected * SIDE_TOLERANCE
      ? []
      : [`${requested} was requested, but the video is ${width}x${height}`],
  );
}

function durationMismatches({ duration }: ExpectedVideo, { durationSeconds }: VideoFacts): string[] {
  // The interface allows 0, and services interpret it differently.
  if (duration === undefined || duration <= 0 || durationSeconds === undefined) return [];
  const tolerance = Math.max(SHORT_TOLERANCE_SECONDS, duration * LONG_TOLERANCE);
  // Durations are sums of fractions, so the last digits are inexact.
  if (Math.abs(durationSeconds - duration) <= tolerance + 1e-6) return [];
  return [`${duration} s were requested, but the video is ${Number(durationSeconds.toFixed(2))} s long`];
}

function ratioOf(aspectRatio: VideoRequest['aspect_ratio']): number | undefined {
  if (aspectRatio === undefined) return undefined;
  const [width = 1, height = 1] = aspectRatio.split(':').map(Number);
  return width / height;
}
