import type { Dispatcher } from 'undici';

const SECOND = 1_000;

/** Where to resume a download, and the validator that came with the bytes so far. */
export interface ResumePoint {
  offset: number;
  validator: string;
}

type Headers = Dispatcher.ResponseData['headers'];

/** Whether a server can be asked to resume here. Another version may have recorded a point that it cannot. */
export function isResumable({ offset, validator }: ResumePoint): boolean {
  return Number.isSafeInteger(offset) && offset > 0 && (isStrongTag(validator) || isHttpDate(validator));
}

/** Requests the rest of the video, or all of it if it has changed. */
export function rangeHeaders({ offset, validator }: ResumePoint): Record<string, string> {
  return { range: `bytes=${offset}-`, 'if-range': validator };
}

/** What another request can use to resume within the same bytes. A weak ETag does not promise the same bytes. */
export function validatorOf({ etag, 'last-modified': modified, date }: Headers): string | undefined {
  if (isStrongTag(etag)) return etag;
  // RFC 9110, 8.8.2.2: a file that changed within the second of the answer may change again within that second.
  const isOldEnough =
    isHttpDate(modified) && isHttpDate(date) && Date.parse(date) - Date.parse(modified) >= SECOND;
  return isOldEnough ? modified : undefined;
}

/**
 * The length of the whole video if a 206 has exactly the rest from this point; undefined otherwise. A 206 without a total
 * is rejected, because it may not reach the end.
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
  const current = isHttpDate(validator) ? modified : etag;
  return current === undefined || current === validator;
}

function isStrongTag(value: unknown): value is string {
  return typeof value === 'string' && /^"[\x21\x23-\x7e]*"$/.test(value);
}

/** In the one form that servers must send. */
function isHttpDate(value: unknown): value is string {
  return typeof value === 'string' && new Date(value).toUTCString() === value && value !== 'Invalid Date';
}
