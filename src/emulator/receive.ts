import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { DIALECTS, type DialectName } from './dialects';
import type { EmulatedCall } from './faults';

/** One call as the emulator saw it. The key is not kept, only whether it was right. */
export interface RecordedCall {
  call: EmulatedCall | 'other';
  method: string;
  path: string;
  authorized: boolean;
  idempotencyKey?: string;
  contentType?: string;
  /** Which part of a file was asked for. */
  range?: string;
  body?: unknown;
  /** When its request had been read, by the clock of the machine. */
  atMs: number;
  /** What it was answered with: missing until then, and for good if no status line was sent. */
  status?: number;
}

/** What the answer hangs on beyond the record, which holds no secret. */
export interface ReceivedCall {
  record: RecordedCall;
  /** What the path names, still encoded. */
  subject: string;
  query: URLSearchParams;
  /** Whether whoever comes without a key is heard: a link is a key of its own. */
  keyless: boolean;
  headers: IncomingHttpHeaders;
  /** Why there is no body in the record. */
  problem?: string;
}

const LARGEST_REQUEST_BYTES = 2 * 1024 * 1024;

interface Route {
  methods: string[];
  path: RegExp;
  call: RecordedCall['call'];
  keyless?: true;
}

/** Section 4 of the interface, the files behind the links, and what some services have besides. */
export function routesOf({ dialect, cancelling }: { dialect: DialectName; cancelling: boolean }): Route[] {
  const { idHasSlashes, video } = DIALECTS[dialect];
  const task = idHasSlashes ? /^\/v1\/videos\/(.+)$/ : /^\/v1\/videos\/([^/]+)$/;
  const routes: Route[] = [
    { methods: ['POST'], path: /^\/v1\/videos\/(text|image)-to-video$/, call: 'submit' },
    { methods: ['GET'], path: task, call: 'status' },
    { methods: ['GET', 'HEAD'], path: /^\/files\/([^/]+)\.mp4$/, call: 'download', keyless: true },
    { methods: ['GET', 'HEAD'], path: /^\/stills\/(.*)$/, call: 'other', keyless: true },
  ];
  if (cancelling) routes.push({ methods: ['DELETE'], path: task, call: 'cancel' });
  if (video?.at === 'content') {
    routes.push({ methods: ['GET', 'HEAD'], path: /^\/v1\/videos\/([^/]+)\/content$/, call: 'download' });
  }
  if (video?.at === 'file') {
    routes.push({ methods: ['GET'], path: /^\/v1\/files\/retrieve()$/, call: 'retrieve' });
  }
  return routes;
}

/** Reads a request to its end, and finds out which call it is. */
export async function receive(
  request: IncomingMessage,
  { apiKey, routes }: { apiKey: string; routes: Route[] },
): Promise<ReceivedCall> {
  const { method = '', headers } = request;
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://emulator');
  const route = routes.find(({ methods, path }) => methods.includes(method) && path.test(pathname));
  const { body, problem } = await readJson(request);
  return {
    record: {
      call: route?.call ?? 'other',
      method,
      path: pathname,
      authorized: headers.authorization === `Bearer ${apiKey}`,
      // An empty one is none: it would be the same for everybody.
      idempotencyKey: headers['idempotency-key']?.toString() || undefined,
      contentType: headers['content-type'],
      range: headers.range,
      body,
      atMs: Date.now(),
    },
    subject: route?.path.exec(pathname)?.[1] ?? '',
    query: searchParams,
    keyless: route?.keyless === true,
    headers,
    problem,
  };
}

async function readJson(request: IncomingMessage): Promise<{ body?: unknown; problem?: string }> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    // What is too large is still read to its end: a client that is sending does not see the answer.
    if (text.length <= LARGEST_REQUEST_BYTES) text += chunk;
  }
  if (text === '') return {};
  if (text.length > LARGEST_REQUEST_BYTES) return { problem: 'the request is too large' };
  try {
    return { body: JSON.parse(text) };
  } catch {
    return { problem: 'the body is not JSON' };
  }
}
