import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { run } from '../../src/cli/run';
import { newestFirst } from '../../src/client/list-jobs';
import { createVideoGateway, type VideoGateway } from '../../src/gateway';
import { makeKey } from '../../src/gateway/gateway-keys';
import { prefixOf, videoIdIn, workflowIdOf } from '../../src/gateway/task-names';
import type { VideoObject } from '../../src/gateway/video-object';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { FakeTerminal } from '../cli/fake-terminal';
import { commandsOf, expectShown, readPage } from '../support/docs-page';
import { captureLogs } from '../support/logs';
import { testAtNight } from '../support/nightly';
import { describeServiceContract } from '../support/service-contract';
import { keepRunning, quickWorkflows, untilProgress } from '../support/world';

const FOX = { prompt: 'A red fox', duration: 5 };
const [shop, press, former, reader] = [
  makeKey('shop'),
  makeKey('press'),
  makeKey('former'),
  makeKey('reader'),
];

let env: VideoTestEnvironment;
let folder: string;
let gateway: VideoGateway;
let service: OpenedVideoService;
let stopWorker: () => Promise<void>;
beforeAll(async () => {
  captureLogs();
  folder = mkdtempSync(join(tmpdir(), 'videogen-gateway-'));
  allow(shop, press, former, reader);
  env = await createVideoTestEnvironment({ server: 'dev', emulator: { jobTimeMs: 0, videoBytes: 65_536 } });
  const { url, apiKey } = env.emulator;
  // The first poll comes after five seconds unless the service allows more of them.
  const profile = { polling: { min: '1s', max: '1s' } };
  service = createVideoService({ baseUrl: url, apiKey: () => apiKey, profile });
  const worker = await env.createWorker({ service, worker: quickWorkflows() });
  stopWorker = keepRunning(worker);
  gateway = await startGateway();
});
afterAll(async () => {
  await gateway?.close();
  await stopWorker?.();
  await service?.close();
  await env?.teardown();
  rmSync(folder, { recursive: true });
});

const allow = (...keys: { line: string }[]) =>
  writeFileSync(join(folder, 'keys.txt'), keys.map(({ line }) => `${line}\n`).join(''));

const settings = () => ({
  VIDEOGEN_STORAGE: env.storageFolder,
  VIDEOGEN_GATEWAY_KEYS_FILE: join(folder, 'keys.txt'),
  VIDEOGEN_LOG_LEVEL: 'error',
});

/** Another gateway of the same namespace, which is what a restarted one is. */
const startGateway = () => createVideoGateway({ env: settings(), client: env.temporal.client, port: 0 });

interface Call {
  url?: string;
  method?: string;
  body?: object;
  key?: string | undefined;
  headers?: Record<string, string>;
}

function call(
  path: string,
  { url = gateway.url, method = 'GET', body, key = shop.key, headers = {} }: Call = {},
) {
  return fetch(`${url}${path}`, {
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

test('a POST repeated with one Idempotency-Key, at once and after a restart, is one generation; another request is refused with what differs', async () => {
  const before = env.emulator.generations().length;
  const headers = { 'idempotency-key': randomUUID() };
  const again = (more: Call = {}) =>
    call('/v1/videos/text-to-video', { method: 'POST', body: FOX, headers, ...more });
  const first = await Promise.all([1, 2, 3].map(async () => videoIn(await again())));
  const { url, close } = await startGateway();
  const later = await Promise.all([1, 2].map(async () => videoIn(await again({ url }))));
  await close();
  const [{ id }] = [...first, ...later] as [VideoObject];
  expect(new Set([...first, ...later].map((video) => video.id))).toEqual(new Set([id]));
  const elsewhere = await again({ body: { ...FOX, callback_url: 'https://example.com/' } });
  expect([elsewhere.status, await elsewhere.text()]).toEqual([409, expect.stringContaining('callback_url')]);
  const other = await again({ body: { prompt: 'A hare' } });
  expect(other.status).toBe(409);
  expect(JSON.parse(await other.text()).error.message).toMatch(
    /differs in (prompt, duration|duration, prompt)/,
  );
  await call(`/v1/videos/${id}`, { headers: { prefer: 'wait=30' } });
  expect(env.emulator.generations()).toHaveLength(before + 1);
  // The same words of another caller are another key.
  const ofPress = await videoIn(await again({ key: press.key, body: { prompt: 'A hare' } }));
  expect(ofPress.id).not.toBe(id);
});

describe('the gateway in front of the emulator', () =>
  describeServiceContract(() => ({
    url: gateway.url,
    apiKey: shop.key,
    generations: () => env.emulator.generations(),
    video: (taskId) => env.emulator.video(taskId),
  })));

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

  test('gets a failed job, refused content, a 400, a 401 and a 404 as its own errors', async () => {
    const failedVideo = async (prompt: string) => {
      const { id } = await openai().videos.create({ prompt });
      return videoIn(await call(`/v1/videos/${id}`, { headers: { prefer: 'wait=30' } }));
    };
    env.emulator.next('submit', { kind: 'failed-task', code: 'season', message: 'no foxes today' });
    const failed = await failedVideo('A red fox');
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'GenerationFailed' } });
    expect(failed.error?.message).toContain('no foxes today');
    env.emulator.next('submit', { kind: 'refused-content', stage: 'prompt' });
    const refused = await failedVideo('A red fox, refused');
    const error = { code: 'ContentRefused', param: 'prompt', stage: 'prompt' };
    expect(refused).toMatchObject({ status: 'failed', error });
    const content = await call(`/v1/videos/${refused.id}/content`);
    expect(content.status).toBe(451);
    expect(await content.json()).toMatchObject({ error: { code: 'content_refused', param: 'prompt' } });
    await expect(openai().videos.create({ prompt: 'A red fox', seconds: '12' })).rejects.toThrow(
      OpenAI.BadRequestError,
    );
    await expect(openai('wrong').videos.retrieve(failed.id)).rejects.toThrow(OpenAI.AuthenticationError);
    await expect(openai().videos.retrieve('video_nobody')).rejects.toThrow(OpenAI.NotFoundError);
  });
});

test('a list is newest first and its pages leave nothing out, whichever video ends when', async () => {
  const key = reader.key;
  const ids: string[] = [];
  const start = async (prefer: string) => {
    const init = { method: 'POST', body: FOX, key, headers: { prefer } };
    ids.unshift((await videoIn(await call('/v1/videos/text-to-video', init))).id);
  };
  // It waits for a decision while the later ones end.
  env.emulator.next('submit', { kind: 'reset' });
  await start('wait=0');
  const held = env.videos.handle(workflowIdOf('reader', ids[0] ?? ''));
  await untilProgress(held, ({ phase }) => phase === 'needs-decision');
  for (const prefer of ['wait=0', 'wait=30', 'wait=30']) await start(prefer);
  const pages: string[][] = [];
  for (let after = ''; pages.length < 5; ) {
    const answer = await call(`/v1/videos?limit=1${after}`, { key });
    const { data, last_id, has_more } = JSON.parse(await answer.text());
    pages.push(data.map((video: VideoObject) => video.id));
    if (!has_more) break;
    after = `&after=${last_id}`;
  }
  expect(pages).toEqual(ids.map((id) => [id]));

  // A key with more videos than are read at a time: here, with more than one.
  const { client } = env.temporal;
  const listed: string[] = [];
  const conditions = `WorkflowId STARTS_WITH '${prefixOf('reader')}'`;
  for await (const { workflowId } of newestFirst(client, conditions, undefined, { mostAtATime: 1 })) {
    listed.push(videoIdIn('reader', workflowId));
  }
  expect(listed).toEqual(ids);
  await held.cancel();
});

describe('keys', () => {
  const ID = '{id}';
  /** A call of every route that names a video. */
  const ROUTES: [method: string, path: string, body?: object][] = [
    ['GET', `/v1/videos/${ID}`],
    ['GET', `/v1/videos/${ID}/content`],
    ['HEAD', `/v1/videos/${ID}/content`],
    ['GET', `/v1/videos/${ID}/events`],
    ['POST', `/v1/videos/${ID}/decision`, { decision: 'abandon' }],
    ['GET', `/v1/videos?after=${ID}`],
    ['POST', `/v1/videos/${ID}/token`],
    ['DELETE', `/v1/videos/${ID}`],
  ];
  const NOBODYS = 'video_00000000000000000000000000000000';

  const ask = async ([method, path, body]: (typeof ROUTES)[number], id: string, key: string) => {
    const answer = await call(path.replace(ID, id), { method, key, ...(body && { body }) });
    return [method, path, answer.status, await answer.text()];
  };

  test('one key cannot read, list, watch, decide, cancel or download the video of another: it is as if there were none', async () => {
    const { id } = await made();
    for (const route of ROUTES) {
      const [nobodys, another] = await Promise.all([NOBODYS, id].map((one) => ask(route, one, press.key)));
      expect(another).toEqual([
        route[0],
        route[1],
        404,
        route[0] === 'HEAD' ? '' : expect.stringContaining('no_such_video'),
      ]);
      expect(another).toEqual(nobodys);
    }
    const list = JSON.parse(await (await call('/v1/videos?limit=100', { key: press.key })).text());
    expect(list.data.map((video: VideoObject) => video.id)).not.toContain(id);
    // Nothing has happened to it.
    expect(await videoIn(await call(`/v1/videos/${id}`))).toMatchObject({ status: 'completed' });
  });

  test('the table above has every documented route that names a video', async () => {
    const { paths } = JSON.parse(await (await call('/openapi.json')).text());
    const documented = Object.entries<object>(paths).flatMap(([path, methods]) =>
      path.includes(ID) ? Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`) : [],
    );
    const tested = ROUTES.map(([method, path]) => `${method} ${path}`);
    expect(documented.filter((route) => !tested.includes(route))).toEqual([]);
  });

  test('a token shows its video alone, on every gateway and until its key is removed, and does nothing else', async () => {
    const { id } = await made();
    const other = await made();
    const { token } = JSON.parse(await (await call(`/v1/videos/${id}/token`, { method: 'POST' })).text());
    const second = await startGateway();
    const reads = ['', '/content', '/events'].map((part) => `/v1/videos/${id}${part}?token=${token}`);
    const statuses = (paths: string[], method = 'GET') =>
      Promise.all(
        paths.map(async (path) => {
          const answer = await call(path, { method, key: '', url: second.url });
          await answer.body?.cancel();
          return answer.status;
        }),
      );
    expect(await statuses(reads)).toEqual([200, 200, 200]);
    const refused = [
      ...(await statuses(reads.map((path) => path.replace(id, other.id)))),
      ...(await statuses([`/v1/videos?token=${token}`])),
      ...(await statuses([`/v1/videos/${id}?token=${token}`], 'DELETE')),
      ...(await statuses([`/v1/videos/${id}/decision?token=${token}`], 'POST')),
      ...(await statuses([`/v1/videos/${id}/token?token=${token}`], 'POST')),
    ];
    expect(new Set(refused)).toEqual(new Set([401]));
    const withBearer = await call(`/v1/videos/${id}`, { key: token });
    expect(withBearer.status).toBe(401);
    env.emulator.next('submit', { kind: 'reset' });
    const held = await post(FOX);
    const forHeld = await call(`/v1/videos/${held.id}/token`, { method: 'POST' });
    const query = `?token=${JSON.parse(await forHeld.text()).token}`;
    const stream = call(`/v1/videos/${held.id}/events${query}`, { key: '' });
    expect((await stream).status).toBe(200);
    allow(press, former, reader);
    expect(await statuses(reads)).toEqual([401, 401, 401]);
    // It ends, although its video goes on.
    expect(await (await stream).text()).not.toMatch(/video\.(completed|failed)/);
    allow(shop, press, former, reader);
    await second.close();
  });

  test('a missing, a wrong and a revoked key are one 401 on every route, without a hint which', async () => {
    expect((await call('/v1/videos', { key: former.key })).status).toBe(200);
    allow(shop, press);
    const routes: typeof ROUTES = [
      ...ROUTES.filter(([method]) => method !== 'HEAD'),
      ['POST', '/v1/videos', FOX],
      ['POST', '/v1/videos/text-to-video', FOX],
      ['GET', '/v1/videos'],
    ];
    const keys = ['', 'vgk_wrong', former.key];
    const answers = await Promise.all(
      keys.flatMap((key) => routes.map(async (route) => (await ask(route, NOBODYS, key)).slice(2))),
    );
    expect(new Set(answers.map((answer) => answer.join(' ')))).toEqual(
      new Set([expect.stringMatching(/^401 .*"bad_key"/)]),
    );
  });
});

test('a gateway whose port is taken says so in one sentence', async () => {
  const taken = Number(new URL(gateway.url).port);
  const starting = createVideoGateway({ env: settings(), client: env.temporal.client, port: taken });
  await expect(starting).rejects.toThrow(
    `The gateway cannot listen on 127.0.0.1, port ${taken} (EADDRINUSE): give it another port or address.`,
  );
});

testAtNight('the page of the documentation shows what its commands print', async () => {
  const [makesKey, ...others] = commandsOf(readPage('gateway.md'));
  const terminal = new FakeTerminal();
  const file = join(folder, 'gateway-keys');
  await run([...(makesKey?.command ?? '').split(' ').slice(1, 3), '--file', file], terminal);
  if (makesKey) expectShown(makesKey, `${terminal.stderr}${terminal.stdout}`.replace(file, 'gateway-keys'));
  const variables = { GATEWAY: gateway.url, KEY: shop.key, ID: (await made()).id };
  const shown = others.filter(({ command }) => command.startsWith('curl '));
  expect(shown.length).toBeGreaterThan(7);
  for (const one of shown) {
    const env = { PATH: process.env.PATH, ...variables };
    const { stdout } = await promisify(execFile)('bash', ['-c', one.command], { cwd: folder, env });
    expectShown(one, stdout);
  }
});

// The suite has the bounds one by one, in test/gateway.
testAtNight(
  'a gateway that is attacked through its sockets keeps its memory, and no stream or file is left',
  async () => {
    const program = join(__dirname, '../doors/run.cjs');
    const attack = promisify(execFile)(process.execPath, [program, '--short']);
    // What was printed says which attack it was.
    const printed = await attack.then(
      ({ stdout }) => stdout,
      ({ stdout, stderr }) => `failed\n${stdout}${stderr}`,
    );
    expect(printed).not.toMatch(/^failed/);
  },
  180_000,
);
