import { redactLinks } from '../src/contract/redact-links';
import type { VideoRequest } from '../src/contract/request';

/** Longer than prompts are; what is longer belongs into no file beside a video. */
const LONGEST_VALUE = 10_000;
const DEEPEST = 20;

/** A request as it may lie in files: links without what signs them, images and long texts cut to what they are. */
export function requestOnRecord(request: VideoRequest): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(request).map(([name, value]) => [textOnRecord(name), onRecord(value)]),
  );
}

/** A field of the service's own may hold links at any depth; what lies deeper than anybody writes is left out. */
function onRecord(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return textOnRecord(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === DEEPEST) return '…';
  const parts = Array.isArray(value)
    ? value.map((part) => onRecord(part, depth + 1))
    : Object.fromEntries(
        Object.entries(value).map(([name, part]) => [textOnRecord(name), onRecord(part, depth + 1)]),
      );
  const json = JSON.stringify(parts);
  return json.length > LONGEST_VALUE ? cut(json) : parts;
}

function textOnRecord(text: string): string {
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
  if (text.length <= LONGEST_VALUE) return text;
  return `${text.slice(0, LONGEST_VALUE)}… (${text.length} characters)`;
}
