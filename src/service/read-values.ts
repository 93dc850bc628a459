import { isTaskId } from '../contract/input-rules';
import { type FoundValue, valuesIn } from './answer-paths';
import type { AnswerPath } from './reading-rules';

// Values end up in a workflow's history and in messages, so an answer must not be able to fill them.
// Words and messages are cut. A cut id or URL would be a different one, so longer ones are rejected.
export const MAX_LENGTH = { word: 100, code: 100, message: 1000, videoUrl: 16_000 };

/** An accepted value and its path. */
export interface Read<T> {
  value: T;
  path: string;
}

export function first<T>(
  candidates: Iterable<FoundValue>,
  accept: (value: unknown) => T | undefined,
): Read<T> | undefined {
  for (const { value, path } of candidates) {
    const accepted = accept(value);
    if (accepted !== undefined) return { value: accepted, path };
  }
  return undefined;
}

/** The first accepted value at one of these paths. */
export function firstIn<T>(
  bodies: readonly FoundValue[],
  paths: readonly AnswerPath[],
  accept: (value: unknown) => T | undefined,
): Read<T> | undefined {
  return first(valuesIn(bodies, paths), accept);
}

export function textFrom(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

export function nameFrom(value: unknown): string | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : textFrom(value);
}

// Some services send 0 until the task has an id.
export function idFrom(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? String(value) : undefined;
  return textFrom(value);
}

export function taskIdFrom(value: unknown): string | undefined {
  const id = idFrom(value);
  return isTaskId(id) ? id : undefined;
}

/** An http(s) link; one that begins with a slash is relative to the service. */
export function linkFrom(baseUrl: string | undefined) {
  return (value: unknown): string | undefined => {
    const text = textFrom(value);
    if (text === undefined || text.length > MAX_LENGTH.videoUrl) return undefined;
    if (/^\/[^/\\\s]/.test(text)) return baseUrl === undefined ? text : new URL(text, baseUrl).href;
    return /^https?:\/\//i.test(text) && URL.canParse(text) ? text : undefined;
  };
}

// Runway counts from 0 to 1, other services to 100. A fraction below 1 is Runway's. 1 itself means 1 %: services that
// count to 100 pass through it, while Runway at 1 already says SUCCEEDED, which has no percentage.
export function percentFrom(value: unknown): number | undefined {
  const [, digits, sign] =
    /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(nameFrom(value)?.slice(0, MAX_LENGTH.word) ?? '') ?? [];
  if (digits === undefined) return undefined;
  const count = Number(digits);
  const percent = Math.round(count < 1 && sign === '' ? count * 100 : count);
  return percent <= 100 ? percent : undefined;
}

export interface RetryHeaders {
  /** Milliseconds; some services send it for their own clients. */
  'retry-after-ms'?: string | string[];
  'retry-after'?: string | string[];
  date?: string | string[];
}

/** Proxies merge two headers into a list; its first entry counts. Nine digits of seconds are 30 years. */
const SECONDS = /^(\d{1,9}(?:\.\d+)?)\s*(?:,|$)/;

/** Date.parse alone also accepts `-5` and `in 5`, and reads a date without a zone as local time. */
const DATE = /^([a-z]{3,9}, \d|\d{4}-\d\d-\d\d).*(GMT|UTC|Z|[+-]\d\d:?\d\d)$/i;

/**
 * `Retry-After` in milliseconds, given as seconds or as a date; undefined when it is absent or unreadable. A date is
 * measured against the answer's own `Date`, because the clocks of the worker and the service may differ.
 */
export function readRetryAfter(headers: RetryHeaders, nowMs: number): number | undefined {
  const exact = firstHeader(headers['retry-after-ms'])?.trim() ?? '';
  if (/^\d{1,12}$/.test(exact)) return Number(exact);
  const value = firstHeader(headers['retry-after'])?.trim() ?? '';
  const seconds = SECONDS.exec(value)?.[1];
  if (seconds !== undefined) return Math.round(Number(seconds) * 1_000);
  const atMs = DATE.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(atMs)) return undefined;
  const sentAtMs = Date.parse(firstHeader(headers.date) ?? '');
  return Math.max(0, atMs - (Number.isNaN(sentAtMs) ? nowMs : sentAtMs));
}

function firstHeader(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
