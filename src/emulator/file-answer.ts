import type { IncomingHttpHeaders } from 'node:http';
import type { WrittenAnswer } from './answers';
import type { EmulatedVideo } from './video-shelf';

/** A video, or the one part of it that the headers ask for (RFC 9110, section 14). */
export function fileAnswer({ bytes, etag }: EmulatedVideo, asked: IncomingHttpHeaders): WrittenAnswer {
  const about = { 'accept-ranges': 'bytes', etag };
  const range = wantedRange(asked, etag, bytes.length);
  if (range === 'none') {
    const headers = { ...about, 'content-range': `bytes */${bytes.length}`, 'content-length': 0 };
    return { kind: 'written', status: 416, headers, body: Buffer.alloc(0) };
  }
  const body = range ? bytes.subarray(range.first, range.last + 1) : bytes;
  const headers = { ...about, 'content-type': 'video/mp4', 'content-length': body.length };
  if (!range) return { kind: 'written', status: 200, headers, body };
  const contentRange = `bytes ${range.first}-${range.last}/${bytes.length}`;
  return { kind: 'written', status: 206, headers: { ...headers, 'content-range': contentRange }, body };
}

/** Undefined is the whole file: also for what cannot be read, for several ranges, and for a file that has changed. */
function wantedRange(
  { range, 'if-range': condition }: IncomingHttpHeaders,
  etag: string,
  length: number,
): { first: number; last: number } | 'none' | undefined {
  // There is no date that a condition could hold for: files have none.
  if (condition !== undefined && condition !== etag) return undefined;
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/i.exec(range?.trim() ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '') {
    const count = Math.min(Number(to), length);
    return count === 0 ? 'none' : { first: length - count, last: length - 1 };
  }
  const first = Number(from);
  const last = to === '' ? length - 1 : Math.min(Number(to), length - 1);
  if (to !== '' && Number(to) < first) return undefined;
  return first >= length ? 'none' : { first, last };
}
