import { trace } from '@opentelemetry/api';
import type { VideoRequest } from '../../src/contract/request';
import {
  type OpenedVideoService,
  type ServiceAnswer,
  ServiceFault,
  type ServiceProfile,
} from '../../src/service';
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
const connectionsOf = ({ requests }: { requests: RawRequest[] }) =>
  requests.map(({ connection }) => connection);

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

  it('whose task id is a signed link is lost, and the link is in no message', async () => {
    const task_id = 'https://cdn.example.com/t/7?signature=abcdefghij';
    const server = await serve((request) => replyJson(request, { task_id }));
    const fault = await faultOf(submit(connect(server.url)));
    expect(fault).toMatchObject({
      kind: 'unreadable',
      facts: { message: expect.stringContaining('a signed link') },
    });
    expect(JSON.stringify(fault)).not.toContain('abcdefghij');
  });

  it('goes out on a connection of its own, which is never that of a poll', async () => {
    const server = await serve(acceptTask);
    const service = connect(server.url);
    await service.status('task-1');
    for (let i = 0; i < 3; i++) await submit(service);
    expect(connectionsOf(server)).toEqual([1, 2, 3, 4]);
  });
});

it.each([
  ['/video/', '/video/v1/videos/t'],
  ['/a/b//', '/a/b/v1/videos/t'],
])('the address of the service may end with %j', async (suffix, path) => {
  const server = await serve(acceptTask);
  const service = connect(server.url + suffix);
  await service.status('t');
  await submit(service);
  expect(linesOf(server)).toEqual([
    `GET ${path} HTTP/1.1`,
    `POST ${path.replace(/t$/, 'text-to-video')} HTTP/1.1`,
  ]);
});

it('an address of the service that is none is refused at once, without showing it', () => {
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
  ])('ends no paid task by an error that may be about the call: %j', async (body, state, word) => {
    const server = await serve((request) => replyJson(request, body));
    expect(await connect(server.url).status('task-1')).toMatchObject({ task: { state, word } });
  });

  it.each([
    ['../../admin', '..%2F..%2Fadmin'],
    ['.', '%2E'],
    ['a?key=1#frag', 'a%3Fkey%3D1%23frag'],
    ['%2F', '%252F'],
    ['a\r\nHost: evil', 'a%0D%0AHost%3A%20evil'],
    ['狐-ü', '%E7%8B%90-%C3%BC'],
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
});

describe('the API key', () => {
  it('is read for every call, so that a rotated key is used at once', async () => {
    const server = await serve(acceptTask);
    const keys = ['first', 'second', 'third'];
    const service = connect(server.url, { apiKey: () => keys.shift() ?? '' });
    await service.status('t');
    await service.status('t');
    await submit(service);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer first',
      'Bearer second',
      'Bearer third',
    ]);
  });

  it.each([
    ['to a submit', (service: OpenedVideoService) => submit(service)],
    ['to a poll', (service: OpenedVideoService) => service.status('t')],
  ])('is sent nowhere else when the answer %s is a redirect', async (_what, call) => {
    const elsewhere = await serve(acceptTask);
    for (const status of [301, 302, 303, 307, 308]) {
      const server = await serve((request) =>
        reply(request, { status, headers: { location: `${elsewhere.url}/v1/videos/t` } }),
      );
      expect(await faultOf(call(connect(server.url)))).toMatchObject({ kind: 'answered', facts: { status } });
      expect(server.requests).toHaveLength(1);
    }
    expect(elsewhere.requests).toHaveLength(0);
  });

  it('is redacted when the service quotes it, as are the headers of the profile', async () => {
    const message = `Incorrect API key: ${KEY} with secret-of-tenant`;
    const server = await serve((request) =>
      replyJson(request, { error: { code: KEY, message } }, { status: 401 }),
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
      expect(String(fault)).not.toContain(KEY);
    }
  });
});

describe('an aborted poll', () => {
  const reason = new Error('cancelled');

  it('closes the socket before the answer has come, and rejects with the reason', async () => {
    const server = await serve();
    const abort = new AbortController();
    const polling = connect(server.url).status('t', { signal: abort.signal });
    const { socket } = await server.nextRequest();
    abort.abort(reason);
    await expect(polling).rejects.toBe(reason);
    await closed(socket);
  });
});

describe('with a profile', () => {
  it('its paths are used, with the id escaped, and a task is cancelled by its call', async () => {
    const server = await serve((request) => replyJson(request, { task_id: 'task/1' }));
    const service = connect(`${server.url}/base`, {
      profile: {
        paths: { textToVideo: '/t2v', imageToVideo: '/i2v', task: '/query?task={taskId}' },
        cancel: { method: 'PUT', path: '/tasks/{taskId}/cancel' },
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

  it('the key is sent in its header, with its other headers', async () => {
    const server = await serve(acceptTask);
    const profile = { auth: { header: 'X-Api-Key', scheme: '' }, headers: { 'X-Version': '7' } };
    await connect(server.url, { profile }).status('t');
    const { headers } = server.requests[0] ?? {};
    expect(headers).toMatchObject({ 'x-api-key': KEY, 'x-version': '7' });
    expect(headers).not.toHaveProperty('authorization');
  });

  it.each<[ServiceProfile, string | undefined, string | undefined]>([
    [{ idempotencyHeader: 'X-Request-Key' }, undefined, 'k'],
    [{ idempotencyHeader: null }, undefined, undefined],
  ])('such as %j, the idempotency key is sent as it says', async (profile, usual, own) => {
    const server = await serve(acceptTask);
    await submit(connect(server.url, { profile }));
    const { headers = {} } = server.requests[0] ?? {};
    expect([headers['idempotency-key'], headers['x-request-key']]).toEqual([usual, own]);
  });

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
      { code: 7, message: 'fine', task_id: 't' },
    ];
    const server = await serve((request) => replyJson(request, answers.shift()));
    const service = connect(server.url, { profile: { refusals: { codes: { 1004: 401 } } } });
    expect(await faultOf(submit(service))).toMatchObject({
      kind: 'answered',
      facts: { status: 401, code: '1004', message: 'no such key' },
    });
    expect(await submit(service)).toMatchObject({ taskId: 't' });
  });
});

describe('a link that takes one more call', () => {
  const profile: ServiceProfile = {
    video: { id: 'file_id', path: '/files?file_id={fileId}', link: ['file.download_url'] },
  };

  it('is requested with the id of the file, every digit of it, once the task has succeeded', async () => {
    const server = await serve((request) =>
      request.line.includes('/files')
        ? replyJson(request, { file: { download_url: 'https://cdn.example.com/v.mp4' } })
        : reply(request, { body: '{"status":"Success","file_id":176844028768320123}' }),
    );
    expect((await connect(server.url, { profile }).status('t')).task).toMatchObject({
      videoUrl: 'https://cdn.example.com/v.mp4',
    });
    expect(linesOf(server)).toEqual([
      'GET /v1/videos/t HTTP/1.1',
      'GET /files?file_id=176844028768320123 HTTP/1.1',
    ]);
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
    expect(answers).toMatchObject([
      {
        call: 'submit',
        sent: { method: 'POST', path: '/v1/videos/text-to-video', body: '{"prompt":"x"}' },
        status: 200,
        body: '{"task_id":"task-1","status":"queued"}',
      },
      {
        call: 'poll',
        sent: { method: 'GET', path: '/v1/videos/t' },
        status: 404,
        body: '{"message":"gone, …"}',
      },
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
    warn.mockRestore();
  });
});

afterEach(() => trace.disable());

const accepting = () => serve((request) => replyJson(request, { task_id: 't' }));

/** A provider whose spans cannot be ended, or not even be started. */
function breakTracing(what: 'start' | 'end'): void {
  const broken = () => {
    throw new Error('a broken exporter');
  };
  const span = { setAttributes: () => span, setStatus: () => span, end: broken };
  const startSpan = what === 'start' ? broken : () => span;
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) } as never);
}

test.each(['start', 'end'] as const)(
  'a provider that fails at the %s of a span loses no answer',
  async (what) => {
    breakTracing(what);
    expect(await submit(connect((await accepting()).url))).toMatchObject({ taskId: 't' });
    const { url } = await serve(({ socket }) => socket.destroy());
    expect((await faultOf(submit(connect(url)))).kind).toBe('cut');
  },
);

test('without OpenTelemetry calls run too', async () => {
  jest.resetModules();
  jest.doMock('@opentelemetry/api', () => {
    throw Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' });
  });
  const loaded: typeof import('../../src/service') = require('../../src/service');
  const { url } = await accepting();
  const service = closeAfterTest(loaded.createVideoService({ baseUrl: url, apiKey: () => 'key' }));
  expect(await submit(service)).toMatchObject({ taskId: 't' });
  expect(loaded.openSpan({ name: 'x', kind: 'SERVER', attributes: {} })).toBeUndefined();
  jest.dontMock('@opentelemetry/api');
});
