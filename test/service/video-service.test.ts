import type { VideoRequest } from '../../src/contract/request';
import {
  createVideoService,
  type OpenedVideoService,
  ServiceFault,
  type VideoServiceOptions,
} from '../../src/service';
import { closed, type RawRequest, type RawServer, reply, replyJson, startRawServer } from './raw-server';

const KEY = 'sk-secret-0123456789';
const TEXT: VideoRequest = {
  prompt: 'A red fox, “äöü 狐”',
  resolution: '720p',
  aspect_ratio: '16:9',
  duration: 5,
  seed: 7,
};
const IMAGE: VideoRequest = { ...TEXT, image_url: 'https://example.com/fox.png?a=1&b=2' };

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function serve(answer?: (request: RawRequest) => void): Promise<RawServer> {
  const server = await startRawServer(answer);
  opened.push(server);
  return server;
}

function connect(baseUrl: string, options: Partial<VideoServiceOptions> = {}): OpenedVideoService {
  const service = createVideoService({ baseUrl, apiKey: () => KEY, ...options });
  opened.push(service);
  return service;
}

const acceptTask = (request: RawRequest) => replyJson(request, { task_id: 'task-1', status: 'queued' });

describe('a request for a video', () => {
  it('was certainly not sent if the HTTP client cannot be loaded', async () => {
    jest.doMock('../../src/service/http-video-service', () => {
      throw new Error('Cannot find module');
    });
    try {
      const submitted = connect('http://127.0.0.1:1').start(TEXT, { idempotencyKey: 'key-of-the-job' });
      await expect(submitted).rejects.toMatchObject({ kind: 'not-sent' });
    } finally {
      jest.dontMock('../../src/service/http-video-service');
    }
  });

  it.each([
    ['text to video', '/v1/videos/text-to-video', TEXT],
    ['image to video', '/v1/videos/image-to-video', IMAGE],
    ['text to video with nothing but a prompt', '/v1/videos/text-to-video', { prompt: 'x' }],
  ])('for %s is one POST of its JSON to %s', async (_what, path, request) => {
    const server = await serve(acceptTask);
    const reading = await connect(server.url).start(request, { idempotencyKey: 'key-of-the-job' });

    expect(reading).toEqual({ taskId: 'task-1', doubts: [] });
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.line).toBe(`POST ${path} HTTP/1.1`);
    expect(server.requests[0]?.headers).toMatchObject({
      host: `127.0.0.1:${server.port}`,
      accept: 'application/json',
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      'idempotency-key': 'key-of-the-job',
    });
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual(request);
  });

  it('whose task id is a signed link is lost, and the link is in no message', async () => {
    const task_id = 'https://cdn.example.com/t/7?signature=abcdefghij';
    const server = await serve((request) => replyJson(request, { task_id }));
    const fault = await connect(server.url)
      .start(TEXT, { idempotencyKey: 'k' })
      .catch((error: unknown) => error);
    expect(fault).toMatchObject({
      kind: 'unreadable',
      facts: { message: expect.stringContaining('a signed link') },
    });
    expect(JSON.stringify(fault)).not.toContain('abcdefghij');
  });

  it('whose answer names no task is unreadable, and the message quotes the answer', async () => {
    const server = await serve((request) => replyJson(request, { code: 1102, message: 'No balance' }));
    await expect(connect(server.url).start(TEXT, { idempotencyKey: 'k' })).rejects.toMatchObject({
      kind: 'unreadable',
      facts: {
        status: 200,
        code: '1102',
        message: 'the answer names no task: {"code":1102,"message":"No balance"}',
      },
    });
  });

  it('goes out on a connection of its own each time, one after the other', async () => {
    const server = await serve(acceptTask);
    const service = connect(server.url);
    for (let i = 0; i < 3; i++) await service.start(TEXT, { idempotencyKey: `${i}` });
    expect(server.requests.map(({ connection }) => connection)).toEqual([1, 2, 3]);
  });

  it('goes out on a connection of its own each time, all at once', async () => {
    const waiting: RawRequest[] = [];
    const server = await serve((request) => {
      if (waiting.push(request) === 3) waiting.forEach(acceptTask);
    });
    const service = connect(server.url);
    await Promise.all(['a', 'b', 'c'].map((idempotencyKey) => service.start(TEXT, { idempotencyKey })));
    expect(server.requests.map(({ connection }) => connection).sort()).toEqual([1, 2, 3]);
  });

  it('never uses the connection of a poll', async () => {
    const server = await serve(acceptTask);
    const service = connect(server.url);
    await service.status('task-1');
    await service.start(TEXT, { idempotencyKey: 'k' });
    expect(server.requests.map(({ connection }) => connection)).toEqual([1, 2]);
  });
});

describe('the address of the service', () => {
  it.each([
    ['', '/v1/videos/t'],
    ['/', '/v1/videos/t'],
    ['/video', '/video/v1/videos/t'],
    ['/video/', '/video/v1/videos/t'],
    ['/a/b//', '/a/b/v1/videos/t'],
    ['/a%20b', '/a%20b/v1/videos/t'],
  ])('may end with %j', async (suffix, path) => {
    const server = await serve(acceptTask);
    const service = connect(server.url + suffix);
    await service.status('t');
    await service.start(TEXT, { idempotencyKey: 'k' });
    expect(server.requests.map(({ line }) => line)).toEqual([
      `GET ${path} HTTP/1.1`,
      `POST ${path.replace(/t$/, 'text-to-video')} HTTP/1.1`,
    ]);
  });
});

describe('a poll', () => {
  it.each([
    [{ error: { code: 'internal', message: 'Try later' } }, 'unknown', 'internal: Try later'],
    [{ status: 'error', id: 'req-7', message: 'Try later' }, 'unknown', 'error'],
    [{ status: 'error', id: 'task-1', message: 'No frames' }, 'failed', 'error'],
  ])('ends no paid task by an error that may be about the call: %j', async (body, state, word) => {
    const server = await serve((request) => replyJson(request, body));
    expect(await connect(server.url).status('task-1')).toMatchObject({ task: { state, word } });
  });

  it('is one GET with the key, without a body and without an idempotency key', async () => {
    const server = await serve((request) => replyJson(request, { status: 'running', progress: 40 }));
    const reading = await connect(server.url).status('task-1');
    expect(reading).toMatchObject({ task: { state: 'running', word: 'running', percent: 40 } });
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]).toMatchObject({
      line: 'GET /v1/videos/task-1 HTTP/1.1',
      headers: { authorization: `Bearer ${KEY}`, accept: 'application/json' },
      body: '',
    });
    expect(server.requests[0]?.headers).not.toHaveProperty('idempotency-key');
  });

  it.each([
    ['a/b', 'a%2Fb'],
    ['../../admin', '..%2F..%2Fadmin'],
    ['..', '%2E%2E'],
    ['.', '%2E'],
    ['...', '%2E%2E%2E'],
    ['.hidden', '.hidden'],
    ['?x', '%3Fx'],
    ['a?key=1#frag', 'a%3Fkey%3D1%23frag'],
    ['%', '%25'],
    ['%2F', '%252F'],
    ['two words', 'two%20words'],
    ['a\r\nHost: evil', 'a%0D%0AHost%3A%20evil'],
    ['狐-ü', '%E7%8B%90-%C3%BC'],
    ['models/veo-3/operations/1', 'models%2Fveo-3%2Foperations%2F1'],
    ['cgt-2026.11_15~x', 'cgt-2026.11_15~x'],
  ])('of the task %j requests %s and nothing else', async (taskId, segment) => {
    const server = await serve((request) => replyJson(request, { status: 'running' }));
    await connect(server.url).status(taskId);
    expect(server.requests.map(({ line }) => line)).toEqual([`GET /v1/videos/${segment} HTTP/1.1`]);
  });

  it('reuses its connection', async () => {
    const server = await serve((request) => replyJson(request, { status: 'running' }));
    const service = connect(server.url);
    for (let i = 0; i < 6; i++) await service.status('task-1');
    // The very next call may come before the connection is free again, and opens a second one.
    expect(new Set(server.requests.map(({ connection }) => connection)).size).toBeLessThanOrEqual(2);
  });

  it('returns how long the service asks us to wait', async () => {
    const server = await serve((request) =>
      replyJson(request, { status: 'queued' }, { headers: { 'retry-after': 12 } }),
    );
    expect(await connect(server.url).status('t')).toMatchObject({ retryAfterMs: 12_000 });
  });

  it('reads an empty 202 as running', async () => {
    const server = await serve((request) => reply(request, { status: 202, body: '' }));
    expect(await connect(server.url).status('t')).toMatchObject({ task: { state: 'running', word: '' } });
  });

  it('returns the link of the video unchanged, and everything else redacted', async () => {
    const link = 'https://cdn.example.com/v.mp4?signature=abcdefghij';
    const server = await serve((request) =>
      replyJson(request, { status: 'succ\u0000eeded', video_url: link, message: `see ${link} with ${KEY}` }),
    );
    expect(await connect(server.url).status('t')).toMatchObject({
      task: { state: 'succeeded', word: 'succ eeded', videoUrl: link },
      serviceMessage: { message: 'see https://cdn.example.com/v.mp4?… with …' },
    });
  });

  it('returns its doubts about the answer redacted', async () => {
    const server = await serve((request) =>
      replyJson(request, { task_id: 'task-1', status: 'running', data: { task_id: KEY } }),
    );
    const { doubts } = await connect(server.url).status('task-1');
    expect(doubts).toEqual(['task_id is task-1 and data.task_id is …']);
  });
});

describe('the API key', () => {
  it('is read for every call, so that a rotated key is used at once', async () => {
    const server = await serve(acceptTask);
    let key = 'first-key';
    const service = connect(server.url, { apiKey: () => key });
    await service.status('t');
    key = 'second-key';
    await service.status('t');
    await service.start(TEXT, { idempotencyKey: 'k' });
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer first-key',
      'Bearer second-key',
      'Bearer second-key',
    ]);
  });

  it('that cannot be read is a call that was not sent, and the next call reads it again', async () => {
    const server = await serve(acceptTask);
    const keys = [
      () => {
        throw new Error('the key file is being replaced');
      },
      () => KEY,
    ];
    const service = connect(server.url, { apiKey: () => keys.shift()?.() ?? '' });
    const failed = service.start(TEXT, { idempotencyKey: 'k' });
    await expect(failed).rejects.toMatchObject({
      kind: 'not-sent',
      facts: { message: 'the key file is being replaced' },
    });
    expect(server.requests).toHaveLength(0);
    await service.start(TEXT, { idempotencyKey: 'k' });
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  it.each([
    ['to a submit', (service: OpenedVideoService) => service.start(TEXT, { idempotencyKey: 'k' })],
    ['to a poll', (service: OpenedVideoService) => service.status('t')],
  ])('is sent nowhere else when the answer %s is a redirect', async (_what, call) => {
    const elsewhere = await serve(acceptTask);
    for (const status of [301, 302, 303, 307, 308]) {
      const server = await serve((request) =>
        reply(request, { status, headers: { location: `${elsewhere.url}/v1/videos/t` } }),
      );
      await expect(call(connect(server.url))).rejects.toMatchObject({ kind: 'answered', facts: { status } });
      expect(server.requests).toHaveLength(1);
    }
    expect(elsewhere.requests).toHaveLength(0);
  });

  it('is redacted when the service quotes it', async () => {
    const server = await serve((request) =>
      replyJson(request, { error: { code: KEY, message: `Incorrect API key: ${KEY}` } }, { status: 401 }),
    );
    const fault: unknown = await connect(server.url)
      .status('t')
      .catch((error) => error);
    expect(fault).toBeInstanceOf(ServiceFault);
    expect(fault).toMatchObject({ facts: { status: 401, code: '…', message: 'Incorrect API key: …' } });
    expect(String(fault)).not.toContain(KEY);
  });
});

describe('an aborted poll', () => {
  it('closes the socket before the answer has come, and rejects with the reason', async () => {
    const server = await serve();
    const abort = new AbortController();
    const polling = connect(server.url).status('t', { signal: abort.signal });
    const { socket } = await server.nextRequest();
    const reason = new Error('cancelled');
    abort.abort(reason);
    await expect(polling).rejects.toBe(reason);
    await closed(socket);
  });

  it.each([
    ['an answer', 200],
    ['a refusal', 500],
  ])('closes the socket within %s, and rejects with the reason', async (_what, status) => {
    const server = await serve((request) =>
      request.line.includes('another')
        ? acceptTask(request)
        : reply(request, { status, headers: { 'content-length': 100 }, body: '{"half":' }),
    );
    const service = connect(server.url);
    const abort = new AbortController();
    const polling = service.status('t', { signal: abort.signal });
    const { socket } = await server.nextRequest();
    // Half of the answer has been read when a later exchange has ended.
    await service.status('another');
    const reason = new Error('cancelled');
    abort.abort(reason);
    await expect(polling).rejects.toBe(reason);
    await closed(socket);
  });

  it('sends nothing when it was aborted before it began', async () => {
    const server = await serve(acceptTask);
    const reason = new Error('cancelled');
    const service = connect(server.url);
    await expect(service.status('t', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await service.status('other');
    expect(server.requests.map(({ line }) => line)).toEqual(['GET /v1/videos/other HTTP/1.1']);
  });
});

it('closing the service ends its calls', async () => {
  const server = await serve();
  const service = connect(server.url);
  const polling = service.status('t');
  const { socket } = await server.nextRequest();
  const outcome = expect(polling).rejects.toMatchObject({ kind: 'cut' });
  await service.close();
  await outcome;
  await closed(socket);
});
