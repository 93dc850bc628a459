import { isTaskId } from '../contract/input-rules';
import type { Found } from './answer-paths';

// What is read ends in a workflow's history and in messages, so an answer must not be able to fill them.
// Names and words are cut; an id or a URL that was cut would be another one, so a longer one is not taken.
export const LONGEST = { word: 100, code: 100, message: 1000, videoUrl: 16_000 };

/** Something that was taken, and where it stood. */
export interface Read<T> {
  value: T;
  at: string;
}

export function first<T>(
  candidates: Iterable<Found>,
  accept: (value: unknown) => T | undefined,
): Read<T> | undefined {
  for (const { value, at } of candidates) {
    const accepted = accept(value);
    if (accepted !== undefined) return { value: accepted, at };
  }
  return undefined;
}

export function booleanFrom(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

export function textFrom(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

export function nameFrom(value: unknown): string | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : textFrom(value);
}

// 0 is what a service without an id yet writes where the id will be.
export function idFrom(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? String(value) : undefined;
  return textFrom(value);
}

export function taskIdFrom(value: unknown): string | undefined {
  const id = idFrom(value);
  return isTaskId(id) ? id : undefined;
}

/** An http(s) link; one that begins with a slash is the service's own. */
export function linkFrom(baseUrl: string | undefined) {
  return (value: unknown): string | undefined => {
    const text = textFrom(value);
    if (text === undefined || text.length > LONGEST.videoUrl) return undefined;
    if (/^\/[^/\\\s]/.test(text)) return baseUrl === undefined ? text : new URL(text, baseUrl).href;
    return /^https?:\/\//i.test(text) && URL.canParse(text) ? text : undefined;
  };
}

// Runway counts from 0 to 1, the others to 100. A fraction below 1 is Runway's; 1 itself is read as 1 %, for
// counts to 100 pass through it, while Runway at 1 says SUCCEEDED, where no percentage is kept.
export function percentFrom(value: unknown): number | undefined {
  const [, digits, sign] =
    /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(nameFrom(value)?.slice(0, LONGEST.word) ?? '') ?? [];
  if (digits === undefined) return undefined;
  const count = Number(digits);
  const percent = Math.round(count < 1 && sign === '' ? count * 100 : count);
  return percent <= 100 ? percent : undefined;
}
