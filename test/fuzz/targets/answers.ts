import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createVideoActivities } from '../../../activities';
import {
  createVideoService,
  recordAnswers,
  type ServiceProfile,
  type VideoService,
} from '../../../src/service';
import { createFileStorage } from '../../../src/storage';
import { createLogger } from '../../../src/worker/logger';
import { PROVIDERS } from '../../service/provider-answers';
import { fc } from '../../support/properties';
import { anyText, edited, jsonValue, longText, weighted } from '../hostile';
import { KEY, quotedKey, signedLink } from '../secrets';
import type { Target } from '../target';

export interface Answer {
  call: 'submit' | 'poll' | 'cancel';
  status: number;
  headers: [name: string, value: string][];
  body: string;
  encoding: keyof typeof ENCODINGS;
}

const ENCODINGS = {
  plain: (text: string) => Buffer.from(text),
  'UTF-16': (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  'Latin-1': (text: string) => Buffer.from(text, 'latin1'),
  gzip: (text: string) => gzipSync(text),
  deflate: (text: string) => deflateSync(text),
  br: (text: string) => brotliCompressSync(text),
  cut: (text: string) => gzipSync(text).subarray(0, -5),
};

const BODIES = PROVIDERS.flatMap(({ answers: all }) => all.map(({ body: text }) => text));

/** What a service may repeat. Nothing may come before a link that would make it part of another word. */
const echo = weighted(
  [3, quotedKey],
  [2, fc.tuple(fc.constantFrom('', 'Invalid link: '), signedLink).map((parts) => parts.join(''))],
);

const leaf = weighted<unknown>(
  [4, echo],
  [2, fc.tuple(anyText, echo).map((parts) => parts.join(' '))],
  [2, jsonValue],
);

/** What may be read as the id of a task, which stays exact even if it is a link. */
const ID_NAMES = /id$|name|^\d/i;

/** An answer of a known service with some of its values replaced. */
const changedJson = fc
  .tuple(
    fc.constantFrom(...BODIES),
    fc.infiniteStream(leaf),
    fc.infiniteStream(fc.oneof(quotedKey, jsonValue)),
    fc.infiniteStream(fc.nat(3)),
  )
  .map(([body, leaves, ids, dice]) => {
    const change = (name: string, value: unknown): unknown => {
      const isLeaf = typeof value !== 'object' || value === null;
      if (!isLeaf || dice.next().value !== 0) return value;
      return (ID_NAMES.test(name) ? ids : leaves).next().value;
    };
    try {
      return JSON.stringify(JSON.parse(body, change));
    } catch {
      return body;
    }
  });

const NAMES = [
  ...['task_id', 'taskId', 'id', 'request_id', 'status', 'state', 'task_status', 'done', 'progress', 'error'],
  ...['code', 'message', 'error_message', 'msg', 'video_url', 'url', 'success', 'name'],
];
const WORDS = ['succeeded', 'success', 'running', 'failed', 'error', '', 0, 200, 429, true, false, 'task-1'];

/** Fields that are read, side by side, so that they contradict each other. */
const mixedJson = fc
  .array(
    fc.constantFrom(...NAMES).chain((name) => {
      const value = ID_NAMES.test(name)
        ? fc.oneof(quotedKey, fc.constantFrom(...WORDS))
        : fc.oneof(leaf, fc.constantFrom(...WORDS));
      const error = fc.record({ code: leaf, message: leaf });
      return fc.tuple(fc.constant(name), name === 'error' ? fc.oneof(error, value) : value);
    }),
    { minLength: 2, maxLength: 8 },
  )
  .chain((entries) =>
    fc.constantFrom(...['', 'data', 'output']).map((within) => {
      const task = Object.fromEntries(entries);
      return JSON.stringify(within === '' ? task : { [within]: task });
    }),
  );

const DEPTHS = [10, 900, 1_100, 50_000];
const deep = fc
  .tuple(
    fc.constantFrom(...DEPTHS),
    fc.constantFrom('[', '{"data":', '{"a":['),
    fc.constantFrom('', '{"task_id":"t"}'),
  )
  .map(([depth, open, inside]) => open.repeat(depth) + inside + closing(open).repeat(depth));

const closing = (open: string) =>
  [...open]
    .reverse()
    .map((sign) => ({ '[': ']', '{': '}' })[sign] ?? '')
    .join('');

const task = fc.record({ task_id: anyText, status: anyText, id: anyText });
const listOfTasks = (length: number) => JSON.stringify({ data: Array.from({ length }, (_, id) => ({ id })) });

const body = weighted(
  [5, changedJson],
  [5, mixedJson],
  [3, fc.constantFrom(...BODIES).chain(edited)],
  [1, deep],
  [1, fc.tuple(longText, echo).map((parts) => parts.join(' '))],
  [1, fc.tuple(fc.constantFrom('<html>', '', 'error: '), echo).map((parts) => parts.join(' '))],
  [1, fc.array(task, { maxLength: 3 }).map((data) => JSON.stringify({ data }))],
  [1, weighted([9, fc.constant(1_000)], [1, fc.constant(60_000)]).map(listOfTasks)],
);

/** A line break would begin the next header. */
const headerValue = fc.oneof(anyText, echo).map((value) => value.replace(/[\r\n\0]/g, ' ').slice(0, 5_000));
const RETRY_DATE = 'Wed, 21 Oct 2015 07:28:00 GMT';
const textOr = (...known: string[]) => fc.oneof(fc.constantFrom(...known), headerValue);
const header = fc.oneof(
  fc.tuple(fc.constantFrom('retry-after', 'retry-after-ms', 'date'), textOr('5', '1e9', RETRY_DATE, '-1')),
  fc.tuple(fc.constant('content-type'), textOr('application/json', 'text/html; charset=utf-16')),
  fc.tuple(fc.constant('location'), fc.oneof(signedLink, headerValue)),
  fc.tuple(fc.constant('content-encoding'), textOr('gzip', 'br', 'deflate', 'identity', 'zstd', 'gzip, br')),
  fc.tuple(fc.constantFrom('x-request-id', 'set-cookie', 'www-authenticate'), headerValue),
);

const answer: fc.Arbitrary<Answer> = fc.record({
  call: weighted<Answer['call']>([4, fc.constantFrom('submit', 'poll')], [1, fc.constant('cancel')]),
  status: weighted(
    [4, fc.constantFrom(200, 200, 201, 202, 204, 302, 400, 401, 404, 429, 500, 503)],
    [1, fc.integer({ min: 199, max: 999 })],
  ),
  headers: fc.array(header, { maxLength: 3 }),
  body,
  encoding: weighted<Answer['encoding']>(
    [6, fc.constant('plain')],
    [1, fc.constantFrom(...(Object.keys(ENCODINGS) as Answer['encoding'][]))],
  ),
});

/** The cancellation makes this service cancel tasks as well. */
const PROFILE: ServiceProfile = { cancel: { method: 'DELETE', path: '/v1/videos/{taskId}' } };

let server: Server;
let port = 0;
let next: Buffer = Buffer.alloc(0);
let jobs = 0;

function bytesOf({ status, headers, body: text, encoding }: Answer): Buffer {
  const bytes = ENCODINGS[encoding](text);
  const isEncoded = encoding === 'gzip' || encoding === 'deflate' || encoding === 'br';
  const fields: [string, string][] = [
    ...headers,
    ...(isEncoded ? [['content-encoding', encoding] as [string, string]] : []),
    ['content-length', String(bytes.length)],
    ['connection', 'close'],
  ];
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} Status\r\n${lines}\r\n`), bytes]);
}

/** What the activities do with one answer: results, failures, heartbeats, logs, records and recordings. */
export const answers: Target<Answer> = {
  inputs: answer,
  plain: { call: 'submit', status: 200, headers: [], body: '{"task_id":"t-1"}', encoding: 'plain' },
  inSuite: 40,
  connects: true,
  async open() {
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(next));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  },
  async feed(input, folder) {
    next = bytesOf(input);
    const service = createVideoService({
      baseUrl: `http://127.0.0.1:${port}`,
      apiKey: () => KEY,
      profile: PROFILE,
      timeouts: { submit: 10_000, poll: 10_000 },
      onAnswer: recordAnswers(join(folder, 'recordings')),
    });
    try {
      return await act(input.call, service, folder);
    } finally {
      await service.close();
    }
  },
  async close() {
    server.close();
    await once(server, 'close');
  },
};

async function act(call: Answer['call'], service: VideoService, folder: string) {
  const texts: string[] = [];
  const data: string[] = [];
  const line = (message: string, meta: Record<string, unknown> = {}) => {
    for (const format of ['json', 'pretty'] as const)
      createLogger({ level: 'trace', format, write: (written) => texts.push(written) }).info(message, meta);
    data.push(JSON.stringify(meta));
  };
  const logger = {
    log: (_level: string, message: string, meta?: Record<string, unknown>) => line(message, meta),
    trace: line,
    debug: line,
    info: line,
    warn: line,
    error: line,
  };
  const workflowExecution = { workflowId: `fox-${++jobs}`, runId: 'run' };
  const environment = new MockActivityEnvironment(
    { scheduleToCloseTimeoutMs: 3_600_000, workflowExecution },
    { logger },
  );
  environment.on('heartbeat', (details: unknown) => data.push(JSON.stringify(details) ?? ''));
  const { submitVideo, pollVideo, cancelVideo } = createVideoActivities({
    service,
    storage: createFileStorage(join(folder, 'videos')),
  });
  const run = {
    submit: () => environment.run(submitVideo, { request: { prompt: 'A red fox' } }),
    poll: () => environment.run(pollVideo, { taskId: 't-1' }),
    cancel: () => environment.run(cancelVideo, { taskId: 't-1' }),
  };
  const result: unknown = await run[call]();
  texts.push(JSON.stringify(result) ?? '');
  return { texts, data };
}
