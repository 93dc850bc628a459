import type { ServerResponse } from 'node:http';
import type { AnswerFault } from './faults';
import { fileAnswer } from './file-answer';
import type { EmulatedVideo } from './video-shelf';

export type EmulatedAnswer =
  | { kind: 'json'; status: number; body: unknown; headers?: Record<string, string> }
  | { kind: 'text'; status: number; body: string; contentType: string }
  | { kind: 'video'; video: EmulatedVideo; end?: EarlyEnd }
  | { kind: 'reset' }
  | { kind: 'hang' };

export interface EarlyEnd {
  after: number;
  how: 'cut' | 'stall';
}

export function json(status: number, body: unknown, headers?: Record<string, string>): EmulatedAnswer {
  return { kind: 'json', status, body, headers };
}

export function refusal(status: number, code: string, message: string): EmulatedAnswer {
  return json(status, { error: { code, message } });
}

export function faultAnswer(fault: AnswerFault): EmulatedAnswer {
  switch (fault.kind) {
    case 'rate-limited':
      return json(429, { error: { code: 'rate_limited', message: 'too many requests' } }, retryAfter(fault));
    case 'server-error':
      return refusal(fault.status ?? 500, 'internal', 'internal server error');
    case 'refused':
      return refusal(fault.status, fault.code ?? 'refused', fault.message);
    case 'bad-json':
      return { kind: 'text', status: 200, body: '{"task_id": "tas', contentType: 'application/json' };
    case 'empty-accepted':
      return { kind: 'text', status: 202, body: '', contentType: 'application/json' };
    case 'reset':
    case 'hang':
      return { kind: fault.kind };
  }
}

function retryAfter({ retryAfter: value }: { retryAfter?: number | Date }): Record<string, string> {
  if (value === undefined) return {};
  return { 'retry-after': value instanceof Date ? value.toUTCString() : String(value) };
}

export function send(response: ServerResponse, answer: EmulatedAnswer): void {
  switch (answer.kind) {
    case 'json':
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
      response.end(JSON.stringify(answer.body));
      return;
    case 'text':
      response.writeHead(answer.status, { 'content-type': answer.contentType });
      response.end(answer.body);
      return;
    case 'video':
      sendVideo(response, answer.video, answer.end);
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'hang':
      return;
  }
}

function sendVideo(response: ServerResponse, video: EmulatedVideo, end?: EarlyEnd): void {
  // A Range is for GET alone; of an answer to HEAD Node sends no body by itself.
  const asked = response.req.method === 'GET' ? response.req.headers : {};
  const { status, headers, body } = fileAnswer(video, asked);
  response.writeHead(status, headers);
  if (end === undefined) {
    response.end(body);
    return;
  }
  response.write(body.subarray(0, end.after), () => {
    if (end.how === 'cut') response.destroy();
  });
}
