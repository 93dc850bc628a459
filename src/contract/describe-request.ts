import type { VideoRequest } from './request';

const LONGEST_PROMPT = 80;

/**
 * One line for people: `text to video, 720p 16:9 5 s: "A red fox in the snow"`.
 * Workflows call it before anything was parsed, so it takes whatever stands in the fields.
 */
export function describeRequest(request: { [Field in keyof VideoRequest]?: unknown }): string {
  const { prompt, image_url, resolution, aspect_ratio, duration } = request;
  const kind = image_url === undefined ? 'text to video' : 'image to video';
  const length = duration === undefined ? undefined : `${duration} s`;
  const form = [resolution, aspect_ratio, length].filter(Boolean).join(' ');
  const words = String(prompt).replace(/\s+/g, ' ').trim();
  const cut = words.length > LONGEST_PROMPT ? `${words.slice(0, LONGEST_PROMPT - 1)}…` : words;
  return `${kind}${form && `, ${form}`}: "${cut}"`;
}
