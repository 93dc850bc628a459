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

/** Text is sent as it is. */
export function answerWith(
  status: number,
  body: object | string,
  headers?: OutgoingHttpHeaders,
): EmulatedHttpAnswer {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return {
    status,
    headers: { 'content-type': 'application/json', 'content-length': bytes.length, ...headers },
    body: bytes,
  };
}

/** A file, or the part that the request headers ask for (RFC 9110, section 14). */
export function fileAnswer(
  { bytes, etag }: { bytes: Buffer; etag: string },
  { range, 'if-range': condition = etag }: IncomingHttpHeaders,
): EmulatedHttpAnswer {
  const headers = { 'accept-ranges': 'bytes', 'content-type': 'video/mp4', etag };
  const [, from, to = ''] = /^bytes=(\d+)-(\d*)$/i.exec(range?.trim() ?? '') ?? [];
  const first = Number(from);
  const last = Math.min(to === '' ? Infinity : Number(to), bytes.length - 1);
  // No range, one of another form, or one of a file that has changed: the whole file. Files have no date to compare.
  if (from === undefined || condition !== etag || (to !== '' && Number(to) < first)) {
    return { status: 200, headers: { ...headers, 'content-length': bytes.length }, body: bytes };
  }
  const isBeyond = first >= bytes.length;
  const body = isBeyond ? Buffer.alloc(0) : bytes.subarray(first, last + 1);
  const part = isBeyond ? '*' : `${first}-${last}`;
  return {
    status: isBeyond ? 416 : 206,
    headers: { ...headers, 'content-length': body.length, 'content-range': `bytes ${part}/${bytes.length}` },
    body,
  };
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
      return answerWith(200, '{"task_id": "tas');
    case 'empty':
      return answerWith(fault.status ?? 200, '');
    case 'web-page':
      return answerWith(200, '<p>This link has expired.</p>', { 'content-type': 'text/html' });
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
