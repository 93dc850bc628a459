import { randomUUID } from 'node:crypto';
import { type OutgoingHttpHeaders, type ServerResponse, STATUS_CODES } from 'node:http';
import type { LostAnswer } from './faults';

export type EmulatedAnswer = WrittenAnswer | { kind: 'reset' } | { kind: 'hang' };

export interface WrittenAnswer {
  kind: 'written';
  status: number;
  headers: OutgoingHttpHeaders;
  body: Buffer;
  end?: EarlyEnd;
}

/** Where an answer ends that is otherwise right, and whether its connection is closed there or stands still. */
export interface EarlyEnd {
  after: number | 'half-a-header' | 'half-the-body';
  how: 'cut' | 'stall';
}

export function written(
  status: number,
  contentType: string,
  text: string,
  headers?: OutgoingHttpHeaders,
): WrittenAnswer {
  const body = Buffer.from(text);
  return {
    kind: 'written',
    status,
    headers: { 'content-type': contentType, 'content-length': body.length, ...headers },
    body,
  };
}

export function json(status: number, body: unknown, headers?: OutgoingHttpHeaders): WrittenAnswer {
  return written(status, 'application/json', stringify(body), headers);
}

/** Stands before an integer until it is freed of its quotes: nothing that a text of an answer could begin with. */
const INTEGER = randomUUID();
const QUOTED_INTEGER = new RegExp(`"${INTEGER}(\\d+)"`, 'g');

/** JSON with integers of any size, which JSON.stringify cannot write. */
function stringify(body: unknown): string {
  const marked = JSON.stringify(body, (_key, value) =>
    typeof value === 'bigint' ? `${INTEGER}${value}` : value,
  );
  return marked.replace(QUOTED_INTEGER, '$1');
}

/** `right` is asked for only where a part of it is sent: a video takes its time. */
export async function lostAnswer(
  fault: LostAnswer,
  right: () => WrittenAnswer | Promise<WrittenAnswer>,
): Promise<EmulatedAnswer> {
  switch (fault.kind) {
    case 'bad-json':
      return written(200, 'application/json', '{"task_id": "tas');
    case 'empty':
      return written(fault.status ?? 200, 'application/json', '');
    case 'empty-accepted':
      return written(202, 'application/json', '');
    case 'cut-headers':
      return { ...(await right()), end: { after: 'half-a-header', how: 'cut' } };
    case 'cut-body':
      return { ...(await right()), end: { after: 'half-the-body', how: 'cut' } };
    case 'reset':
    case 'hang':
      return { kind: fault.kind };
  }
}

/** Gives back the status that was sent, if one was. */
export function send(response: ServerResponse, answer: EmulatedAnswer): number | undefined {
  switch (answer.kind) {
    case 'written':
      write(response, answer);
      return answer.status;
    case 'reset':
      response.socket?.resetAndDestroy();
      return undefined;
    case 'hang':
      return undefined;
  }
}

function write(response: ServerResponse, { status, headers, body, end }: WrittenAnswer): void {
  if (end?.after === 'half-a-header') {
    // Past Node, which sends whole headers only.
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
