import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { registerSearchAttributes } from '../../src/client/search-attributes';
import { createVideoGateway, type VideoGateway, type VideoGatewayOptions } from '../../src/gateway';
import { makeKey } from '../../src/gateway/gateway-keys';
import { workflowIdOf } from '../../src/gateway/task-names';
import type { VideoObject } from '../../src/gateway/video-object';
import { createVideoService, type ServiceProfile } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { VideoWorkerOptions } from '../../src/worker/video-worker';
import { dataUrl, PNG, pngOf, sha256Of } from '../support/images';
import { captureLogs } from '../support/logs';
import { reset } from '../support/reset';
import { filesIn, recordsIn } from '../support/stored-files';
import { startWebhookReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver';
import { keepRunning, pause, quickWorkflows, untilProgress } from '../support/world';

/** One key for each test, so that no test counts the jobs of another. */
const keys = Object.fromEntries(
  ['few', 'reader', 'eraser', 'capped', 'shop', 'press', 'images'].map((name) => [name, makeKey(name)]),
);

const LIMITS: Record<string, string> = { few: 'jobs-at-a-time=2 jobs-a-day=3' };

/** Of one key alone. */
const CAPS = { keys: { capped: { videos: 1 } } };

let env: VideoTestEnvironment;
let folder: string;
/** Two of one namespace, for all tests. */
let first: VideoGateway;
let second: VideoGateway;
/** Ends what runs until the end, the last first. */
const stops: (() => unknown)[] = [];
/** By the emulator's own clock, so that a task is as far as a test says, or at its end when it is first polled. */
let emulatedMs = Date.now();
let isRushed = false;
const TASK_MS = 100_000;
const clock = () => {
  if (isRushed) emulatedMs += TASK_MS;
  return emulatedMs;
};
let logs: ReturnType<typeof captureLogs>;
const gatewayLog: string[] = [];

beforeAll(async () => {
  logs = captureLogs();
  folder = mkdtempSync(join(tmpdir(), 'videogen-gateway-'));
  writeFileSync(
    join(folder, 'keys.txt'),
    Object.entries(keys)
      .map(([name, { line }]) => `${line} ${LIMITS[name] ?? ''}\n`)
      .join(''),
  );
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: TASK_MS, videoBytes: 10_000, fetchImages: true, clock },
  });
  [first, second] = await Promise.all([open(), open()]);
  await startWorker({ polling: { min: '1s', max: '1s' } }, { caps: CAPS, gatewayUrl: first.url });
});
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
  await env?.teardown();
  rmSync(folder, { recursive: true });
});

async function startWorker(profile: ServiceProfile, options: VideoWorkerOptions): Promise<void> {
  const { url: baseUrl, apiKey } = env.emulator;
  const service = createVideoService({ baseUrl, apiKey: () => apiKey, profile });
  const stop = keepRunning(await env.createWorker({ service, worker: quickWorkflows(), ...options }));
  stops.push(() => service.close(), stop);
}

async function open({ env: more, ...options }: VideoGatewayOptions = {}): Promise<VideoGateway> {
  const gateway = await createVideoGateway({
    env: {
      VIDEOGEN_STORAGE: env.storageFolder,
      VIDEOGEN_GATEWAY_KEYS_FILE: join(folder, 'keys.txt'),
      ...more,
    },
    client: env.temporal.client,
    port: 0,
    log: (line) => gatewayLog.push(line),
    ...options,
  });
  stops.push(() => gateway.close());
  return gateway;
}

interface Call {
  method?: string;
  body?: object;
  headers?: Record<string, string>;
}

const caller =
  (gateway: VideoGateway, name: string) =>
  (path: string, { method = 'GET', body, headers = {} }: Call = {}) =>
    fetch(`${gateway.url}/v1/videos${path}`, {
      method,
      headers: {
        authorization: `Bearer ${keys[name]?.key}`,
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
type Caller = ReturnType<typeof caller>;

const post = (call: Caller, headers: Record<string, string> = {}) =>
  call('', { method: 'POST', body: { prompt: 'A red fox' }, headers });

async function json(answer: Response): Promise<VideoObject> {
  return JSON.parse(await answer.text());
}

async function until(call: Caller, id: string, isSo: (video: VideoObject) => boolean): Promise<VideoObject> {
  for (;;) {
    const video = await json(await call(`/${id}`));
    if (isSo(video)) return video;
    await pause();
  }
}

test('the limits of a key hold for two gateways together: a job that ends makes room, a deleted one counts for the day, a repeated POST does not', async () => {
  const [one, other] = [caller(first, 'few'), caller(second, 'few')];
  const refusalOf = async (call: Caller) => {
    const { status, headers } = await post(call);
    return [status, headers.get('retry-after')];
  };
  const cancel = async (id: string) => {
    await one(`/${id}`, { method: 'DELETE' });
    await until(one, id, ({ status }) => status === 'failed');
  };
  const once = { 'idempotency-key': 'once' };
  const running = await json(await post(one, once));
  await until(other, running.id, ({ status }) => status === 'in_progress');
  const later = await json(await post(other));
  expect((await json(await post(other, once))).id).toBe(running.id);
  for (const call of [one, other]) expect(await refusalOf(call)).toEqual([429, '10']);
  await cancel(running.id);
  expect((await post(one)).status).toBe(200);
  expect(await json(await one(`/${running.id}`, { method: 'DELETE' }))).toMatchObject({ deleted: true });
  await cancel(later.id);
  expect(await refusalOf(other)).toEqual([429, '3600']);
});

test('the cap of a key fails the job beyond it at the worker, which submits nothing', async () => {
  const call = caller(first, 'capped');
  const allowed = await json(await post(call));
  await until(call, allowed.id, ({ status }) => status === 'in_progress');
  const { id } = await json(await post(call));
  const { error } = await until(call, id, ({ status }) => status === 'failed');
  expect(error).toMatchObject({
    code: 'CapReached',
    message: expect.stringMatching(
      /^A cap does not allow this video: the daily cap of 1 video for the gateway key capped is reached; it resets at \S+Z\./,
    ),
  });
  expect(env.emulator.calls.filter(({ call: made }) => made === 'submit')).toHaveLength(
    env.emulator.generations().length,
  );
});

test('the state of a video and its events have its progress, which costs the job no event', async () => {
  const call = caller(first, 'reader');
  const { id } = await json(await post(call));
  await until(call, id, ({ status }) => status === 'in_progress');
  emulatedMs += 60_000;
  expect((await until(call, id, ({ progress }) => progress > 0)).progress).toBe(60);
  emulatedMs += 5_000;
  const { body } = await call(`/${id}/events`);
  const events: number[] = [];
  let lastId = '';
  const decoder = new TextDecoder();
  if (body === null) throw new Error('no events');
  let isDone = false;
  for await (const chunk of body) {
    for (const [, eventId = '', data = ''] of decoder
      .decode(chunk)
      .matchAll(/^id: (.*)\nevent: .*\ndata: (.*)$/gm)) {
      lastId = eventId;
      events.push(JSON.parse(data).progress);
    }
    if (isDone || !events.includes(65)) continue;
    isDone = true;
    expect((await json(await call(`/${id}`))).progress).toBe(65);
    emulatedMs += 100_000;
  }
  expect(events.at(-1)).toBe(100);
  const resume = (last: string) => call(`/${id}/events`, { headers: { 'last-event-id': last } });
  expect((await resume(lastId)).status).toBe(204);
  expect(await (await resume('another')).text()).toContain(`id: ${lastId}\nevent: video.completed\n`);
  const { history } = await env.temporal.client.workflowService.getWorkflowExecutionHistory({
    namespace: env.temporal.client.options.namespace,
    execution: { workflowId: `gateway-reader-${id}` },
  });
  const upserts = history?.events?.filter(({ workflowPropertiesModifiedEventAttributes: memo }) => memo);
  // The task id.
  expect(upserts).toHaveLength(1);
});

test('DELETE of an ended video removes its files; then it is nowhere, on any gateway, and its Idempotency-Key pays nothing', async () => {
  const call = caller(first, 'eraser');
  const once = { 'idempotency-key': 'once' };
  const { id } = await json(await post(call, once));
  const { id: kept } = await json(await post(call));
  await until(call, kept, ({ status }) => status === 'in_progress');
  await until(call, id, ({ status }) => status === 'in_progress');
  emulatedMs += 200_000;
  for (const one of [id, kept]) await until(call, one, ({ status }) => status === 'completed');
  const before = env.emulator.generations().length;
  expect((await call(`/${id}/content`)).status).toBe(200);
  expect(await json(await call(`/${id}`, { method: 'DELETE' }))).toEqual({
    id,
    object: 'video.deleted',
    deleted: true,
  });
  const filesOf = (task: string) =>
    readdirSync(env.storageFolder, { recursive: true })
      .map(String)
      // Of a record, its folder stands for its entries.
      .filter((file) => file.includes(task) && !/\/\d{4}\.json$/.test(file))
      .sort();
  // The record of what was paid for stays, and the mark that it was deleted.
  expect(filesOf(id)).toEqual([
    `gateway/deleted/gateway-eraser-${id}.json`,
    expect.stringMatching(/^jobs\//),
  ]);
  expect(filesOf(kept)).toHaveLength(3);
  for (const gateway of [call, caller(second, 'eraser')]) {
    for (const path of ['', '/content', '/events']) expect((await gateway(`/${id}${path}`)).status).toBe(404);
    expect((await gateway(`/${id}`, { method: 'DELETE' })).status).toBe(404);
    const { data, has_more }: { data: VideoObject[]; has_more: boolean } = JSON.parse(
      await (await gateway('?limit=1')).text(),
    );
    expect([data.map((video) => video.id), has_more]).toEqual([[kept], false]);
    const repeated = await post(gateway, once);
    expect([repeated.status, JSON.parse(await repeated.text()).error.code]).toEqual([409, 'video_deleted']);
  }
  expect((await call(`/${kept}/content`)).status).toBe(200);
  expect(env.emulator.generations()).toHaveLength(before);
});

test('a gateway that closes answers who waits, ends events, and is gone', async () => {
  const gateway = await open();
  const call = caller(gateway, 'reader');
  const { id } = await json(await post(call));
  const waiting = call(`/${id}`, { headers: { prefer: 'wait=60' } });
  const { body } = await call(`/${id}/events`);
  await body?.getReader().read();
  const [answer] = await Promise.all([waiting, gateway.close()]);
  expect([answer.status, (await json(answer)).id]).toEqual([200, id]);
  await expect(call(`/${id}`)).rejects.toThrow('fetch failed');
  emulatedMs += 200_000;
});

test('a task of another key or of no key gets the answer of one that does not exist, when it is adopted', async () => {
  const [shop, press] = [caller(first, 'shop'), caller(first, 'press')];
  const start = async (call: Caller, name: string) => {
    const { id } = await json(await post(call));
    return { id, job: env.videos.handle(workflowIdOf(name, id)) };
  };
  const running = await start(press, 'press');
  const ended = await start(press, 'press');
  const tasks = [await running.job.taskId(), await ended.job.taskId()];
  await env.temporal.client.workflow.getHandle(ended.job.workflowId).terminate('a test');
  const { taskId: taskOfNoKey } = await env.videos.submit({ request: { prompt: 'A red fox' } });

  env.emulator.next('submit', { kind: 'reset' });
  const { id, job } = await start(shop, 'shop');
  await untilProgress(job, ({ phase }) => phase === 'needs-decision');
  const lost = env.emulator.generations().at(-1)?.taskId ?? '';
  const adopt = async (taskId: string) => {
    const body = { decision: 'adopt', taskId };
    const answer = await shop(`/${id}/decision`, { method: 'POST', body });
    const text = await answer.text();
    return [answer.status, text.replaceAll(taskId, 'TASK').replace(/req_\w+/g, 'REQUEST')];
  };
  const unknown = await adopt(`task_${randomUUID()}`);
  expect(unknown).toEqual([409, expect.stringContaining('the service does not know it')]);
  for (const taskId of [...tasks, taskOfNoKey]) expect(await adopt(taskId)).toEqual(unknown);

  const own = await start(shop, 'shop');
  expect(await adopt(await own.job.taskId())).toEqual([
    409,
    expect.stringContaining(`the task TASK belongs to the job ${own.job.workflowId}`),
  ]);
  expect((await adopt(lost))[0]).toBe(200);
  expect(await job.taskId()).toBe(lost);
});

describe('an image', () => {
  /** More than a history may have. */
  const LARGE_PNG = pngOf(5_000_000);
  beforeAll(() => {
    isRushed = true;
  });
  afterAll(() => {
    isRushed = false;
  });

  const taskOf = ({ service_task_id }: VideoObject) =>
    env.emulator.generations().find(({ taskId }) => taskId === service_task_id);

  const storedImages = async () =>
    (await filesIn(join(env.storageFolder, 'images'))).filter((name) => /\.\w+$/.test(name));

  /** Everything that is recorded of a job outside the service. */
  async function recordedOf({ id }: VideoObject): Promise<string> {
    const handle = env.temporal.client.workflow.getHandle(`gateway-images-${id}`);
    const { memo, raw } = await handle.describe();
    const files = [...(await recordsIn(env.storageFolder)), ...(await filesIn(env.storageFolder))];
    const texts = files.filter((name) => name.endsWith('.json') && name.includes(id));
    return [
      JSON.stringify((await handle.fetchHistory()).events),
      payloadsIn((await handle.fetchHistory()).events),
      JSON.stringify([memo, raw]),
      ...texts.map((name) => readFileSync(join(env.storageFolder, name), 'utf8')),
      JSON.stringify([logs, gatewayLog]),
    ].join('\n');
  }

  /** The payloads of a history, decoded. */
  function payloadsIn(value: unknown): string {
    if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
    if (typeof value !== 'object' || value === null) return '';
    return Object.values(value).map(payloadsIn).join('\n');
  }

  test('that is uploaded is fetched by the service and becomes a video, and nothing but its reference is recorded', async () => {
    const upload = async () => {
      const answer = await fetch(`${first.url}/v1/images`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys.images?.key}`, 'content-type': 'image/png' },
        body: LARGE_PNG,
      });
      expect(answer.status).toBe(200);
      return JSON.parse(await answer.text());
    };
    const image = await upload();
    expect(await upload()).toEqual(image);
    const body = { prompt: 'A red fox', image_url: image.url };
    const call = caller(first, 'images');
    const headers = { prefer: 'wait=30' };
    const video = await json(await call('/image-to-video', { method: 'POST', body, headers }));
    expect(video.status).toBe('completed');
    const task = taskOf(video);
    expect(task?.image).toEqual({
      bytes: LARGE_PNG.length,
      sha256: sha256Of(LARGE_PNG),
      contentType: 'image/png',
    });
    expect(await storedImages()).toEqual([`images/${image.sha256}.png`]);

    const recorded = await recordedOf(video);
    const link = new URL(task?.request.image_url ?? '');
    expect(recorded).toContain(image.url);
    expect(gatewayLog.join()).toContain('/v1/images/:owner/:name');
    expect(recorded).not.toContain(link.searchParams.get('signature'));
    expect(recorded).not.toContain(link.pathname);
    expect(recorded).not.toContain(LARGE_PNG.toString('base64').slice(0, 40));
  });
});

test('a webhook of the service has its job poll at once, and the caller of the gateway is called once, also after a reset', async () => {
  const HOOK_SECRET = 'b'.repeat(40);
  const { client } = env.temporal;
  await registerSearchAttributes({ connection: client.connection, namespace: client.options.namespace });
  // The first delivery fails, so the job has ended before the second.
  const receiver = await startWebhookReceiver([500]);
  stops.push(() => receiver.close());
  const taskQueue = 'hooked';
  const { url } = await open({
    taskQueue,
    env: {
      VIDEOGEN_GATEWAY_KEYS_FILE: undefined,
      VIDEOGEN_SEARCH_ATTRIBUTES: 'true',
      VIDEOGEN_GATEWAY_HOOK_SECRET: HOOK_SECRET,
    },
  });
  // Without a hint no job would poll during the test. The ids of tasks from images are marked, which the service's webhooks
  // do not know.
  const paths = { task: { textToVideo: '/v1/videos/{taskId}', imageToVideo: '/v1/videos/{taskId}' } };
  const webhooks = { secret: () => WEBHOOK_SECRET, allow: ['127.0.0.1'] };
  const polling = { min: '30m', max: '30m' } as const;
  await startWorker({ polling, paths }, { taskQueue, webhooks, gatewayUrl: url });
  const send = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: answer.status, body: JSON.parse(await answer.text()) };
  };
  const read = async (id: string) => json(await fetch(`${url}/v1/videos/${id}`));

  const image = { prompt: 'A red fox', image_url: dataUrl(PNG) };
  const { id } = (await send('/videos/image-to-video', { ...image, callback_url: receiver.url })).body;
  let taskId: string | null | undefined;
  while (!taskId) {
    await pause();
    taskId = (await read(id)).service_task_id;
  }
  emulatedMs += TASK_MS;
  const [, idAtService] = /^image-to-video:(.*)$/.exec(taskId) ?? [];
  expect((await send(`/hooks/${'c'.repeat(40)}`, { task_id: idAtService })).status).toBe(404);
  expect((await send(`/hooks/${HOOK_SECRET}`, { task_id: 'unknown' })).status).toBe(200);
  // Until Temporal lists the new job, a hint finds nothing.
  while ((await read(id)).status !== 'completed') {
    const hint = { id: 'event-1', data: { id: idAtService } };
    expect((await send(`/hooks/${HOOK_SECRET}`, hint)).status).toBe(200);
    await pause();
  }
  while (receiver.accepted(id).length === 0) await pause();
  const [webhook] = receiver.accepted(id);
  expect(webhook).toMatchObject({ type: 'video.completed', data: { id, taskId } });

  const workflowId = workflowIdOf('local', id);
  await reset(client, { workflowId });
  await client.workflow.getHandle(workflowId).result();
  // The webhook of the run after the reset is the same, and was delivered already.
  const delivery = client.workflow.getHandle(String(webhook?.id));
  expect(await delivery.result()).toEqual({ status: 204, attempt: 2 });
  expect(receiver.accepted(id)).toHaveLength(1);
});
