import type { Dispatcher } from 'undici';

const SECOND = 1_000;

/** Where in a video to go on, and the validator that came with what is there already. */
export interface ResumePoint {
  offset: number;
  validator: string;
}

type Headers = Dispatcher.ResponseData['headers'];

/** Whether a point can be asked for. One that cannot was kept by another version, or by nobody. */
export function isResumable({ offset, validator }: ResumePoint): boolean {
  return Number.isSafeInteger(offset) && offset > 0 && (isStrongTag(validator) || isHttpDate(validator));
}

/** Asks for the rest of the video, or for all of it if it is no longer the same. */
export function rangeHeaders({ offset, validator }: ResumePoint): Record<string, string> {
  return { range: `bytes=${offset}-`, 'if-range': validator };
}

/** What lets another request go on within the same bytes. A weak ETag does not promise the same bytes. */
export function validatorOf({ etag, 'last-modified': modified, date }: Headers): string | undefined {
  if (isStrongTag(etag)) return etag;
  // RFC 9110, 8.8.2.2: what was changed within the second of the answer may be changed again within that second.
  const isOldEnough =
    isHttpDate(modified) && isHttpDate(date) && Date.parse(date) - Date.parse(modified) >= SECOND;
  return isOldEnough ? modified : undefined;
}

/**
 * The length of the whole video, when a 206 brings exactly its rest from the point on; undefined when it brings
 * anything else. A rest without a total is anything else: nobody could tell whether it reaches the end.
 */
export function totalOfRest(headers: Headers, { offset, validator }: ResumePoint): number | undefined {
  const { 'content-range': range, 'content-type': type, 'content-length': length } = headers;
  if (/^multipart\/byteranges/i.test(String(type ?? ''))) return undefined;
  const [, first, last, whole] = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(String(range)) ?? [];
  const total = Number(whole);
  const isRest =
    Number(first) === offset && Number(last) === total - 1 && Number.isSafeInteger(total) && total > offset;
  const fits = length === undefined || length === String(total - offset);
  return isRest && fits && isSameVideo(headers, validator) ? total : undefined;
}

function isSameVideo({ etag, 'last-modified': modified }: Headers, validator: string): boolean {
  const told = isHttpDate(validator) ? modified : etag;
  return told === undefined || told === validator;
}

function isStrongTag(value: unknown): value is string {
  return typeof value === 'string' && /^"[\x21\x23-\x7e]*"$/.test(value);
}

/** In the one form that servers are to write. */
function isHttpDate(value: unknown): value is string {
  return typeof value === 'string' && new Date(value).toUTCString() === value && value !== 'Invalid Date';
}
