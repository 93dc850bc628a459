import type { BatchInput } from './batch';
import { cleanText } from './clean-text';
import type { DownloadProgress, JobInput, StoredVideo } from './job';
import { redactLinks } from './redact-links';
import type { VideoRequest } from './request';

/** A summary in Temporal may have 400 bytes; a character has at most three, and one of four counts as two. */
const LONGEST_SUMMARY = 120;
const LONGEST_PROMPT = 80;
/** The longest that is allowed, `1080p` and the like, is far shorter. */
const LONGEST_FIELD = 12;

/**
 * One line for people: `text to video, 720p 16:9 5 s: "A red fox in the snow"`.
 * Workflows call it before anything was parsed, so it takes whatever stands in the fields.
 */
export function describeRequest(request: { [Field in keyof VideoRequest]?: unknown }): string {
  const { prompt, image_url, resolution, aspect_ratio, duration } = request;
  const kind = image_url == null ? 'text to video' : 'image to video';
  const length = typeof duration === 'number' ? `${duration} s` : '';
  const form = [word(resolution), word(aspect_ratio), length].filter(Boolean).join(' ');
  return cleanText(`${kind}${form && `, ${form}`}: "${word(prompt, LONGEST_PROMPT)}"`, LONGEST_SUMMARY);
}

/** `batch of 12 videos, the first: "A red fox"`, or where its requests are. */
export function describeBatch({ requests, requestsFrom }: BatchInput): string {
  if (requests === undefined) return cleanText(`batch of ${requestsFrom}`, LONGEST_SUMMARY);
  const [first] = requests;
  return cleanText(
    `batch of ${requests.length}, the first: "${word(first?.prompt, LONGEST_PROMPT)}"`,
    LONGEST_SUMMARY,
  );
}

/** Of a whole job: a new one by its request, or one that adopts a task. */
export function describeJob({ request, taskId }: JobInput): string {
  return request ? describeRequest(request) : `adopt ${describeTask(taskId)}`;
}

export function describeTask(taskId: string): string {
  return cleanText(`task ${taskId}`, LONGEST_SUMMARY);
}

/** What signs a link goes before anything is cut. */
function word(value: unknown, longest = LONGEST_FIELD): string {
  return typeof value === 'string' ? cleanText(redactLinks(value), longest) : '';
}

/** `1.3 of 5.0 MB have come`. */
export function describeDownload({ bytes, of }: DownloadProgress): string {
  const megabytes = (count: number) => (count / 1e6).toFixed(1);
  return of === undefined
    ? `${megabytes(bytes)} MB have come`
    : `${megabytes(bytes)} of ${megabytes(of)} MB have come`;
}

/** `1280x720, 5 s, avc, video/mp4, 1948997 bytes, SHA-256 …`. */
export function describeVideo(video: StoredVideo): string {
  const { width, height, durationSeconds, codec, contentType, bytes, sha256 } = video;
  const size = width !== undefined && height !== undefined ? `${width}x${height}` : undefined;
  const length = durationSeconds === undefined ? undefined : `${Number(durationSeconds.toFixed(2))} s`;
  return [size, length, codec, contentType, `${bytes} bytes`, `SHA-256 ${sha256}`].filter(Boolean).join(', ');
}
