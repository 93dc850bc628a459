import { redactLinks } from '../src/contract/redact-links';
import type { VideoRequest } from '../src/contract/request';

/** Longer than any prompt. */
const LONGEST_VALUE_CHARS = 10_000;
const DEEPEST_LEVEL = 20;

/** A request as it is written to files: links without secrets, images and long texts cut. */
export function requestOnRecord(request: VideoRequest): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(request).map(([name, value]) => [recordedText(name), recordedValue(value)]),
  );
}

/** The service's own fields may contain links at any depth. */
function recordedValue(value: unknown, level = 0): unknown {
  if (typeof value === 'string') return recordedText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (level === DEEPEST_LEVEL) return '…';
  const parts = Array.isArray(value)
    ? value.map((part) => recordedValue(part, level + 1))
    : Object.fromEntries(
        Object.entries(value).map(([name, part]) => [recordedText(name), recordedValue(part, level + 1)]),
      );
  const json = JSON.stringify(parts);
  return json.length > LONGEST_VALUE_CHARS ? cut(json) : parts;
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
