import dns, { type LookupAddress } from 'node:dns';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { BRIEF_POLICY, POLL_POLICY, SUBMIT_POLICY } from '../../src/contract/policies';
import type { FaultFacts, FaultKind, VideoService } from '../../src/service';
import { DEFAULT_TIMEOUTS } from '../../src/service/video-service';
import { closed, type RawRequest, type Reply, reply } from './raw-server';
import { connect, faultOf, serve, submit } from './service-world';

const PROFILE = {
  cancel: { method: 'DELETE', path: '/cancel/{taskId}' },
  video: { id: 'file_id', path: '/files/{fileId}', link: 'url' },
} as const;
/** The real ones are tens of seconds. */
const SHORT = { profile: PROFILE, timeouts: { submit: 300, poll: 300, video: 300 } };

afterEach(() => jest.restoreAllMocks());

type Call = (service: VideoService) => Promise<unknown>;
const SUBMIT: [string, Call] = ['submit', (service) => submit(service)];
const POLL: [string, Call] = ['poll', (service) => service.status('task-1')];
const CANCEL: [string, Call] = ['cancel', async (service) => service.cancel?.('task-1')];
const OPEN: [string, Call] = ['opened video', (service) => service.open('/v.mp4')];

const CUTS: [what: string, answer: (request: RawRequest) => void][] = [
  ['is reset after the request arrived', ({ socket }) => socket.resetAndDestroy()],
  ['ends within the status line', ({ socket }) => socket.end('HTTP/1.')],
  ['ends within the headers', ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-le')],
];

describe.each([SUBMIT, POLL, OPEN])('a %s', (_name, call) => {
  it('was not sent when the name does not resolve', async () => {
    expect(await faultOf(call(connect('http://video-service.invalid')))).toMatchObject({
      kind: 'not-sent',
      facts: {
        code: expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/),
        message: expect.stringContaining('video-service.invalid'),
      },
    });
  });

  it('was not sent when the connection is not made in time', async () => {
    const { port } = await serve();
    const fault = await faultOf(call(connect(`https://127.0.0.1:${port}`, { timeouts: { connect: 200 } })));
    expect(fault).toMatchObject({ kind: 'not-sent', facts: { code: 'UND_ERR_CONNECT_TIMEOUT' } });
  });

  it.each(CUTS)('may have arrived when the connection %s', async (_what, answer) => {
    const server = await serve(answer);
    const fault = await faultOf(call(connect(server.url)));
    expect(fault.kind).toBe('cut');
    expect(fault.facts.status).toBeUndefined();
    expect(fault.facts.message).not.toBe('');
    expect(server.requests).toHaveLength(1);
  });

  it.each<[body: string, expected: Partial<FaultFacts>]>([
    ['{"error":{"code":"a\\u0000b","message":"one\\ntwo\\u001b[2J"}}', { code: 'a b', message: 'one two' }],
    ['', { message: undefined }],
  ])('is refused with the service’s own code and message: %s', async (body, expected) => {
    const headers = { 'retry-after': 7 };
    const server = await serve((request) => reply(request, { status: 400, headers, body }));
    const fault = await faultOf(call(connect(server.url)));
    expect(fault.kind).toBe('answered');
    expect(fault.facts).toEqual({ status: 400, code: undefined, retryAfterMs: 7_000, ...expected });
  });
});

describe.each([SUBMIT, POLL])('half of the answer to a %s', (_name, call) => {
  const half = { headers: { 'content-length': 100 }, body: '{"task_id":"t"' };

  it.each(['end', 'resetAndDestroy'] as const)('is none: %s', async (how) => {
    const server = await serve((request) => {
      reply(request, half);
      request.socket[how]();
    });
    expect((await faultOf(call(connect(server.url)))).kind).toBe('cut');
  });
});

/** Sends the beginning at once, and then pieces often enough to reset every timeout between two, until the socket closes. */
function trickle({ socket }: RawRequest, beginning: string, more = ' '): void {
  socket.write(beginning);
  const timer = setInterval(() => socket.write(more), 20);
  socket.once('close', () => clearInterval(timer));
}

const head = (status: number, ...headers: string[]) =>
  `HTTP/1.1 ${status} Status\r\n${headers.map((header) => `${header}\r\n`).join('')}content-length: 100000\r\n\r\n`;

const EARLY_HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
const CUT = { kind: 'cut', facts: { message: 'no complete answer within 300 ms' } };
const TRICKLES: [what: string, calls: [string, Call][], beginning: string, more: string, fault: object][] = [
  ['hint after hint', [SUBMIT, POLL, CANCEL, OPEN], EARLY_HINTS, EARLY_HINTS, { kind: 'cut' }],
  [
    'a refusal that trickles, whose status is known',
    [SUBMIT, POLL, CANCEL, OPEN],
    head(400),
    ' ',
    { kind: 'answered', facts: { status: 400 } },
  ],
  ['a good answer that trickles', [SUBMIT, POLL, CANCEL], `${head(200)}{"task_id":"t"`, ' ', CUT],
  ['an answer that never comes', [SUBMIT, POLL, OPEN], '', '', CUT],
];

test('a submit is not sent by a process that was stopped while it connected', async () => {
  const server = await serve((request) => reply(request, { body: '{"task_id":"t"}' }));
  const now = performance.now.bind(performance);
  jest.spyOn(dns, 'lookup').mockImplementation(((_host: string, _options: object, found: OnLookup) => {
    // As after a SIGSTOP of a second: the process hears of the connection before its timers.
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 1_000);
    found(null, [{ address: '127.0.0.1', family: 4 }]);
  }) as typeof dns.lookup);
  const service = connect(server.url.replace('127.0.0.1', 'localhost'), { timeouts: { connect: 900 } });
  expect(await faultOf(submit(service))).toMatchObject({
    kind: 'not-sent',
    facts: { message: 'it took too long to connect' },
  });
  expect(server.requests).toEqual([]);
});

type OnLookup = (error: null, addresses: LookupAddress[]) => void;

describe('a deadline', () => {
  it.each(
    TRICKLES.flatMap(([what, calls, ...rest]) =>
      calls.map(([name, call]) => [name, what, call, ...rest] as const),
    ),
  )('ends a %s that gets %s', async (_name, _what, call, beginning, more, fault) => {
    const server = await serve((request) => trickle(request, beginning, more));
    expect(await faultOf(call(connect(server.url, SHORT)))).toMatchObject(fault);
    await closed((await server.nextRequest()).socket);
  });

  it('does not end a video whose bytes have begun to come', async () => {
    const server = await serve((request) => {
      request.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na');
      setTimeout(() => request.socket.write('b'), 2 * SHORT.timeouts.video);
    });
    const { stream } = await connect(server.url, SHORT).open('/v.mp4');
    let received = '';
    for await (const chunk of stream) received += String(chunk);
    expect(received).toBe('ab');
  });

  it('is below the timeout of the activity that submits, polls with two exchanges, or cancels', () => {
    const { submit, poll } = DEFAULT_TIMEOUTS;
    expect(submit).toBeLessThan(SUBMIT_POLICY.startToCloseTimeout);
    expect(2 * poll).toBeLessThan(POLL_POLICY.startToCloseTimeout);
    expect(poll).toBeLessThan(BRIEF_POLICY.startToCloseTimeout);
  });
});

const MEBIBYTE = 1024 * 1024;
const TOO_LARGE = 'the answer is larger than 1048576 bytes';

describe('an answer that is too large', () => {
  const TOTAL = 64 * MEBIBYTE;
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

  it.each<[name: 'submit' | 'poll', status: number, kind: FaultKind, message: string | undefined]>([
    ['submit', 200, 'unreadable', TOO_LARGE],
    ['poll', 200, 'unreadable', TOO_LARGE],
    ['submit', 500, 'answered', undefined],
    ['poll', 500, 'answered', undefined],
  ])('to a %s with status %d is not read to its end', async (name, status, kind, message) => {
    const [, call] = name === 'submit' ? SUBMIT : POLL;
    let written = () => 0;
    const server = await serve((request) => {
      written = flood(request, status);
    });
    const fault = await faultOf(call(connect(server.url)));
    expect([fault.kind, fault.facts.status, fault.facts.message]).toEqual([kind, status, message]);
    await closed((await server.nextRequest()).socket);
    expect(written()).toBeLessThan(TOTAL);
  });
});

describe('an answer in an encoding, although none was requested,', () => {
  const TASK = '{"task_id":"task-1","status":"queued"}';
  const answering = async (answer: Reply) => connect((await serve((request) => reply(request, answer))).url);
  const encodedAs = (encoding: string, body: Buffer | string, status = 200) =>
    answering({ status, headers: { 'content-encoding': encoding }, body });

  it.each([
    ['gzip', gzipSync(TASK)],
    ['x-gzip', gzipSync(TASK)],
    ['GZIP', gzipSync(TASK)],
    ['br', brotliCompressSync(TASK)],
    // Some servers mean the charset, and some proxies have already decoded the body.
    ['utf-8', Buffer.from(TASK)],
    ['gzip', Buffer.from(TASK)],
  ])('is read: %s', async (encoding, body) => {
    const service = await encodedAs(encoding, body);
    expect(await submit(service)).toMatchObject({ taskId: 'task-1' });
    expect((await service.status('task-1')).task).toMatchObject({ state: 'queued' });
  });

  it.each([
    ['gzip', gzipSync(Buffer.alloc(50_000_000, ' ')), TOO_LARGE],
    [
      'gzip',
      gzipSync(TASK).subarray(0, 20),
      'the answer cannot be decoded as gzip, which its Content-Encoding names',
    ],
  ])('is unreadable when it is too large or broken: %s', async (encoding, body, message) => {
    expect(await faultOf(submit(await encodedAs(encoding, body)))).toMatchObject({
      kind: 'unreadable',
      facts: { status: 200, message },
    });
  });
});

it.each([
  ['broken JSON', '{"status": "runn', 'not JSON: {"status": "runn'],
  ['nothing', '', 'not JSON: '],
  ['control characters', '\u0000\u001b[2Jhello\u0007', 'not JSON: hello'],
  ['half a link', '{"url":"https://a.b/v.mp4?sig=abc', 'not JSON: {"url":"https://a.b/v.mp4?…'],
])('a poll that is answered with HTTP 200 and %s is unreadable', async (_what, body, message) => {
  const server = await serve((request) => reply(request, { body }));
  expect(await faultOf(connect(server.url).status('t'))).toMatchObject({
    kind: 'unreadable',
    facts: { status: 200, message },
  });
});
