import {
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './faults';

export type EmulatedAnswer = EmulatedHttpAnswer | 'reset' | 'hang';

export interface EmulatedHttpAnswer {
  status: number;
  headers: OutgoingHttpHeaders;
  body: Buffer;
  /** Where a correct answer breaks off: `cut` closes the connection there, `stall` leaves it open. */
  end?: { after: number | 'half-a-header' | 'half-the-body'; how: 'cut' | 'stall' };
}

export function textAnswer(
  status: number,
  contentType: string,
  text: string,
  headers?: OutgoingHttpHeaders,
): EmulatedHttpAnswer {
  const body = Buffer.from(text);
  return {
    status,
    headers: { 'content-type': contentType, 'content-length': body.length, ...headers },
    body,
  };
}

/** Text is sent as it is. */
export function jsonAnswer(
  status: number,
  body: object | string,
  headers?: OutgoingHttpHeaders,
): EmulatedHttpAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return textAnswer(status, 'application/json', text, headers);
}

/** A file, or the part that the request headers ask for (RFC 9110, section 14). */
export function fileAnswer(
  { bytes, etag }: { bytes: Buffer; etag: string },
  requestHeaders: IncomingHttpHeaders,
): EmulatedHttpAnswer {
  const common = { 'accept-ranges': 'bytes', etag };
  const range = requestedRange(requestHeaders, etag, bytes.length);
  if (range === 'unsatisfiable') {
    const headers = { ...common, 'content-range': `bytes */${bytes.length}`, 'content-length': 0 };
    return { status: 416, headers, body: Buffer.alloc(0) };
  }
  const body = range ? bytes.subarray(range.first, range.last + 1) : bytes;
  const headers = { ...common, 'content-type': 'video/mp4', 'content-length': body.length };
  if (!range) return { status: 200, headers, body };
  const contentRange = `bytes ${range.first}-${range.last}/${bytes.length}`;
  return { status: 206, headers: { ...headers, 'content-range': contentRange }, body };
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

/** What is left of an answer after a fault. Makes the correct answer only if a part of it is sent: a video takes time. */
export async function spoil(
  fault: Fault | undefined,
  correctAnswer: () => EmulatedHttpAnswer | Promise<EmulatedHttpAnswer>,
): Promise<EmulatedAnswer> {
  switch (fault?.kind) {
    case 'reset':
    case 'hang':
      return fault.kind;
    case 'reset-late':
      await sleep(fault.ms, undefined, { ref: false });
      return 'reset';
    case 'late':
      await sleep(fault.ms, undefined, { ref: false });
      return correctAnswer();
    case 'bad-json':
      return jsonAnswer(200, '{"task_id": "tas');
    case 'empty':
      return jsonAnswer(fault.status ?? 200, '');
    case 'web-page':
      return textAnswer(200, 'text/html', '<p>This link has expired.</p>');
    case 'cut-headers':
      return { ...(await correctAnswer()), end: { after: 'half-a-header', how: 'cut' } };
    case 'cut-body':
      return { ...(await correctAnswer()), end: { after: 'half-the-body', how: 'cut' } };
    case 'cut':
    case 'stall':
      return { ...(await correctAnswer()), end: { after: fault.afterBytes, how: fault.kind } };
    default:
      return correctAnswer();
  }
}

/** Returns the status, if one was sent. */
export function send(response: ServerResponse, answer: EmulatedAnswer): number | undefined {
  if (answer === 'hang') return undefined;
  if (answer === 'reset') {
    response.socket?.resetAndDestroy();
    return undefined;
  }
  const { status, headers, body, end } = answer;
  if (end?.after === 'half-a-header') {
    // Written to the socket, since Node sends complete headers only.
    const half = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\ncontent-ty`;
    response.socket?.write(half, () => response.destroy());
    return status;
  }
  response.writeHead(status, headers);
  if (end === undefined) {
    response.end(body);
    return status;
  }
  const bytes = end.after === 'half-the-body' ? Math.floor(body.length / 2) : end.after;
  response.write(body.subarray(0, bytes), () => {
    if (end.how === 'cut') response.destroy();
  });
  return status;
}
