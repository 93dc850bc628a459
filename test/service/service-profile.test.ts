import {
  createVideoService,
  type OpenedVideoService,
  type ServiceAnswer,
  type ServiceFault,
  type ServiceProfile,
} from '../../src/service';
import { type RawRequest, type RawServer, reply, replyJson, startRawServer } from './raw-server';

const KEY = 'sk-secret-0123456789';
const servers: RawServer[] = [];
const services: OpenedVideoService[] = [];
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()));
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(answer: (request: RawRequest) => void): Promise<RawServer> {
  const server = await startRawServer(answer);
  servers.push(server);
  return server;
}

function connect(server: RawServer, profile: ServiceProfile, onAnswer?: (answer: ServiceAnswer) => void) {
  const service = createVideoService({ baseUrl: `${server.url}/base`, apiKey: () => KEY, profile, onAnswer });
  services.push(service);
  return service;
}

const accept = (request: RawRequest) => replyJson(request, { task_id: 'task/1' });

it('the paths of a profile are used, with the id escaped', async () => {
  const server = await serve(accept);
  const service = connect(server, {
    paths: { textToVideo: '/t2v', imageToVideo: '/i2v', task: '/query?task={taskId}' },
  });
  await service.start({ prompt: 'x' }, { idempotencyKey: 'k' });
  await service.start({ prompt: 'x', image_url: 'https://example.com/a.png' }, { idempotencyKey: 'k' });
  await service.status('task/1');
  expect(server.requests.map(({ line }) => line)).toEqual([
    'POST /base/t2v HTTP/1.1',
    'POST /base/i2v HTTP/1.1',
    'GET /base/query?task=task%2F1 HTTP/1.1',
  ]);
});

it('a submit has the body that the profile describes, and one that it refuses is not sent', async () => {
  const server = await serve(accept);
  const service = connect(server, {
    request: { fields: { prompt: { to: 'input.text' }, duration: { as: '{value}s' }, seed: { to: null } } },
  });
  await service.start({ prompt: 'x', duration: 5 }, { idempotencyKey: 'k' });
  await expect(service.start({ prompt: 'x', seed: 1 }, { idempotencyKey: 'k' })).rejects.toMatchObject({
    kind: 'refused',
    facts: { message: 'seed is not taken by the service: leave it out' },
  });
  expect(server.requests.map(({ body }) => JSON.parse(body))).toEqual([
    { input: { text: 'x' }, duration: '5s' },
  ]);
});

it('with a path of tasks for each operation, the id of a task tells where it is polled', async () => {
  const server = await serve((request) => replyJson(request, { task_id: '7', status: 'completed' }));
  const service = connect(server, {
    paths: { task: { textToVideo: '/text/{taskId}', imageToVideo: '/image/{taskId}' } },
    cancel: { method: 'DELETE', path: '/all/{taskId}' },
    video: { path: '/all/{taskId}/content' },
  });
  const image = { prompt: 'x', image_url: 'https://example.com/a.png' };
  expect((await service.start({ prompt: 'x' }, { idempotencyKey: 'k' })).taskId).toBe('7');
  const { taskId } = await service.start(image, { idempotencyKey: 'k' });
  expect(taskId).toBe('image-to-video:7');
  await service.status('7');
  const { task } = await service.status(taskId);
  await service.cancel?.(taskId);
  expect(task).toMatchObject({ videoUrl: `${server.url}/base/all/7/content` });
  expect(server.requests.slice(2).map(({ line }) => line)).toEqual([
    'GET /base/text/7 HTTP/1.1',
    'GET /base/image/7 HTTP/1.1',
    'DELETE /base/all/7 HTTP/1.1',
  ]);
  // Elsewhere an id is the service's own, whatever it begins with.
  await connect(server, {}).status(taskId);
  expect(server.requests.at(-1)?.line).toBe('GET /base/v1/videos/image-to-video%3A7 HTTP/1.1');
});

it('the slashes of an id stay if the path says so, and nothing else of it gets out of its place', async () => {
  const server = await serve((request) => replyJson(request, { done: false }));
  const service = connect(server, { paths: { task: '/v1beta/{+taskId}' } });
  await service.status('models/veo/operations/a b');
  await service.status('../../x?y#z');
  expect(server.requests.map(({ line }) => line)).toEqual([
    'GET /base/v1beta/models/veo/operations/a%20b HTTP/1.1',
    'GET /base/v1beta/%2E%2E/%2E%2E/x%3Fy%23z HTTP/1.1',
  ]);
});

it('the values of its headers are redacted', async () => {
  const server = await serve((request) =>
    replyJson(request, { message: 'no token secret-of-cancel' }, { status: 400 }),
  );
  const service = connect(server, {
    headers: { 'X-Token': 'secret-of-cancel' },
    cancel: { method: 'DELETE', path: '/{taskId}' },
  });
  await expect(service.cancel?.('7')).rejects.toMatchObject({ facts: { message: 'no token …' } });
});

it('the key is sent in the header of the profile, with its other headers', async () => {
  const server = await serve(accept);
  const service = connect(server, {
    auth: { header: 'X-Api-Key', scheme: '' },
    headers: { 'X-Version': '7' },
  });
  await service.status('t');
  const { headers } = server.requests[0] ?? {};
  expect(headers).toMatchObject({ 'x-api-key': KEY, 'x-version': '7' });
  expect(headers).not.toHaveProperty('authorization');
});

it.each<[ServiceProfile, string | undefined, string | undefined]>([
  [{}, 'k', undefined],
  [{ idempotencyHeader: 'X-Request-Key' }, undefined, 'k'],
  [{ idempotencyHeader: null }, undefined, undefined],
])('with the profile %j the idempotency key is sent as it says', async (profile, usual, own) => {
  const server = await serve(accept);
  await connect(server, profile).start({ prompt: 'x' }, { idempotencyKey: 'k' });
  const { headers = {} } = server.requests[0] ?? {};
  expect([headers['idempotency-key'], headers['x-request-key']]).toEqual([usual, own]);
});

it('neither the key nor other headers of a profile are sent to another origin', async () => {
  const elsewhere = await serve((request) =>
    reply(request, { headers: { 'content-type': 'video/mp4' }, body: 'v' }),
  );
  const server = await serve((request) =>
    reply(request, { status: 302, headers: { location: `${elsewhere.url}/v.mp4` } }),
  );
  const service = connect(server, {
    auth: { header: 'X-Api-Key', scheme: '' },
    headers: { 'X-Version': '7' },
  });
  const { stream } = await service.open(`${server.url}/v.mp4`);
  stream.resume();
  expect(server.requests[0]?.headers).toMatchObject({ 'x-api-key': KEY });
  expect(Object.keys(elsewhere.requests[0]?.headers ?? {})).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/x-api-key|x-version|authorization/)]),
  );
  expect(JSON.stringify(elsewhere.requests[0]?.headers)).not.toContain(KEY);
});

it('a key in a header of the profile is redacted from messages', async () => {
  const server = await serve((request) => replyJson(request, { message: `no key ${KEY}` }, { status: 400 }));
  const service = connect(server, { auth: { header: 'X-Api-Key', scheme: '' } });
  await expect(service.status('t')).rejects.toMatchObject({ facts: { message: 'no key …' } });
});

it('a video at a path of the profile has its link there, at the service', async () => {
  const server = await serve((request) => replyJson(request, { status: 'completed' }));
  const service = connect(server, { video: { path: '/v1/videos/{taskId}/content' } });
  expect((await service.status('a b')).task).toEqual({
    state: 'succeeded',
    word: 'completed',
    videoUrl: `${server.url}/base/v1/videos/a%20b/content`,
  });
  expect(server.requests).toHaveLength(1);
});

describe('a link that takes one more call', () => {
  const profile: ServiceProfile = {
    video: { id: 'file_id', path: '/files?file_id={fileId}', link: ['file.download_url'] },
  };

  it('is requested with the id of the file, every digit of it, once the task has succeeded', async () => {
    const server = await serve((request) => {
      if (request.line.includes('/files')) {
        replyJson(request, { file: { download_url: 'https://cdn.example.com/v.mp4' } });
      } else reply(request, { body: '{"status":"Success","file_id":176844028768320123}' });
    });
    expect((await connect(server, profile).status('t')).task).toMatchObject({
      videoUrl: 'https://cdn.example.com/v.mp4',
    });
    expect(server.requests.map(({ line }) => line)).toEqual([
      'GET /base/v1/videos/t HTTP/1.1',
      'GET /base/files?file_id=176844028768320123 HTTP/1.1',
    ]);
  });

  it('may be refused because the task has failed, if the profile says so', async () => {
    const server = await serve((request) =>
      request.line.includes('/files')
        ? replyJson(request, { detail: [{ msg: 'No image' }] }, { status: 422 })
        : replyJson(request, { status: 'Success', file_id: '1' }),
    );
    const failing = connect(server, { ...profile, refusals: { failed: [422] } });
    expect(await failing.status('t')).toMatchObject({
      task: { state: 'failed', word: 'HTTP 422' },
      serviceMessage: { message: 'No image' },
    });
    await expect(connect(server, profile).status('t')).rejects.toMatchObject({ facts: { status: 422 } });
  });

  it('is not requested before, nor without an id', async () => {
    const answers = [
      { status: 'Processing', file_id: '1' },
      { status: 'Success', file_id: '' },
    ];
    const server = await serve((request) => replyJson(request, answers[server.requests.length - 1]));
    const service = connect(server, profile);
    expect((await service.status('t')).task.state).toBe('running');
    expect((await service.status('t')).task).toEqual({ state: 'succeeded', word: 'Success' });
    expect(server.requests).toHaveLength(2);
  });
});

it('a relative link is relative to the service', async () => {
  const server = await serve((request) =>
    replyJson(request, { status: 'done', video_url: '/files/v.mp4?s=1' }),
  );
  expect((await connect(server, {}).status('t')).task).toMatchObject({
    videoUrl: `${server.url}/files/v.mp4?s=1`,
  });
});

it('a task is cancelled by the call of the profile, and not without one', async () => {
  const server = await serve((request) => replyJson(request, {}));
  const named = connect(server, { cancel: { method: 'PUT', path: '/v1/videos/{taskId}/cancel' } });
  expect(await named.cancel?.('a/b')).toBe('asked');
  expect(await connect(server, {}).cancel?.('a/b')).toBe('not-offered');
  expect(server.requests.map(({ line }) => line)).toEqual(['PUT /base/v1/videos/a%2Fb/cancel HTTP/1.1']);
});

it('onAnswer is called with every answer of the service, good or bad, without the key', async () => {
  const server = await serve((request) =>
    request.line.startsWith('POST')
      ? accept(request)
      : replyJson(request, { message: `gone, ${KEY}` }, { status: 404 }),
  );
  const answers: ServiceAnswer[] = [];
  const service = connect(server, {}, (answer) => answers.push(answer));
  await service.start({ prompt: 'x' }, { idempotencyKey: 'k' });
  await service.status('t').catch(() => undefined);
  expect(answers).toMatchObject([
    {
      call: 'submit',
      sent: { method: 'POST', path: '/base/v1/videos/text-to-video', body: '{"prompt":"x"}' },
      status: 200,
      body: '{"task_id":"task/1"}',
    },
    {
      call: 'poll',
      sent: { method: 'GET', path: '/base/v1/videos/t' },
      status: 404,
      body: '{"message":"gone, …"}',
    },
  ]);
  expect(JSON.stringify(answers)).not.toContain(KEY);
});

it('an error of onAnswer does not lose the task, and its warning hides the key', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const service = connect(await serve(accept), {}, () => {
    throw new Error(`no room for ${KEY}`);
  });
  expect(await service.start({ prompt: 'x' }, { idempotencyKey: 'k' })).toMatchObject({ taskId: 'task/1' });
  expect(warn.mock.calls).toEqual([['onAnswer failed: Error: no room for …']]);
  warn.mockRestore();
});

it.each([
  [400, 'you are too busy', true],
  [400, 'no such ratio', undefined],
  [503, 'whatever', true],
  [429, 'whatever', true],
  [500, 'busy', undefined],
])('a %d that says "%s" is marked as a limit: %s', async (status, message, limited) => {
  const server = await serve((request) => replyJson(request, { message }, { status }));
  const service = connect(server, {
    refusals: { limited: [{ status: 400, says: 'busy' }, { status: 503 }] },
  });
  const fault = await service.status('t').catch((error: unknown) => error);
  expect(fault).toMatchObject({ kind: 'answered', facts: { status, message } });
  expect((fault as ServiceFault).facts.limited).toBe(limited);
});

it('a refusal of a poll that means a failed task is one, with the service’s message; of a submit it stays a refusal', async () => {
  const server = await serve((request) =>
    replyJson(request, { detail: [{ msg: 'No image' }] }, { status: 422 }),
  );
  const service = connect(server, { refusals: { failed: [422] } });
  expect(await service.status('t')).toMatchObject({
    task: { state: 'failed', word: 'HTTP 422' },
    serviceMessage: { message: 'No image' },
  });
  await expect(service.start({ prompt: 'x' }, { idempotencyKey: 'k' })).rejects.toMatchObject({
    kind: 'answered',
    facts: { status: 422 },
  });
});

it('a code in a 200 that stands for a refusal is one, whatever the call; any other code is not', async () => {
  const answers = [
    { code: 1004, message: 'no such key' },
    { code: 7, message: 'fine', task_id: 't' },
  ];
  const server = await serve((request) => replyJson(request, answers[server.requests.length - 1]));
  const service = connect(server, { refusals: { codes: { 1004: 401 } } });
  await expect(service.start({ prompt: 'x' }, { idempotencyKey: 'k' })).rejects.toMatchObject({
    kind: 'answered',
    facts: { status: 401, code: '1004', message: 'no such key' },
  });
  expect(await service.start({ prompt: 'x' }, { idempotencyKey: 'k' })).toMatchObject({ taskId: 't' });
});

it.each(['constructor', '__proto__', 'toString'])(
  'the code %s of a refusal stands for no status, if the profile does not give it one',
  async (code) => {
    const server = await serve((request) => replyJson(request, { code, message: 'no' }, { status: 400 }));
    const service = connect(server, { refusals: { codes: { E1: 401 } } });
    await expect(service.start({ prompt: 'x' }, { idempotencyKey: 'k' })).rejects.toMatchObject({
      kind: 'answered',
      facts: { status: 400, code },
    });
  },
);
