import { cleanText, codeMarkdown, plainMarkdown } from './clean-text';
import type { StoredVideo, VideoInput } from './job';
import { redactLinks } from './redact-links';
import type { VideoRequest } from './request';
import type { WebhookDelivery } from './webhook';

/** Temporal accepts 400 bytes for a summary, and a UTF-16 unit has at most three bytes. */
export const LONGEST_SUMMARY_CHARS = 120;
export const LONGEST_PROMPT_CHARS = 80;
/** Valid values, such as `1080p`, are far shorter. */
const LONGEST_FIELD_CHARS = 12;

/**
 * A request in one line: `text to video, 720p 16:9 5 s: "A red fox in the snow"`. Workflows call it before the request is
 * parsed, so the fields may have any type.
 */
export function describeRequest(request: { [Field in keyof VideoRequest]?: unknown }): string {
  const { prompt, image_url, resolution, aspect_ratio, duration } = request;
  const kind = image_url == null ? 'text to video' : 'image to video';
  const length = typeof duration === 'number' ? `${duration} s` : '';
  const form = [redacted(resolution), redacted(aspect_ratio), length].filter(Boolean).join(' ');
  return cleanText(
    `${kind}${form && `, ${form}`}: "${redacted(prompt, LONGEST_PROMPT_CHARS)}"`,
    LONGEST_SUMMARY_CHARS,
  );
}

/** A job in one line: its request, or the task that it adopts. */
export function describeJob({ request, taskId }: VideoInput): string {
  return request ? describeRequest(request) : `adopt ${describeTask(taskId)}`;
}

export function describeTask(taskId: string): string {
  return cleanText(`task ${taskId}`, LONGEST_SUMMARY_CHARS);
}

/** Redacts before it cuts, because a cut link is not recognized. */
export function redacted(value: unknown, longestChars = LONGEST_FIELD_CHARS): string {
  return typeof value === 'string' ? cleanText(redactLinks(value), longestChars) : '';
}

/** Temporal accepts 20 KB of details, and a UTF-16 unit has at most three bytes. */
const LONGEST_DETAILS_CHARS = 6_000;
const LONGEST_WHOLE_PROMPT_CHARS = 2_500;
const LONGEST_VALUE_CHARS = 300;

/** The whole prompt and the other fields of a request, as markdown for the Temporal UI, which shows no tables. */
export function staticJobDetails({ request, taskId }: VideoInput): string {
  if (request === undefined) return `Adopts ${plainMarkdown(describeTask(taskId))}`;
  const { prompt, ...fields } = request;
  const list = Object.entries(fields)
    .filter(([, value]) => value != null)
    .map(([name, value]) => `- ${plain(name)}: ${codeMarkdown(withoutBytes(asText(value)))}`);
  return bounded(`> ${plain(prompt, LONGEST_WHOLE_PROMPT_CHARS)}\n\n${list.join('\n')}`);
}

const asText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/** A text in our markdown. */
export function plain(text: string, longestChars = LONGEST_VALUE_CHARS): string {
  return plainMarkdown(withoutBytes(text, longestChars));
}

/** A data link contains the whole image. */
function withoutBytes(text: string, longestChars = LONGEST_VALUE_CHARS): string {
  return redacted(text.replace(/\bdata:[^\s"'<>]+/g, 'data:…'), longestChars);
}

export function bounded(details: string): string {
  if (details.length <= LONGEST_DETAILS_CHARS) return details;
  return `${details.slice(0, details.lastIndexOf('\n', LONGEST_DETAILS_CHARS - 3))}\n\n…`;
}

/** `video.completed of fox-1`. */
export function describeWebhook({ event, job }: WebhookDelivery): string {
  return `${event} of ${cleanText(job, LONGEST_SUMMARY_CHARS - event.length)}`;
}

/** `1280x720, 5 s, avc, video/mp4, 1948997 bytes, SHA-256 …`. */
export function describeVideo(video: StoredVideo): string {
  const { width, height, durationSeconds, codec, contentType, bytes, sha256 } = video;
  const size = width !== undefined && height !== undefined ? `${width}x${height}` : undefined;
  const length = durationSeconds === undefined ? undefined : `${Number(durationSeconds.toFixed(2))} s`;
  return [size, length, codec, contentType, `${bytes} bytes`, `SHA-256 ${sha256}`].filter(Boolean).join(', ');
}
