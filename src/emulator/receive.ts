import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { EmulatedCall } from './faults';

/** One call as the emulator saw it. The key is not kept, only whether it was right. */
export interface RecordedCall {
  call: EmulatedCall | 'other';
  method: string;
  path: string;
  authorized: boolean;
  idempotencyKey?: string;
  contentType?: string;
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
  signature: string | null;
  headers: IncomingHttpHeaders;
  /** Why there is no body in the record. */
  problem?: string;
}

const LARGEST_REQUEST_BYTES = 1024 * 1024;

/** Section 4 of the interface, the files behind the links, and what some services have besides. */
const ROUTES: { methods: string[]; path: RegExp; call: EmulatedCall }[] = [
  { methods: ['POST'], path: /^\/v1\/videos\/(text|image)-to-video$/, call: 'submit' },
  { methods: ['GET'], path: /^\/v1\/videos\/([^/]+)$/, call: 'status' },
  { methods: ['GET', 'HEAD'], path: /^\/files\/([^/]+)\.mp4$/, call: 'download' },
  { methods: ['DELETE'], path: /^\/v1\/videos\/([^/]+)$/, call: 'cancel' },
];

/** Reads a request to its end, and finds out which call it is. */
export async function receive(
  request: IncomingMessage,
  { apiKey, cancelling }: { apiKey: string; cancelling: boolean },
): Promise<ReceivedCall> {
  const { method = '', headers } = request;
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://emulator');
  const route = ROUTES.find(
    ({ methods, path, call }) =>
      methods.includes(method) && path.test(pathname) && (cancelling || call !== 'cancel'),
  );
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
      body,
      atMs: Date.now(),
    },
    subject: route?.path.exec(pathname)?.[1] ?? '',
    signature: searchParams.get('signature'),
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
