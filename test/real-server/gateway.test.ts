import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { createVideoGateway, type VideoGateway } from '../../src/gateway';
import { makeKey } from '../../src/gateway/gateway-keys';
import type { VideoObject } from '../../src/gateway/video-object';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';

const FOX = { prompt: 'A red fox', duration: 5 };
const [shop, press] = [makeKey('shop'), makeKey('press')];

let env: VideoTestEnvironment;
let folder: string;
let gateway: VideoGateway;
let stopWorker: () => Promise<void>;
beforeAll(async () => {
  captureLogs();
  folder = mkdtempSync(join(tmpdir(), 'videogen-gateway-'));
  writeFileSync(join(folder, 'keys.txt'), `${shop.line}\n${press.line}\n`);
  writeFileSync(join(folder, 'profile.json'), '{ "polling": { "min": "1s", "max": "1s" } }');
  env = await createVideoTestEnvironment({ server: 'dev', emulator: { jobTimeMs: 0, videoBytes: 65_536 } });
  const worker = await env.createWorker({ env: { VIDEOGEN_PROFILE: join(folder, 'profile.json') } });
  const running = worker.run();
  stopWorker = async () => {
    worker.shutdown();
    await running;
  };
  gateway = await createVideoGateway({
    env: { VIDEOGEN_STORAGE: env.storageFolder, VIDEOGEN_GATEWAY_KEYS_FILE: join(folder, 'keys.txt') },
    client: env.temporal.client,
    port: 0,
    log: () => undefined,
  });
});
afterAll(async () => {
  await gateway?.close();
  await stopWorker?.();
  await env?.teardown();
  rmSync(folder, { recursive: true });
});

interface Call {
  method?: string;
  body?: object;
  key?: string | undefined;
  headers?: Record<string, string>;
}

function call(path: string, { method = 'GET', body, key = shop.key, headers = {} }: Call = {}) {
  return fetch(`${gateway.url}${path}`, {
    method,
    headers: {
      ...(key !== '' && { authorization: `Bearer ${key}` }),
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  });
}

async function videoIn(answer: Response): Promise<VideoObject> {
  expect(answer.status).toBe(200);
  return JSON.parse(await answer.text());
}

async function post(body: object, headers: Record<string, string> = {}): Promise<VideoObject> {
  return videoIn(await call('/v1/videos/text-to-video', { method: 'POST', body, headers }));
}

/** A video that has ended. */
const made = (body: object = FOX) => post(body, { prefer: 'wait=30' });

describe('the drop-in', () => {
  test('answers a POST at once with its own task id, and later with the video and the task id of the service', async () => {
    const before = env.emulator.generations().length;
    const video = await made();
    expect(video).toMatchObject({ status: 'completed', progress: 100, prompt: FOX.prompt, seconds: '5' });
    expect(video.task_id).toBe(video.id);
    const generations = env.emulator.generations().slice(before);
    expect(generations.map(({ taskId }) => taskId)).toEqual([video.service_task_id]);
  });

  test('a repeated POST with one Idempotency-Key is one generation, and another request is refused with what differs', async () => {
    const before = env.emulator.generations().length;
    const key = { 'idempotency-key': 'once' };
    const videos = await Promise.all([1, 2, 3].map(() => post(FOX, key)));
    expect(new Set(videos.map(({ id }) => id)).size).toBe(1);
    const other = await call('/v1/videos/text-to-video', {
      method: 'POST',
      body: { prompt: 'A hare' },
      headers: key,
    });
    expect(other.status).toBe(409);
    expect(JSON.parse(await other.text()).error.message).toMatch(
      /differs in (prompt, duration|duration, prompt)/,
    );
    await call(`/v1/videos/${videos[0]?.id}`, { headers: { prefer: 'wait=30' } });
    expect(env.emulator.generations()).toHaveLength(before + 1);
  });
});

describe("OpenAI's unmodified client", () => {
  const openai = (key = shop.key) => new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });

  test('creates, polls, downloads, lists and deletes', async () => {
    const client = openai();
    const created = await client.videos.create({
      model: 'sora-2',
      prompt: 'A red fox',
      seconds: '4',
      size: '1280x720',
    });
    expect(created).toMatchObject({ object: 'video', model: 'sora-2', seconds: '4', size: '1280x720' });
    let video = created;
    while (video.status === 'queued' || video.status === 'in_progress') {
      await new Promise((resolve) => setTimeout(resolve, 200));
      video = await client.videos.retrieve(created.id);
    }
    expect(video).toMatchObject({ status: 'completed', progress: 100 });
    const content = await client.videos.downloadContent(created.id);
    const bytes = Buffer.from(await content.arrayBuffer());
    const { video: stored } = await videoIn(await call(`/v1/videos/${created.id}`));
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(stored?.sha256);

    const listed: string[] = [];
    for await (const { id } of client.videos.list({ limit: 1 })) listed.push(id);
    expect(listed[0]).toBe(created.id);
    expect(new Set(listed).size).toBe(listed.length);
    expect(await client.videos.delete(created.id)).toMatchObject({ id: created.id, deleted: true });
  });

  test('gets a failed job, a 400, a 401 and a 404 as its own errors', async () => {
    env.emulator.next('submit', { kind: 'failed-task', code: 'moderation', message: 'no foxes today' });
    const { id } = await openai().videos.create({ prompt: 'A red fox' });
    const failed = await videoIn(await call(`/v1/videos/${id}`, { headers: { prefer: 'wait=30' } }));
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'GenerationFailed' } });
    expect(failed.error?.message).toContain('no foxes today');
    await expect(openai().videos.create({ prompt: 'A red fox', seconds: '12' })).rejects.toThrow(
      OpenAI.BadRequestError,
    );
    await expect(openai('wrong').videos.retrieve(id)).rejects.toThrow(OpenAI.AuthenticationError);
    await expect(openai().videos.retrieve('video_nobody')).rejects.toThrow(OpenAI.NotFoundError);
  });
});

describe('keys', () => {
  const routes = (id: string): [string, string, object?][] => [
    ['GET', `/v1/videos/${id}`],
    ['GET', `/v1/videos/${id}/content`],
    ['HEAD', `/v1/videos/${id}/content`],
    ['GET', `/v1/videos/${id}/events`],
    ['DELETE', `/v1/videos/${id}`],
    ['POST', `/v1/videos/${id}/decision`, { decision: 'abandon' }],
  ];

  test('one key sees nothing of another key: every route answers 404, and lists are its own', async () => {
    const { id } = await made();
    for (const [method, path, body] of routes(id)) {
      const answer = await call(path, { method, key: press.key, ...(body && { body }) });
      expect([method, path, answer.status]).toEqual([method, path, 404]);
    }
    const list = JSON.parse(await (await call('/v1/videos', { key: press.key })).text());
    expect(list.data).toEqual([]);
  });

  test.each([
    ['a missing', ''],
    ['a wrong', 'vgk_wrong'],
  ])('%s key is a 401 without a hint, on every route', async (_name, key) => {
    const answers = await Promise.all(
      [...routes('video_x'), ['POST', '/v1/videos', FOX] as const, ['GET', '/v1/videos'] as const].map(
        async ([method, path, body]) => {
          const answer = await call(path, { method, key, ...(body && { body }) });
          return `${answer.status} ${method === 'HEAD' ? '' : await answer.text()}`;
        },
      ),
    );
    expect(answers.filter((answer) => !answer.startsWith('401 '))).toEqual([]);
    expect(new Set(answers.filter((answer) => answer.length > 4)).size).toBe(1);
  });
});

describe('content', () => {
  test('is 404 with a reason until it is there, then whole, in part, and known by its ETag', async () => {
    const { id } = await made();
    const path = `/v1/videos/${id}/content`;
    const whole = await call(path);
    const bytes = Buffer.from(await whole.arrayBuffer());
    expect(whole.headers.get('content-disposition')).toBe(`inline; filename="${id}.mp4"`);
    const part = async (range: string) => {
      const answer = await call(path, { headers: { range } });
      return [answer.status, answer.headers.get('content-range'), Buffer.from(await answer.arrayBuffer())];
    };
    expect(await part('bytes=0-9')).toEqual([206, 'bytes 0-9/65536', bytes.subarray(0, 10)]);
    expect(await part('bytes=65530-')).toEqual([206, 'bytes 65530-65535/65536', bytes.subarray(65_530)]);
    expect(await part('bytes=-6')).toEqual([206, 'bytes 65530-65535/65536', bytes.subarray(65_530)]);
    expect((await part('bytes=70000-'))[0]).toBe(416);
    const etag = whole.headers.get('etag') ?? '';
    expect((await call(path, { headers: { 'if-none-match': etag } })).status).toBe(304);
    const head = await call(path, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '65536']);
  });
});
