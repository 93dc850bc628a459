import { randomUUID } from 'node:crypto';
import {
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { LostAnswer } from './faults';
import type { EmulatedVideo } from './video/video-cache';

export type EmulatedAnswer = HttpAnswer | { kind: 'reset' } | { kind: 'hang' };

export interface HttpAnswer {
  kind: 'http';
  status: number;
  headers: OutgoingHttpHeaders;
  body: Buffer;
  end?: EarlyEnd;
}

/** Where a correct answer breaks off: `cut` closes the connection there, `stall` leaves it open. */
export interface EarlyEnd {
  after: number | 'half-a-header' | 'half-the-body';
  how: 'cut' | 'stall';
}

export function textAnswer(
  status: number,
  contentType: string,
  text: string,
  headers?: OutgoingHttpHeaders,
): HttpAnswer {
  const body = Buffer.from(text);
  return {
    kind: 'http',
    status,
    headers: { 'content-type': contentType, 'content-length': body.length, ...headers },
    body,
  };
}

export function jsonAnswer(status: number, body: unknown, headers?: OutgoingHttpHeaders): HttpAnswer {
  return textAnswer(status, 'application/json', stringify(body), headers);
}

/** Marks a bigint until its quotes are removed. Random, so that no text of an answer starts with it. */
const BIGINT_MARK = randomUUID();
const MARKED_BIGINT = new RegExp(`"${BIGINT_MARK}(\\d+)"`, 'g');

/** JSON with bigints as numbers, which JSON.stringify cannot write. */
function stringify(body: unknown): string {
  const marked = JSON.stringify(body, (_key, value) =>
    typeof value === 'bigint' ? `${BIGINT_MARK}${value}` : value,
  );
  return marked.replace(MARKED_BIGINT, '$1');
}

/** A video, or the part that the request headers ask for (RFC 9110, section 14). */
export function fileAnswer({ bytes, etag }: EmulatedVideo, requestHeaders: IncomingHttpHeaders): HttpAnswer {
  const common = { 'accept-ranges': 'bytes', etag };
  const range = requestedRange(requestHeaders, etag, bytes.length);
  if (range === 'unsatisfiable') {
    const headers = { ...common, 'content-range': `bytes */${bytes.length}`, 'content-length': 0 };
    return { kind: 'http', status: 416, headers, body: Buffer.alloc(0) };
  }
  const body = range ? bytes.subarray(range.first, range.last + 1) : bytes;
  const headers = { ...common, 'content-type': 'video/mp4', 'content-length': body.length };
  if (!range) return { kind: 'http', status: 200, headers, body };
  const contentRange = `bytes ${range.first}-${range.last}/${bytes.length}`;
  return { kind: 'http', status: 206, headers: { ...headers, 'content-range': contentRange }, body };
}

/** Undefined means the whole file: no range, an invalid one, several, or a file that changed since. */
function requestedRange(
  { range, 'if-range': condition }: IncomingHttpHeaders,
  etag: string,
  length: number,
): { first: number; last: number } | 'unsatisfiable' | undefined {
  // Files have no Last-Modified, so a date never matches.
  if (condition !== undefined && condition !== etag) return undefined;
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/i.exec(range?.trim() ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '') {
    const count = Math.min(Number(to), length);
    return count === 0 ? 'unsatisfiable' : { first: length - count, last: length - 1 };
  }
  const first = Number(from);
  const last = to === '' ? length - 1 : Math.min(Number(to), length - 1);
  if (to !== '' && Number(to) < first) return undefined;
  return first >= length ? 'unsatisfiable' : { first, last };
}

/** Calls `correctAnswer` only if a part of it is sent, since making a video takes time. */
export async function lostAnswer(
  fault: LostAnswer,
  correctAnswer: () => HttpAnswer | Promise<HttpAnswer>,
): Promise<EmulatedAnswer> {
  switch (fault.kind) {
    case 'bad-json':
      return textAnswer(200, 'application/json', '{"task_id": "tas');
    case 'empty':
      return textAnswer(fault.status ?? 200, 'application/json', '');
    case 'empty-accepted':
      return textAnswer(202, 'application/json', '');
    case 'cut-headers':
      return { ...(await correctAnswer()), end: { after: 'half-a-header', how: 'cut' } };
    case 'cut-body':
      return { ...(await correctAnswer()), end: { after: 'half-the-body', how: 'cut' } };
    case 'reset':
    case 'hang':
      return { kind: fault.kind };
  }
}

/** Returns the status, if one was sent. */
export function send(response: ServerResponse, answer: EmulatedAnswer): number | undefined {
  switch (answer.kind) {
    case 'http':
      write(response, answer);
      return answer.status;
    case 'reset':
      response.socket?.resetAndDestroy();
      return undefined;
    case 'hang':
      return undefined;
  }
}

function write(response: ServerResponse, { status, headers, body, end }: HttpAnswer): void {
  if (end?.after === 'half-a-header') {
    // Written to the socket, since Node sends complete headers only.
    const half = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\ncontent-ty`;
    response.socket?.write(half, () => response.destroy());
    return;
  }
  response.writeHead(status, headers);
  if (end === undefined) {
    response.end(body);
    return;
  }
  const bytes = end.after === 'half-the-body' ? Math.floor(body.length / 2) : end.after;
  response.write(body.subarray(0, bytes), () => {
    if (end.how === 'cut') response.destroy();
  });
}
