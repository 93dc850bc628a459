import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import type { Emulator, EmulatorOptions } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { noiseVideo } from '../../src/testing/video/make-video';

const KEY = 'sk-secret-0123456789';
const VIDEO_BYTES = 64 * 1024;
const TEXT = '/v1/videos/text-to-video';
const IMAGE = '/v1/videos/image-to-video';
const FOX = { prompt: 'A red fox' };
const FOX_IMAGE = { ...FOX, image_url: 'https://example.com/fox.png' };

let nowMs: number;
let emulator: Emulator;
const opened: Emulator[] = [];

async function start(options: EmulatorOptions = {}): Promise<Emulator> {
  const one = await startEmulator({
    apiKey: KEY,
    jobTimeMs: 100_000,
    videoBytes: VIDEO_BYTES,
    clock: () => nowMs,
    ...options,
  });
  opened.push(one);
  return one;
}

beforeEach(async () => {
  nowMs = 1_000_000;
  emulator = await start();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

interface Answer {
  status: number;
  headers: Headers;
  body: unknown;
}

/** Read to its end: a connection with something still on it stays. */
async function fetchVideo(link: string, init?: RequestInit) {
  const response = await fetch(link, init);
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

const AUTHORIZED = { authorization: `Bearer ${KEY}` };

async function ask(path: string, init: RequestInit = {}, at = emulator): Promise<Answer> {
  const response = await fetch(at.url + path, { headers: AUTHORIZED, redirect: 'manual', ...init });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? '' : JSON.parse(text) };
}

const post = (path: string, body: unknown, at = emulator) =>
  ask(
    path,
    {
      method: 'POST',
      headers: { ...AUTHORIZED, 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    },
    at,
  );

const field = (body: unknown, name: string): string => String(Reflect.get(Object(body), name));

async function submit(body: unknown = FOX, at = emulator): Promise<string> {
  const answer = await post('image_url' in Object(body) ? IMAGE : TEXT, body, at);
  expect(answer.status).toBe(200);
  return field(answer.body, 'task_id');
}

const poll = (taskId: string, at = emulator) => ask(`/v1/videos/${taskId}`, {}, at);

async function linkOf(taskId: string, at = emulator): Promise<string> {
  nowMs += 100_000;
  return field((await poll(taskId, at)).body, 'video_url');
}

describe('a generation request', () => {
  it('is recorded with every field', async () => {
    const request = { ...FOX_IMAGE, resolution: '480p', aspect_ratio: '21:9', duration: 1, seed: -7 };
    const { headers, body } = await post(IMAGE, request);
    expect(headers.get('content-type')).toBe('application/json');
    expect(field(body, 'task_id')).toMatch(/^task_/);
    expect(emulator.generations()).toMatchObject([{ taskId: field(body, 'task_id'), request }]);
  });

  it.each([
    ['that is broken JSON', '{"prompt":', 'the body is not JSON'],
    ['that is empty', '', 'must be a JSON object'],
    ['of more than two mebibytes', { prompt: 'x'.repeat(2 ** 21) }, 'the request is too large'],
  ])('%s is refused with HTTP 400 and recorded', async (_what, request, problem) => {
    const { status, headers, body } = await post(TEXT, request);
    expect(status).toBe(400);
    expect(headers.get('content-type')).toBe('application/json');
    expect(body).toEqual({ error: { code: 'invalid_request', message: expect.stringContaining(problem) } });
    expect(emulator.generations()).toHaveLength(0);
    expect(emulator.calls).toMatchObject([{ call: 'submit', path: TEXT, authorized: true }]);
  });
});

describe('section 3: the task', () => {
  it('is queued, then running, then succeeded after its job time', async () => {
    const taskId = await submit();
    const answers: unknown[] = [];
    for (const passed of [0, 9_999, 10_000, 50_000, 99_999, 100_000, 10_000_000]) {
      nowMs = 1_000_000 + passed;
      answers.push((await poll(taskId)).body);
    }
    const succeeded = {
      task_id: taskId,
      status: 'succeeded',
      video_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/files\/task_[^/]+\.mp4\?signature=\w+$/),
    };
    expect(answers).toEqual([
      { task_id: taskId, status: 'queued', progress: 0 },
      { task_id: taskId, status: 'queued', progress: 9 },
      { task_id: taskId, status: 'running', progress: 10 },
      { task_id: taskId, status: 'running', progress: 50 },
      { task_id: taskId, status: 'running', progress: 99 },
      succeeded,
      succeeded,
    ]);
  });

  it('reports progress from 0 to below 100 that never decreases', async () => {
    const taskId = await submit();
    const progress: number[] = [];
    for (nowMs = 1_000_000; nowMs < 1_100_000; nowMs += 3_333) {
      progress.push(Number(field((await poll(taskId)).body, 'progress')));
    }
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
    expect(progress[0]).toBe(0);
    expect(progress.at(-1)).toBeLessThan(100);
  });

  it('succeeds at once if the job time is 0', async () => {
    const quick = await start({ jobTimeMs: 0 });
    expect((await poll(await submit(FOX, quick), quick)).body).toMatchObject({ status: 'succeeded' });
  });

  it('can run by an asynchronous clock, such as Temporal’s', async () => {
    const other = await start({ clock: async () => nowMs });
    const taskId = await submit(FOX, other);
    nowMs += 50_000;
    expect((await poll(taskId, other)).body).toMatchObject({ status: 'running', progress: 50 });
  });

  it('has a new id each time', async () => {
    const ids = [await submit(), await submit(), await submit()];
    expect(new Set(ids).size).toBe(3);
    expect(emulator.generations().map(({ taskId }) => taskId)).toEqual(ids);
  });
});

describe('section 4: the endpoints', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/v1/videos'],
    ['GET', '/v1/videos/'],
    ['GET', '/v1/videos/a/b'],
    ['GET', '/v2/videos/a'],
    ['POST', '/v1/videos/video-to-video'],
    ['POST', '/v1/videos/text-to-video/'],
    ['PUT', TEXT],
    ['DELETE', '/v1/videos/a'],
    ['PATCH', '/v1/videos/a'],
  ])('%s %s is not one of them and is a 404', async (method, path) => {
    const { status, body } = await ask(path, { method });
    expect(status).toBe(404);
    expect(body).toMatchObject({
      error: { code: 'not_found', message: `no such operation: ${method} ${path}` },
    });
    expect(emulator.calls).toMatchObject([{ call: 'other', method, path }]);
  });

  it('an unknown task is a 404', async () => {
    const { status, body } = await poll('no-such-task');
    expect([status, body]).toEqual([404, { error: { code: 'not_found', message: 'no such task' } }]);
  });
});

describe('a wrong key', () => {
  it.each([
    ['a submit', 'POST', TEXT],
    ['an image submit', 'POST', IMAGE],
    ['a poll', 'GET', '/v1/videos/a'],
    ['anything else', 'GET', '/'],
  ])('makes %s a 401, which is recorded', async (_call, method, path) => {
    const body = method === 'POST' ? JSON.stringify(FOX_IMAGE) : undefined;
    const answer = await ask(path, { method, headers: { authorization: 'Bearer wrong' }, body });
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({
      error: { code: 'unauthorized', message: 'the API key is missing or invalid' },
    });
    expect(emulator.generations()).toHaveLength(0);
    expect(emulator.calls).toMatchObject([{ authorized: false }]);
  });
});

describe('the video', () => {
  it('can be downloaded from its link without a key', async () => {
    const taskId = await submit();
    const { response, bytes } = await fetchVideo(await linkOf(taskId));
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('video/mp4');
    expect(response.headers.get('content-length')).toBe(String(VIDEO_BYTES));
    expect(bytes.equals(await emulator.video(taskId))).toBe(true);
    expect(bytes.subarray(4, 8).toString()).toBe('ftyp');
  });

  it.each([
    ['a wrong signature', (link: string) => `${link}0`],
    ['no signature', (link: string) => link.replace(/\?.*/, '')],
    ['an empty signature', (link: string) => link.replace(/=.*/, '=')],
    ['another task', (link: string) => link.replace(/task_/, 'task_0')],
  ])('is refused with HTTP 403 to a link with %s', async (_what, change) => {
    const link = change(await linkOf(await submit()));
    const { response } = await fetchVideo(link, { headers: AUTHORIZED });
    expect(response.status).toBe(403);
  });

  it('has the set size, or that of the smallest video if that is more', async () => {
    for (const [videoBytes, expected] of [
      [1_000_003, 1_000_003],
      [0, (await noiseVideo(FOX, 0)).length],
    ]) {
      const other = await start({ videoBytes });
      const taskId = await submit(FOX, other);
      const { bytes } = await fetchVideo(await linkOf(taskId, other));
      expect(bytes).toHaveLength(expected ?? 0);
      expect(bytes.equals(await other.video(taskId))).toBe(true);
    }
  });

  it('is the same for the same request, in whatever order its fields come', async () => {
    const first = await emulator.video(await submit({ ...FOX, seed: 7, duration: 5 }));
    const second = await emulator.video(await submit({ duration: 5, seed: 7, ...FOX }));
    const elsewhere = await start();
    const third = await elsewhere.video(await submit({ ...FOX, seed: 7, duration: 5 }, elsewhere));
    expect(second.equals(first)).toBe(true);
    expect(third.equals(first)).toBe(true);
  });

  it.each([{ seed: 8 }, { prompt: 'A blue fox' }, { duration: 6 }, { resolution: '480p' }])(
    'differs for a request with %j',
    async (change) => {
      const request = { ...FOX, seed: 7, duration: 5 };
      const first = await emulator.video(await submit(request));
      const second = await emulator.video(await submit({ ...request, ...change }));
      expect(second.equals(first)).toBe(false);
    },
  );

  it('of an unknown task is an error', async () => {
    await expect(emulator.video('no-such-task')).rejects.toThrow('The emulator has no task no-such-task.');
  });
});

describe('the record', () => {
  it('lists the calls in order', async () => {
    const headers = { ...AUTHORIZED, 'content-type': 'application/json', 'idempotency-key': 'k-1' };
    const answer = await ask(IMAGE, { method: 'POST', headers, body: JSON.stringify(FOX_IMAGE) });
    const taskId = field(answer.body, 'task_id');
    await fetchVideo(await linkOf(taskId));
    const answered = { status: 200, atMs: expect.any(Number) };
    expect(emulator.calls).toEqual([
      {
        call: 'submit',
        method: 'POST',
        path: IMAGE,
        authorized: true,
        idempotencyKey: 'k-1',
        contentType: 'application/json',
        body: FOX_IMAGE,
        ...answered,
      },
      { call: 'status', method: 'GET', path: `/v1/videos/${taskId}`, authorized: true, ...answered },
      { call: 'download', method: 'GET', path: `/files/${taskId}.mp4`, authorized: false, ...answered },
    ]);
  });

  it('has the time of each call by the machine’s clock, not that of the tasks', async () => {
    const before = Date.now();
    await submit();
    await submit();
    const all = [before, ...emulator.calls.map(({ atMs }) => atMs), Date.now()];
    expect(all).toEqual([...all].sort((a, b) => a - b));
  });

  it('has the status of each answer', async () => {
    const link = await linkOf(await submit());
    await fetchVideo(link, { headers: { range: 'bytes=0-9' } });
    await post(TEXT, {});
    await ask(TEXT, { method: 'POST', headers: {} });
    await poll('no-such-task');
    await poll('%E0%A4%A');
    await ask('/elsewhere');
    emulator.next('submit', { kind: 'rate-limited' });
    await post(TEXT, FOX);
    expect(emulator.calls.map(({ status }) => status)).toEqual([200, 200, 206, 400, 401, 404, 400, 404, 429]);
  });

  it('never contains a key, right or wrong, or the signature of a link', async () => {
    const link = await linkOf(await submit());
    await fetchVideo(link, { headers: AUTHORIZED });
    await ask('/', { headers: { authorization: 'Bearer wrong-key' } });
    expect(link).toContain(emulator.linkSignature);
    expect(JSON.stringify(emulator.calls)).not.toMatch(
      new RegExp(`${KEY}|wrong-key|${emulator.linkSignature}`),
    );
  });
});

describe('the emulator', () => {
  it('can run twice at once, each with its own key, tasks and links', async () => {
    const other = await start({ apiKey: 'other-key-0123456789' });
    expect(other.url).not.toBe(emulator.url);
    expect(other.linkSignature).not.toBe(emulator.linkSignature);
    expect((await ask('/v1/videos/a', {}, other)).status).toBe(401);
    const taskId = await submit();
    expect(other.generations()).toHaveLength(0);
    const there = await ask(
      `/v1/videos/${taskId}`,
      { headers: { authorization: `Bearer ${other.apiKey}` } },
      other,
    );
    expect(there.status).toBe(404);
  });

  it('has a default key, and listens only on loopback', async () => {
    const other = await start({ apiKey: undefined });
    expect(other.apiKey).toBe('emulator-key');
    expect(other.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it.each(['//', '///', '//%', '/%zz', '/v1/videos/%ff'])(
    'refuses the path %s, and answers the next call',
    async (path) => {
      const { port } = new URL(emulator.url);
      const headers = { authorization: `Bearer ${emulator.apiKey}` };
      const [answer] = await once(request({ port, path, headers }).end(), 'response');
      answer.resume();
      expect([400, 404]).toContain(answer.statusCode);
      expect(await submit()).toMatch(/./);
    },
  );

  it('does not start on a port that is in use', async () => {
    const port = Number(new URL(emulator.url).port);
    await expect(startEmulator({ port })).rejects.toMatchObject({ cause: { code: 'EADDRINUSE' } });
  });

  it('listens on the given port', async () => {
    const port = Number(new URL(emulator.url).port);
    await emulator.close();
    expect((await start({ port })).url).toBe(`http://127.0.0.1:${port}`);
  });

  it('closes every connection when it is closed: hanging, stalled and idle ones', async () => {
    const link = await linkOf(await submit());
    emulator.next('submit', { kind: 'hang' });
    emulator.next('download', { kind: 'stall', afterBytes: 10 });
    const idle = connect(Number(new URL(emulator.url).port), '127.0.0.1');
    await once(idle, 'connect');
    const idleClosed = once(idle, 'close');
    const hanging = expect(post(TEXT, FOX)).rejects.toThrow();
    const stalled = await fetch(link);
    const aborted = expect(stalled.arrayBuffer()).rejects.toThrow();
    await emulator.close();
    await Promise.all([hanging, aborted, idleClosed]);
    await expect(poll('a')).rejects.toThrow();
  });

  it('can be closed twice, also while it is closing', async () => {
    await Promise.all([emulator.close(), emulator.close()]);
    await emulator.close();
    await expect(poll('a')).rejects.toThrow();
  });
});
