import { redactLinks } from '../src/contract/redact-links';
import type { VideoRequest } from '../src/contract/request';

/** Longer than any prompt. */
const LONGEST_VALUE_CHARS = 10_000;

/** A request as it is written to files: links without secrets, images and long texts cut. */
export function requestOnRecord(request: VideoRequest): Record<string, unknown> {
  const recorded: object = JSON.parse(JSON.stringify(request, (_name, value) => recordedPart(value)));
  return Object.fromEntries(
    Object.entries(recorded).map(([name, value]) => {
      const json = JSON.stringify(value);
      const isShort = typeof value === 'string' || json.length <= LONGEST_VALUE_CHARS;
      return [name, isShort ? value : cut(json)];
    }),
  );
}

/** The service's own fields may contain links at any depth, also as names. */
function recordedPart(value: unknown): unknown {
  if (typeof value === 'string') return recordedText(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [recordedText(name), part]));
}

function recordedText(text: string): string {
  if (/^\s*data:/i.test(text)) {
    const [type = ''] = text.trim().split(/[;,]/, 1);
    return `${type.slice(0, 100)},… (${text.length} characters)`;
  }
  if (/^\s*https?:/i.test(text) && URL.canParse(text)) {
    const { origin, pathname, search } = new URL(text);
    return cut(redactLinks(`${origin}${pathname}${search && '?…'}`));
  }
  return cut(redactLinks(text));
}

function cut(text: string): string {
  if (text.length <= LONGEST_VALUE_CHARS) return text;
  return `${text.slice(0, LONGEST_VALUE_CHARS)}… (${text.length} characters)`;
}
