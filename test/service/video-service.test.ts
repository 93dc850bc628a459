import dns, { type LookupAddress } from 'node:dns';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { type Attributes, type SpanOptions, SpanStatusCode, trace } from '@opentelemetry/api';
import { TASK_ID_RULE } from '../../src/contract/input-rules';
import { BRIEF_POLICY, POLL_POLICY, SUBMIT_POLICY } from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import {
  type FaultKind,
  idsInJobs,
  namedServicesProblem,
  RateLimiters,
  type ServiceAnswer,
  ServiceDirectory,
  ServiceFault,
  type ServiceProfile,
  servicesForClients,
  type VideoService,
} from '../../src/service';
import { DEFAULT_TIMEOUTS } from '../../src/service/video-service';
import { closed, type RawRequest, reply, replyJson } from './raw-server';
import { closeAfterTest, connect, faultOf, KEY, linesOf, serve, submit } from './service-world';

const TEXT: VideoRequest = {
  prompt: 'A red fox, “äöü 狐”',
  resolution: '720p',
  aspect_ratio: '16:9',
  duration: 5,
  seed: 7,
};
const IMAGE: VideoRequest = { ...TEXT, image_url: 'https://example.com/fox.png?a=1&b=2' };

const acceptTask = (request: RawRequest) => replyJson(request, { task_id: 'task-1', status: 'queued' });

type Call = (service: VideoService) => Promise<unknown>;
const SUBMIT: [string, Call] = ['submit', (service) => submit(service)];
const POLL: [string, Call] = ['poll', (service) => service.status('task-1')];
const CANCEL: [string, Call] = ['cancel', async (service) => service.cancel?.('task-1')];
const OPEN: [string, Call] = ['opened video', (service) => service.open('/v.mp4')];

afterEach(() => {
  jest.restoreAllMocks();
  trace.disable();
});

describe('a submit', () => {
  it.each([
    ['text', '/v1/videos/text-to-video', TEXT],
    ['an image', '/v1/videos/image-to-video', IMAGE],
  ])('for a video from %s is one POST of its JSON to %s', async (_what, path, request) => {
    const server = await serve(acceptTask);
    expect(await submit(connect(server.url), request)).toEqual({ taskId: 'task-1', doubts: [] });
    expect(linesOf(server)).toEqual([`POST ${path} HTTP/1.1`]);
    expect(server.requests[0]?.headers).toMatchObject({
      host: `127.0.0.1:${server.port}`,
      accept: 'application/json',
      'accept-encoding': 'identity',
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      'idempotency-key': 'k',
    });
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual(request);
  });

  it.each([
    ['a signed link', 'https://cdn.example.com/t/7?signature=abcdefghij', 'is a signed link'],
    ['too long', 'x'.repeat(1_001), `${TASK_ID_RULE}: xxx`],
  ])('whose task id is %s is lost, and no message has the link', async (_what, task_id, problem) => {
    const server = await serve((request) => replyJson(request, { task_id }));
    const fault = await faultOf(submit(connect(server.url)));
    expect(fault).toMatchObject({ kind: 'unreadable', facts: { status: 200 } });
    expect(fault.facts.message).toMatch(`the task id in the answer ${problem}`);
    expect(JSON.stringify(fault)).not.toContain('abcdefghij');
  });

  it('goes out on a connection of its own, and polls share one until the service is closed', async () => {
    const headers = { connection: 'keep-alive', 'keep-alive': 'timeout=300' };
    const server = await serve((request) => replyJson(request, { task_id: 'task-1' }, { headers }));
    const service = connect(server.url);
    await service.status('task-1');
    for (let i = 0; i < 2; i++) await submit(service);
    await service.status('task-1');
    expect(server.requests.map(({ connection }) => connection)).toEqual([1, 2, 3, 1]);
    await service.close();
    await closed((await server.nextRequest()).socket);
  });

  it('is not sent by a process that was stopped while it connected', async () => {
    const server = await serve(acceptTask);
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
});

it('the address of the service that is not a URL is refused at once, without showing it', () => {
  const creating = () => connect('https://me:secret@[bad');
  expect(creating).toThrow('The baseUrl of the video service is not a URL.');
  expect(creating).not.toThrow('secret');
});

describe('a poll', () => {
  it('is one GET with the key, without a body and without an idempotency key', async () => {
    const body = { status: 'running', progress: 40 };
    const server = await serve((request) => replyJson(request, body, { headers: { 'retry-after': 12 } }));
    expect(await connect(server.url).status('task-1')).toMatchObject({
      task: { state: 'running', word: 'running', percent: 40 },
      retryAfterMs: 12_000,
    });
    expect(server.requests).toMatchObject([
      {
        line: 'GET /v1/videos/task-1 HTTP/1.1',
        headers: { authorization: `Bearer ${KEY}`, accept: 'application/json' },
        body: '',
      },
    ]);
    expect(server.requests[0]?.headers).not.toHaveProperty('idempotency-key');
  });

  it.each([
    [{ error: { code: 'internal', message: 'Try later' } }, 'unknown', 'internal: Try later'],
    [{ status: 'error', id: 'req-7', message: 'Try later' }, 'unknown', 'error'],
    [{ status: 'error', id: 'task-1', message: 'No frames' }, 'failed', 'error'],
    [{ status: 'timeout', id: 'req-7' }, 'unknown', 'timeout'],
    [{ status: 'timed out', id: 'req-7' }, 'unknown', 'timed out'],
  ])('ends no paid task by an error that may be about the call: %j', async (body, state, word) => {
    const server = await serve((request) => replyJson(request, body));
    expect(await connect(server.url).status('task-1')).toMatchObject({ task: { state, word } });
  });

  it.each([
    ['../../admin', '..%2F..%2Fadmin'],
    ['.', '%2E'],
    ['a?key=1#frag', 'a%3Fkey%3D1%23frag'],
    ['a\r\nHost: evil', 'a%0D%0AHost%3A%20evil'],
    ['image-to-video:7', 'image-to-video%3A7'],
  ])('of the task %j requests %s and nothing else', async (taskId, segment) => {
    const server = await serve((request) => replyJson(request, { status: 'running' }));
    await connect(server.url).status(taskId);
    expect(linesOf(server)).toEqual([`GET /v1/videos/${segment} HTTP/1.1`]);
  });

  it('returns the link of the video unchanged, and everything else redacted', async () => {
    const link = 'https://cdn.example.com/v.mp4?signature=abcdefghij';
    const server = await serve((request) =>
      replyJson(request, {
        ...{ task_id: 'task-1', status: 'succ\u0000eeded', video_url: link },
        ...{ message: `see ${link} with ${KEY}`, data: { task_id: KEY } },
      }),
    );
    expect(await connect(server.url).status('task-1')).toMatchObject({
      task: { state: 'succeeded', word: 'succ eeded', videoUrl: link },
      serviceMessage: { message: 'see https://cdn.example.com/v.mp4?… with …' },
      doubts: ['task_id is task-1 and data.task_id is …'],
    });
  });

  it('that is answered with HTTP 200 and half a link is unreadable, and the link is hidden', async () => {
    const body = '\u0000\u001b[2J{"url":"https://a.b/v.mp4?sig=abc';
    const server = await serve((request) => reply(request, { body }));
    expect(await faultOf(connect(server.url).status('t'))).toMatchObject({
      kind: 'unreadable',
      facts: { status: 200, message: 'not JSON: {"url":"https://a.b/v.mp4?…' },
    });
  });
});

it.each<[name: string, start: (service: VideoService, signal: AbortSignal) => Promise<unknown>]>([
  ['poll', (service, signal) => service.status('t', { signal })],
  ['opened video', (service, signal) => service.open('/v.mp4', { signal })],
])(
  'a %s that is aborted before its answer closes its socket, and rejects with the reason',
  async (_name, start) => {
    const server = await serve();
    const abort = new AbortController();
    const reason = new Error('cancelled');
    const started = start(connect(server.url), abort.signal);
    const { socket } = await server.nextRequest();
    abort.abort(reason);
    await expect(started).rejects.toBe(reason);
    await closed(socket);
  },
);

describe('the API key', () => {
  it.each([SUBMIT, POLL])(
    'is sent nowhere else when the answer to a %s is a redirect',
    async (_name, call) => {
      const elsewhere = await serve(acceptTask);
      for (const status of [302, 307]) {
        const server = await serve((request) =>
          reply(request, { status, headers: { location: `${elsewhere.url}/v1/videos/t` } }),
        );
        const fault = await faultOf(call(connect(server.url)));
        expect(fault).toMatchObject({ kind: 'answered', facts: { status } });
        expect(server.requests).toHaveLength(1);
      }
      expect(elsewhere.requests).toHaveLength(0);
    },
  );

  it('is redacted when the service quotes it, as are the headers of the profile', async () => {
    const message = `Incorrect API key: ${KEY} with secret-of-tenant`;
    const server = await serve((request) =>
      replyJson(request, { error: { code: KEY, message } }, { status: 401, headers: { location: '/x' } }),
    );
    const service = connect(server.url, {
      profile: {
        headers: { 'X-Token': 'secret-of-tenant' },
        cancel: { method: 'DELETE', path: '/{taskId}' },
      },
    });
    for (const call of [() => service.status('t'), async () => service.cancel?.('t')]) {
      const fault = await faultOf(call());
      expect(fault.facts).toMatchObject({ status: 401, code: '…', message: 'Incorrect API key: … with …' });
      expect(String(fault)).toBe('ServiceFault: answered: 401 … Incorrect API key: … with …');
    }
  });
});

describe('with a profile', () => {
  it('its paths and headers are used, with the id escaped, and a task is cancelled by its call', async () => {
    const server = await serve((request) => replyJson(request, { task_id: 'task/1' }));
    const service = connect(`${server.url}/base//`, {
      profile: {
        paths: { textToVideo: '/t2v', imageToVideo: '/i2v', task: '/query?task={taskId}' },
        cancel: { method: 'PUT', path: '/tasks/{taskId}/cancel' },
        auth: { header: 'X-Api-Key', scheme: '' },
        headers: { 'X-Version': '7' },
      },
    });
    await submit(service, TEXT);
    await submit(service, IMAGE);
    await service.status('task/1');
    expect(await service.cancel?.('task/1')).toBe('asked');
    expect(await connect(server.url).cancel?.('task/1')).toBe('not-offered');
    expect(linesOf(server)).toEqual([
      'POST /base/t2v HTTP/1.1',
      'POST /base/i2v HTTP/1.1',
      'GET /base/query?task=task%2F1 HTTP/1.1',
      'PUT /base/tasks/task%2F1/cancel HTTP/1.1',
    ]);
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ 'x-api-key': KEY, 'x-version': '7' });
      expect(headers).not.toHaveProperty('authorization');
    }
  });

  it('tasks from images may have paths of their own, which their ids in jobs say', async () => {
    const server = await serve(acceptTask);
    const task = { textToVideo: '/t/{taskId}', imageToVideo: '/i/{taskId}' };
    const cancel = { method: 'POST', path: '/cancel/{taskId}' } as const;
    const service = connect(server.url, { profile: { paths: { task }, cancel } });
    const ids = [];
    for (const request of [TEXT, IMAGE]) ids.push((await submit(service, request)).taskId);
    expect(ids).toEqual(['task-1', 'image-to-video:task-1']);
    expect(idsInJobs('task-1')).toEqual(ids);
    for (const id of ids) await service.status(id);
    await service.cancel?.('image-to-video:task-1');
    expect(linesOf(server).slice(2)).toEqual([
      'GET /t/task-1 HTTP/1.1',
      'GET /i/task-1 HTTP/1.1',
      'POST /cancel/task-1 HTTP/1.1',
    ]);
  });

  it('the slashes of an id stay if the path says so, and nothing else of it gets out of its place', async () => {
    const server = await serve((request) => replyJson(request, { done: false }));
    const service = connect(server.url, { profile: { paths: { task: '/v1beta/{+taskId}' } } });
    await service.status('models/veo/operations/a b');
    await service.status('../../x?y#z');
    expect(linesOf(server)).toEqual([
      'GET /v1beta/models/veo/operations/a%20b HTTP/1.1',
      'GET /v1beta/%2E%2E/%2E%2E/x%3Fy%23z HTTP/1.1',
    ]);
  });

  it.each([
    ['X-Request-Key', 'k'],
    [null, 'fixed'],
  ])(
    'the idempotency key is sent as %s, which no header of the profile doubles',
    async (idempotencyHeader, own) => {
      const server = await serve(acceptTask);
      const headersOfProfile = { 'X-Request-Key': 'fixed' };
      await submit(connect(server.url, { profile: { idempotencyHeader, headers: headersOfProfile } }));
      const { headers = {} } = server.requests[0] ?? {};
      expect([headers['idempotency-key'], headers['x-request-key']]).toEqual([undefined, own]);
    },
  );

  it.each([
    [400, 'you are too busy', true],
    [400, 'no such ratio', undefined],
    [503, 'whatever', true],
  ])('HTTP %d that says "%s" is marked as a limit: %s', async (status, message, limited) => {
    const server = await serve((request) => replyJson(request, { message }, { status }));
    const profile = { refusals: { limited: [{ status: 400, says: 'busy' }, { status: 503 }] } };
    const fault = await faultOf(connect(server.url, { profile }).status('t'));
    expect(fault).toMatchObject({ kind: 'answered', facts: { status, message } });
    expect(fault.facts.limited).toBe(limited);
  });

  it('a code in a 200 that stands for a refusal is one; any other code is not', async () => {
    const answers = [
      { code: 1004, message: 'no such key' },
      { code: 7, message: 'fine', task_id: 'task-2026-11-15' },
    ];
    const server = await serve((request) => replyJson(request, answers.shift()));
    const headers = { 'X-Version': '2026-11-15' };
    const service = connect(server.url, { profile: { headers, refusals: { codes: { 1004: 401 } } } });
    expect(await faultOf(submit(service))).toMatchObject({
      kind: 'answered',
      facts: { status: 401, code: '1004', message: 'no such key' },
    });
    expect(await submit(service)).toMatchObject({ taskId: 'task-2026-11-15' });
  });

  const LINK = 'https://cdn.example.com/v.mp4';
  const FILE = '{"status":"Success","file_id":176844028768320123}';
  const refused = { error: { code: 'content_policy_violation', message: 'No.' } };
  const failed = { state: 'failed', word: 'Success' };

  it.each<[what: string, poll: string, file: object | undefined, task: object, more?: object]>([
    ['is requested with every digit of its id', FILE, { data: { url: LINK } }, { videoUrl: LINK }],
    ['may be missing', FILE, {}, { state: 'succeeded', videoUrl: undefined }],
    ['may be refused', FILE, refused, failed, { refusedContent: {} }],
    ['is not requested without an id', '{"status":"Success"}', undefined, { state: 'succeeded' }],
    ['is not requested too early', FILE.replace('Success', 'Running'), undefined, { state: 'running' }],
  ])('the file of a task %s', async (_what, poll, file, task, more = {}) => {
    const server = await serve((request) =>
      request.line.includes('/files') ? replyJson(request, file) : reply(request, { body: poll }),
    );
    const video = { id: 'file_id', path: '/files?file_id={fileId}', link: ['url'] };
    const profile: ServiceProfile = { video, read: { within: 'data' } };
    expect(await connect(server.url, { profile }).status('t')).toMatchObject({ task, ...more });
    const lines = ['GET /v1/videos/t HTTP/1.1', 'GET /files?file_id=176844028768320123 HTTP/1.1'];
    expect(linesOf(server)).toEqual(lines.slice(0, file ? 2 : 1));
  });

  it('the video itself may be at a path with the id of its task', async () => {
    const server = await serve((request) => replyJson(request, { status: 'completed' }));
    const profile = { video: { path: '/v1/videos/{taskId}/content' } };
    const { task } = await connect(`${server.url}/base`, { profile }).status('a b');
    expect(task).toMatchObject({ videoUrl: `${server.url}/base/v1/videos/a%20b/content` });
  });

  it('a request that cannot be worded is refused, and nothing is sent', async () => {
    const server = await serve();
    const profile = { name: 'Foxes', request: { fields: { seed: { to: null } } } };
    expect(await faultOf(submit(connect(server.url, { profile }), TEXT))).toMatchObject({
      kind: 'refused',
      facts: { message: 'seed is not taken by Foxes: leave it out' },
    });
    expect(server.requests).toEqual([]);
  });
});

describe('onAnswer', () => {
  it('is called with every answer of the service, good or bad, without the key', async () => {
    const server = await serve((request) =>
      request.line.startsWith('POST')
        ? acceptTask(request)
        : replyJson(request, { message: `gone, ${KEY}` }, { status: 404 }),
    );
    const answers: ServiceAnswer[] = [];
    const service = connect(server.url, { onAnswer: (answer) => answers.push(answer) });
    await submit(service);
    await expect(service.status('t')).rejects.toThrow(ServiceFault);
    const sent = { method: 'POST', path: '/v1/videos/text-to-video', body: '{"prompt":"x"}' };
    expect(answers).toMatchObject([
      { call: 'submit', sent, status: 200, body: '{"task_id":"task-1","status":"queued"}' },
      { call: 'poll', sent: { method: 'GET' }, status: 404, body: '{"message":"gone, …"}' },
    ]);
    expect(JSON.stringify(answers)).not.toContain(KEY);
  });

  it('that throws does not lose the task, and its warning hides the key', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
    const onAnswer = () => {
      throw new Error(`no room for ${KEY}`);
    };
    const { url } = await serve(acceptTask);
    expect(await submit(connect(url, { onAnswer }))).toMatchObject({ taskId: 'task-1' });
    expect(warn.mock.calls).toEqual([['onAnswer failed: Error: no room for …']]);
  });
});

/** Connections that break after that: test/activities/answers-and-faults.test.ts. */
describe.each([SUBMIT, POLL, OPEN])('a %s was not sent', (_name, call) => {
  it('when the name does not resolve', async () => {
    expect(await faultOf(call(connect('http://video-service.invalid')))).toMatchObject({
      kind: 'not-sent',
      facts: {
        code: expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/),
        message: expect.stringContaining('video-service.invalid'),
      },
    });
  });

  it('when the connection is not made in time', async () => {
    const { port } = await serve();
    const fault = await faultOf(call(connect(`https://127.0.0.1:${port}`, { timeouts: { connect: 200 } })));
    expect(fault).toMatchObject({ kind: 'not-sent', facts: { code: 'UND_ERR_CONNECT_TIMEOUT' } });
  });
});

describe('a deadline', () => {
  /** The real ones are tens of seconds. */
  const SHORT = {
    profile: { cancel: { method: 'DELETE', path: '/cancel/{taskId}' } },
    timeouts: { submit: 200, poll: 200, video: 200 },
  } as const;

  /** Sends the beginning at once, and then pieces often enough to reset every timeout between two, until the socket closes. */
  function trickle({ socket }: RawRequest, beginning: string, more: string): void {
    socket.write(beginning);
    const timer = setInterval(() => socket.write(more), 20);
    socket.once('close', () => clearInterval(timer));
  }

  const head = (status: number) => `HTTP/1.1 ${status} Status\r\ncontent-length: 100000\r\n\r\n`;
  const EARLY_HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
  const CUT = { kind: 'cut', facts: { message: 'no complete answer within 200 ms' } };
  const REFUSED = { kind: 'answered', facts: { status: 400 } };

  it.each<[what: string, call: [string, Call], beginning: string, more: string, fault: object]>([
    ['an opened video that gets hint after hint', OPEN, EARLY_HINTS, EARLY_HINTS, { kind: 'cut' }],
    ['an opened video whose refusal trickles, with its known status', OPEN, head(400), ' ', REFUSED],
    ['a submit whose refusal trickles, with its known status', SUBMIT, head(400), ' ', REFUSED],
    ['a submit whose good answer trickles', SUBMIT, `${head(200)}{"task_id":"t"`, ' ', CUT],
    ['a poll whose good answer trickles', POLL, `${head(200)}{"task_id":"t"`, ' ', CUT],
    ['a cancellation without an answer', CANCEL, '', '', CUT],
  ])('ends %s', async (_what, [, call], beginning, more, fault) => {
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

it.each<[name: string, call: Call, status: number, kind: FaultKind, message: string | undefined]>([
  [...SUBMIT, 200, 'unreadable', 'the answer is larger than 1048576 bytes'],
  [...POLL, 500, 'answered', undefined],
])(
  'a large answer to a %s is not read to its end, which never comes',
  async (_name, call, status, kind, message) => {
    const server = await serve((request) =>
      reply(request, {
        status,
        headers: { 'content-length': 1e9 },
        body: Buffer.alloc(2 * 1024 * 1024, ' '),
      }),
    );
    const fault = await faultOf(call(connect(server.url)));
    expect([fault.kind, fault.facts.status, fault.facts.message]).toEqual([kind, status, message]);
    await closed((await server.nextRequest()).socket);
  },
);

describe('an answer in an encoding, although none was requested,', () => {
  const TASK = '{"task_id":"task-1","status":"queued"}';
  const submitTo = async (encoding: string, body: Buffer) => {
    const headers = { 'content-encoding': encoding };
    return submit(connect((await serve((request) => reply(request, { headers, body }))).url));
  };

  it.each([
    ['x-gzip', gzipSync(TASK)],
    ['GZIP', gzipSync(TASK)],
    ['br', brotliCompressSync(TASK)],
    // Some servers mean the charset, and some proxies have already decoded the body.
    ['utf-8', Buffer.from(TASK)],
    // The longest that is read.
    ['identity', Buffer.from(TASK.padEnd(1024 * 1024))],
    ['gzip', Buffer.from(`\n ${TASK}`)],
  ])('is read: %s', async (encoding, body) => {
    expect(await submitTo(encoding, body)).toMatchObject({ taskId: 'task-1' });
  });

  it.each([
    ['too large', gzipSync(Buffer.alloc(50_000_000, ' ')), 'the answer is larger than 1048576 bytes'],
    [
      'broken',
      gzipSync(TASK, { level: 0 }).subarray(0, 40),
      'the answer cannot be decoded as gzip, which its Content-Encoding names',
    ],
  ])('is unreadable when it is %s', async (_what, body, message) => {
    expect(await faultOf(submitTo('gzip', body))).toMatchObject({
      kind: 'unreadable',
      facts: { status: 200, message },
    });
  });
});

describe('OpenTelemetry', () => {
  it.each(['start', 'end'] as const)('loses no answer when it fails at the %s of a span', async (what) => {
    const broken = () => {
      throw new Error('a broken exporter');
    };
    const span = { setAttributes: () => span, setStatus: () => span, end: broken };
    const startSpan = what === 'start' ? broken : () => span;
    trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) } as never);
    expect(await submit(connect((await serve(acceptTask)).url))).toMatchObject({ taskId: 'task-1' });
  });

  it('gets a span for each call, which failed from HTTP 400 on', async () => {
    const said: unknown[] = [];
    const startSpan = (name: string, { attributes }: SpanOptions) => ({
      setAttributes: (more: Attributes) => said.push([name, { ...attributes, ...more }]),
      setStatus: (status: object) => said.push(status),
      end: () => said.push('end'),
    });
    trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) } as never);
    const statuses = [202, 400];
    const server = await serve((request) => reply(request, { status: statuses.shift() }));
    const service = connect(server.url);
    await service.status('t');
    await expect(service.status('t')).rejects.toThrow();
    const spanOf = (status: number) => [
      'GET',
      { 'http.request.method': 'GET', 'http.response.status_code': status },
    ];
    expect(said).toEqual([spanOf(202), 'end', spanOf(400), { code: SpanStatusCode.ERROR }, 'end']);
  });

  it('is not needed for calls', async () => {
    jest.resetModules();
    jest.doMock('@opentelemetry/api', () => {
      throw Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' });
    });
    const loaded: typeof import('../../src/service') = require('../../src/service');
    const { url } = await serve(acceptTask);
    const service = closeAfterTest(loaded.createVideoService({ baseUrl: url, apiKey: () => 'key' }));
    expect(await submit(service)).toMatchObject({ taskId: 'task-1' });
    expect(loaded.openSpan({ name: 'x', kind: 'SERVER', attributes: {} })).toBeUndefined();
    jest.dontMock('@opentelemetry/api');
  });
});

describe('the services of a worker', () => {
  const [unnamed, plain, paced] = ['unnamed', 'plain', 'paced'].map((name) =>
    connect(`https://${name}.example.com`, { profile: { requestFields: [name] } }),
  );
  if (!unnamed || !plain || !paced) throw new Error('no services');
  const services = { plain, paced: { service: paced, submitsPerSecond: 2 } };
  const found = (directory: ServiceDirectory, name?: string) => {
    const one = directory.find(name);
    return 'problem' in one ? one.problem : one.service;
  };

  it.each([
    ['a default', { services, defaultService: 'plain' }, plain, plain],
    [
      'a default, and one without a name',
      { service: unnamed, services, defaultService: 'plain' },
      plain,
      unnamed,
    ],
    ['one without a name', { service: unnamed, services }, unnamed, unnamed],
  ])('may have %s, for new jobs that name none, and for tasks without a name', (_what, given, fresh, old) => {
    const directory = new ServiceDirectory(given);
    expect(found(directory, directory.defaultService)).toBe(fresh);
    expect(found(directory)).toBe(old);
  });

  it('may wrap other services, and are those that wrap', () => {
    const wrapping = { ...unnamed, service: plain };
    expect(found(new ServiceDirectory({ services: { wrapping } }), 'wrapping')).toBe(wrapping);
  });

  it('have a rate limiter each, which several workers can share', () => {
    const rateLimiters = new RateLimiters();
    const [first, second] = [1, 2].map(() =>
      new ServiceDirectory({ services, rateLimiters }).all().map(({ rateLimiter }) => rateLimiter),
    );
    expect(new Set(first).size).toBe(2);
    expect(second?.every((limiter, index) => limiter === first?.[index])).toBe(true);
  });

  it('must have names that a job can have, and so must the default', () => {
    expect(namedServicesProblem({ services: { 'a b': plain } })).toContain('the name a b must be a name');
    expect(namedServicesProblem({ services, defaultService: 'other' })).toContain('other is not among them');
  });

  it('are known to those who start jobs by their names and request fields', () => {
    expect(servicesForClients({ services, defaultService: 'plain' })).toEqual({
      default: 'plain',
      services: { plain: { requestFields: ['plain'] }, paced: { requestFields: ['paced'] } },
    });
    expect(servicesForClients({})).toBeUndefined();
  });
});
