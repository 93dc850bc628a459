import type { Socket } from 'node:net';
import {
  createVideoService,
  type FaultFacts,
  type FaultKind,
  ServiceFault,
  type ServiceTimeouts,
  type VideoService,
  type VideoServiceOptions,
} from '../../src/service';
import { freePort } from '../../src/temporal-server/loopback-port';
import { closed, type RawRequest, type RawServer, reply, startRawServer } from './raw-server';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function serve(
  answer?: (request: RawRequest) => void,
  onConnection?: (socket: Socket) => void,
): Promise<RawServer> {
  const server = await startRawServer(answer, { onConnection });
  opened.push(server);
  return server;
}

function connect(baseUrl: string, options: Partial<VideoServiceOptions> = {}): VideoService {
  const service = createVideoService({ baseUrl, apiKey: () => 'key', ...options });
  opened.push(service);
  return service;
}

const CALLS = [
  ['submit', (service: VideoService) => service.start({ prompt: 'x' }, { idempotencyKey: 'k' })],
  ['poll', (service: VideoService) => service.status('task-1')],
  ['openVideo', (service: VideoService) => service.open('/v.mp4')],
] as const;

async function faultOf(call: Promise<unknown>): Promise<ServiceFault> {
  const outcome: unknown = await call.catch((error: unknown) => error);
  if (outcome instanceof ServiceFault) return outcome;
  throw new Error('expected a ServiceFault', { cause: outcome });
}

/** The real ones are tens of seconds. */
const SHORT: Partial<ServiceTimeouts> = { submit: 200, poll: 200, video: 200 };

describe.each(CALLS)('%s was not sent', (_name, call) => {
  it('when nothing listens at the port', async () => {
    const fault = await faultOf(call(connect(`http://127.0.0.1:${await freePort()}`)));
    expect(fault).toMatchObject({ kind: 'not-sent', facts: { code: 'ECONNREFUSED' } });
  });

  it('when the name does not resolve', async () => {
    const fault = await faultOf(call(connect('http://video-service.invalid')));
    expect(fault.kind).toBe('not-sent');
    expect(fault.facts.code).toMatch(/^(ENOTFOUND|EAI_AGAIN)$/);
    expect(fault.facts.message).toContain('video-service.invalid');
  });

  it('when the port does not speak TLS', async () => {
    const server = await serve(reply, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const fault = await faultOf(call(connect(`https://127.0.0.1:${server.port}`)));
    expect(fault.kind).toBe('not-sent');
    expect(server.requests).toHaveLength(0);
  });

  it('when the connection is not made in time', async () => {
    const server = await serve();
    const service = connect(`https://127.0.0.1:${server.port}`, { timeouts: { connect: 200 } });
    const fault = await faultOf(call(service));
    expect(fault).toMatchObject({ kind: 'not-sent', facts: { code: 'UND_ERR_CONNECT_TIMEOUT' } });
  });
});

const CUTS: [what: string, answer: (request: RawRequest) => void][] = [
  ['is reset after the request arrived', ({ socket }) => socket.resetAndDestroy()],
  ['is closed after the request arrived', ({ socket }) => socket.end()],
  ['ends within the status line', ({ socket }) => socket.end('HTTP/1.')],
  ['ends within the headers', ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-le')],
  ['sends something that is not HTTP', ({ socket }) => socket.end('220 mail.example.com ESMTP\r\n')],
];

describe.each(CALLS)('%s may have arrived', (_name, call) => {
  it.each(CUTS)('when the connection %s', async (_what, answer) => {
    const server = await serve(answer);
    const fault = await faultOf(call(connect(server.url)));
    expect(fault.kind).toBe('cut');
    expect(fault.facts.status).toBeUndefined();
    expect(fault.facts.message).not.toBe('');
    expect(server.requests).toHaveLength(1);
  });

  it('when the connection is reset before a byte was read, because the client cannot know that', async () => {
    const server = await serve(undefined, (socket) => {
      // Reset as soon as there are bytes to read.
      socket.removeAllListeners('data');
      socket.once('readable', () => socket.resetAndDestroy());
    });
    expect(await faultOf(call(connect(server.url)))).toMatchObject({ kind: 'cut' });
  });

  it('when no answer ever comes', async () => {
    const server = await serve();
    const fault = await faultOf(call(connect(server.url, { timeouts: SHORT })));
    expect(fault).toMatchObject({ kind: 'cut', facts: { message: 'no complete answer within 200 ms' } });
    const { socket } = await server.nextRequest();
    await closed(socket);
  });
});

describe.each(CALLS.filter(([name]) => name !== 'openVideo'))('%s got half an answer', (_name, call) => {
  const half = { headers: { 'content-length': 100 }, body: '{"task_id":"t"' };

  it('when the connection ends within the body', async () => {
    const server = await serve((request) => {
      reply(request, half);
      request.socket.end();
    });
    expect(await faultOf(call(connect(server.url)))).toMatchObject({ kind: 'cut' });
  });

  it('when the connection is reset within the body', async () => {
    const server = await serve((request) => {
      reply(request, half);
      request.socket.resetAndDestroy();
    });
    expect(await faultOf(call(connect(server.url)))).toMatchObject({ kind: 'cut' });
  });

  it('when the rest of the body never comes', async () => {
    const server = await serve((request) => reply(request, half));
    const fault = await faultOf(call(connect(server.url, { timeouts: SHORT })));
    expect(fault).toMatchObject({ kind: 'cut', facts: { message: 'no complete answer within 200 ms' } });
  });

  it('which is still a refusal when the body of a refusal is cut', async () => {
    const server = await serve((request) => {
      reply(request, { ...half, status: 503, headers: { ...half.headers, 'retry-after': 3 } });
      request.socket.end();
    });
    const fault = await faultOf(call(connect(server.url)));
    expect(fault).toMatchObject({ kind: 'answered', facts: { status: 503, retryAfterMs: 3_000 } });
  });
});

describe.each(CALLS)('%s was refused', (_name, call) => {
  it.each<[body: string, expected: Partial<FaultFacts>]>([
    ['{"error":{"code":"bad_prompt","message":"No."}}', { code: 'bad_prompt', message: 'No.' }],
    ['{"error":{"type":"invalid","message":"No."}}', { code: 'invalid', message: 'No.' }],
    ['{"error":"No."}', { message: 'No.' }],
    ['{"code":1102,"msg":"No balance"}', { code: '1102', message: 'No balance' }],
    ['{"message":"No."}', { message: 'No.' }],
    ['{"detail":[{"loc":["body"],"msg":"No."}]}', { message: 'No.' }],
    ['{"base_resp":{"status_code":1004,"status_msg":"No."}}', { code: '1004', message: 'No.' }],
    ['{"error":{"code":"a\\u0000b","message":"one\\ntwo\\u001b[2J"}}', { code: 'a b', message: 'one two' }],
    ['not even JSON', { message: 'not even JSON' }],
    ['{"half":', { message: '{"half":' }],
    ['{"nothing":"known"}', { message: '{"nothing":"known"}' }],
    ['', { message: undefined }],
  ])('with the service’s own code and message: %s', async (body, expected) => {
    const server = await serve((request) => reply(request, { status: 400, body }));
    const fault = await faultOf(call(connect(server.url)));
    expect(fault.kind).toBe('answered');
    expect(fault.facts).toEqual({ status: 400, code: undefined, retryAfterMs: undefined, ...expected });
  });

  it('with a page of HTML, which is quoted in part', async () => {
    const page = `<html>\n<h1>500 Internal Server Error</h1>\n${'<!-- padding -->\n'.repeat(100)}</html>`;
    const server = await serve((request) =>
      reply(request, { status: 500, headers: { 'content-type': 'text/html' }, body: page }),
    );
    const fault = await faultOf(call(connect(server.url)));
    expect(fault).toMatchObject({ kind: 'answered', facts: { status: 500 } });
    expect(fault.facts.message).toMatch(/^<html> <h1>500 Internal Server Error<\/h1> /);
    expect(fault.facts.message?.length).toBeLessThanOrEqual(500);
  });

  it.each<[string, number | undefined]>([
    ['7', 7_000],
    [new Date(Date.UTC(2026, 10, 15, 12, 0, 30)).toUTCString(), 30_000],
    ['soon', undefined],
  ])('with Retry-After: %s', async (value, expected) => {
    const date = new Date(Date.UTC(2026, 10, 15, 12, 0, 0)).toUTCString();
    const server = await serve((request) =>
      reply(request, { status: 429, headers: { 'retry-after': value, date } }),
    );
    const fault = await faultOf(call(connect(server.url)));
    expect(fault).toMatchObject({ kind: 'answered', facts: { status: 429 } });
    expect(fault.facts.retryAfterMs).toBe(expected);
  });

  it.each([300, 304, 399, 400, 499, 500, 599])('when the status is %d', async (status) => {
    const server = await serve((request) => reply(request, { status, body: '' }));
    expect(await faultOf(call(connect(server.url)))).toMatchObject({ kind: 'answered', facts: { status } });
  });
});

describe('an answer that is too large', () => {
  const TOTAL = 64 * 1024 * 1024;
  const PIECE = Buffer.alloc(64 * 1024, ' ');

  /** Writes as fast as the client reads, until the client closes the socket. */
  function flood({ socket }: RawRequest, status: number): () => number {
    let written = 0;
    const more = () => {
      while (written < TOTAL && !socket.destroyed) {
        written += PIECE.length;
        if (!socket.write(PIECE)) break;
      }
    };
    socket.write(`HTTP/1.1 ${status} Status\r\ncontent-length: ${TOTAL}\r\n\r\n`);
    socket.on('drain', more);
    more();
    return () => written;
  }

  it.each<[call: string, status: number, kind: FaultKind, message: string | undefined]>([
    ['submit', 200, 'unreadable', 'the answer is larger than 1048576 bytes'],
    ['poll', 200, 'unreadable', 'the answer is larger than 1048576 bytes'],
    ['submit', 500, 'answered', undefined],
    ['poll', 500, 'answered', undefined],
  ])('to %s with status %d is not read to its end', async (name, status, kind, message) => {
    let written = () => 0;
    const server = await serve((request) => {
      written = flood(request, status);
    });
    const [, call] = CALLS.find(([one]) => one === name) ?? CALLS[0];
    const fault = await faultOf(call(connect(server.url)));
    expect(fault.kind).toBe(kind);
    expect(fault.facts).toMatchObject({ status });
    expect(fault.facts.message).toBe(message);
    const { socket } = await server.nextRequest();
    await closed(socket);
    expect(written()).toBeLessThan(TOTAL);
  });

  it('is one byte beyond a mebibyte', async () => {
    const bodies = [1024 * 1024, 1024 * 1024 + 1].map((bytes) => '{"status":"running"}'.padEnd(bytes));
    const server = await serve((request) => reply(request, { body: bodies.shift() }));
    const service = connect(server.url);
    expect(await service.status('t')).toMatchObject({ task: { state: 'running' } });
    expect(await faultOf(service.status('t'))).toMatchObject({ kind: 'unreadable' });
  });
});

describe('a poll that is answered with status 200 is unreadable', () => {
  it.each([
    ['broken JSON', '{"status": "runn', 'not JSON: {"status": "runn'],
    ['a page', '<p>Welcome</p>', 'not JSON: <p>Welcome</p>'],
    ['a bare word', '"running"', 'not JSON: "running"'],
    ['nothing', '', 'not JSON: '],
    ['control characters', '\u0000\u001b[2Jhello\u0007', 'not JSON: hello'],
    ['half a link', '{"url":"https://a.b/v.mp4?sig=abc', 'not JSON: {"url":"https://a.b/v.mp4?…'],
  ])('when it is %s', async (_what, body, message) => {
    const server = await serve((request) => reply(request, { body }));
    const fault = await faultOf(connect(server.url).status('t'));
    expect(fault).toMatchObject({ kind: 'unreadable', facts: { status: 200, message } });
  });
});

it('a fault is one line as text', () => {
  const facts = { status: 429, code: 'rate_limited', message: 'too many requests' };
  expect(String(new ServiceFault('answered', facts))).toBe(
    'ServiceFault: answered: 429 rate_limited too many requests',
  );
});
