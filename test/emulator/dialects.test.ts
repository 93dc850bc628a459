import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readingRules } from '../../src/service';
import { builtInProfile } from '../../src/service/built-in-profiles';
import { traceAnswer } from '../../src/service/read-answer';
import {
  DIALECT_NAMES,
  type Emulator,
  type EmulatorOptions,
  startEmulator,
} from '../../src/testing/emulator';
import { ANSWERS, FAILURE } from './dialect-answers';

const FOX = { prompt: 'A red fox' };
let nowMs: number;
let emulator: Emulator;

async function start(options: EmulatorOptions): Promise<void> {
  nowMs = 0;
  emulator = await startEmulator({
    jobTimeMs: 1_000,
    videoBytes: 10_000,
    clock: () => nowMs,
    cancelling: true,
    ...options,
  });
}
afterEach(() => emulator.close());

async function call(path: string, { key = emulator.apiKey, ...init }: RequestInit & { key?: string } = {}) {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(emulator.url + path, { ...init, headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text && readJson(text) };
}
/** As clients do that can read large integers. */
const readJson = (text: string): unknown => JSON.parse(text.replace(/(?<=:)\d{16,}/g, '"$&"'));

/** The value at a path, also inside strings that hold JSON. */
function at(value: unknown, path: string): unknown {
  return path.split('.').reduce((inner: unknown, key) => {
    const holder = typeof inner === 'string' ? JSON.parse(inner) : inner;
    return Reflect.get(Object(holder), key);
  }, value);
}

const post = (body: object = FOX, path = 'text-to-video', key?: string) =>
  call(`/v1/videos/${path}`, { method: 'POST', body: JSON.stringify(body), key });
const poll = (id: string) => call(`/v1/videos/${encodeURIComponent(id)}`);

describe.each(DIALECT_NAMES)('in the dialect %s', (dialect) => {
  const answers = ANSWERS[dialect];
  beforeEach(() => start({ dialect }));

  const submit = async (): Promise<string> => String(at((await post()).body, answers.idAt));

  async function expectPoll(id: string, expected: ReturnType<(typeof answers)['queued']>): Promise<void> {
    const [status, body] = Array.isArray(expected) ? expected : [200, expected];
    const answer = await poll(id);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/json');
    if (body === '') expect(answer.text).toBe('');
    else expect(answer.body).toMatchObject(body);
  }

  it.each(['text-to-video', 'image-to-video'])(
    'a submit to %s is accepted and names its task',
    async (path) => {
      const { status, body } = await post({ ...FOX, image_url: 'https://example.com/fox.png' }, path);
      expect(status).toBe(answers.submitStatus ?? 200);
      const id = String(at(body, answers.idAt));
      expect(id).toMatch(answers.id);
      expect(body).toMatchObject(answers.submitted(id));
      expect(emulator.generations().map((task) => emulator.idOf(task))).toEqual([id]);
    },
  );

  it('an ended task says what it cost, if it is asked to, where the service is read', async () => {
    await emulator.close();
    await start({ dialect, charge: 0.25 });
    const rules = readingRules(builtInProfile(dialect) ?? {});
    const chargeIn = async () => traceAnswer({ status: 200, body: (await poll(id)).text }, rules).charged;
    const id = await submit();
    expect(await chargeIn()).toBeUndefined();
    nowMs = 1_000;
    expect(await chargeIn()).toEqual({ amount: 0.25, currency: 'USD' });
  });

  it('a task is queued, then running, then succeeded', async () => {
    const id = await submit();
    await expectPoll(id, answers.queued(id));
    nowMs = 420;
    await expectPoll(id, answers.running(id));
    expect((await poll(id)).text).not.toContain('/files/');
    nowMs = 1_000;
    await expectPoll(id, answers.succeeded(id));
  });

  it('clients get the video as they do from such a service', async () => {
    const id = await submit();
    nowMs = 1_000;
    const { body, text } = await poll(id);
    const fetchers: Partial<Record<typeof dialect, () => Promise<Response>>> = {
      openai: () =>
        fetch(`${emulator.url}/v1/videos/${id}/content`, {
          headers: { authorization: `Bearer ${emulator.apiKey}` },
        }),
      minimax: async () => {
        const file = await call(`/v1/files/retrieve?file_id=${at(body, 'file_id')}`);
        return fetch(String(at(file.body, 'file.download_url')));
      },
    };
    if (answers.videoAt === undefined) expect(text).not.toContain('/files/');
    const link = new URL(String(at(body, answers.videoAt ?? '')), emulator.url);
    const response = await (fetchers[dialect] ?? (() => fetch(link)))();
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'video/mp4']);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.equals(await emulator.video(id))).toBe(true);
    expect(emulator.calls.at(-1)).toMatchObject({ call: 'download', status: 200 });
  });

  it('the other links beside the video answer 404, and the call is recorded', async () => {
    const id = await submit();
    nowMs = 1_000;
    const { body } = await poll(id);
    for (const path of answers.decoysAt ?? []) {
      const link = String(at(body, path));
      expect(link).toMatch(new RegExp(`^${emulator.url}/stills/`));
      await fetch(link);
      expect(emulator.calls.at(-1)).toMatchObject({
        call: 'other',
        path: new URL(link).pathname,
        status: 404,
      });
    }
  });

  it('a failed task has its reason', async () => {
    emulator.next('submit', { kind: 'failed-task', ...FAILURE });
    const id = await submit();
    nowMs = 1_000;
    await expectPoll(id, answers.failed(id));
    const later = await submit();
    emulator.next('status', { kind: 'failed-task', ...FAILURE });
    await expectPoll(later, answers.failed(later));
  });

  it('a cancelled task is cancelled, or failed if the dialect has no word for it', async () => {
    const id = await submit();
    const { status } = await call(`/v1/videos/${encodeURIComponent(id)}`, { method: 'DELETE' });
    expect(status).toBe(200);
    await expectPoll(id, answers.cancelled(id));
  });

  it('refusals have the shape and the status of the dialect', async () => {
    await emulator.close();
    await start({ dialect, concurrentTasks: 1 });
    await submit();
    const { badRequest, unauthorized, notFound, tooMany } = answers.refusals;
    const refused = [
      [await post({}), badRequest, 'prompt is missing'],
      [await post(FOX, 'image-to-video'), badRequest, 'image_url is missing'],
      [await post(FOX, 'text-to-video', 'wrong'), unauthorized, 'the API key is missing or invalid'],
      [await poll('no-such-task'), notFound, 'no such task'],
      [await post(), tooMany, 'too many tasks at once: the limit is 1'],
    ] as const;
    for (const [answer, [status, body], message] of refused) {
      expect([answer.status, answer.body]).toEqual([status, expect.objectContaining({})]);
      expect(answer.body).toMatchObject(Object(body(message)));
    }
    expect(emulator.generations()).toHaveLength(1);
  });

  it('a scripted refusal has the shape of the dialect and the scripted status', async () => {
    const id = await submit();
    emulator.next('submit', { kind: 'rate-limited', retryAfter: 7 });
    emulator.next(
      'status',
      { kind: 'server-error', status: 503 },
      { kind: 'refused', status: 418, message: 'tea' },
    );
    const limited = await post();
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '7']);
    expect(limited.text).toContain('too many requests');
    expect((await poll(id)).status).toBe(503);
    const teapot = await poll(id);
    expect([teapot.status, teapot.text]).toEqual([418, expect.stringContaining('tea')]);
    expect(emulator.scriptIsSpent()).toBe(true);
  });

  it('a scripted word and a missing video have the shape of the dialect', async () => {
    const id = await submit();
    emulator.next('status', { kind: 'unknown-state', word: 'brewing' }, { kind: 'no-video' });
    expect((await poll(id)).text).toContain('brewing');
    const { status, text } = await poll(id);
    expect([status, text]).toEqual([200, expect.not.stringContaining('/files/')]);
  });

  it('answers can be lost as in any other', async () => {
    emulator.next('submit', { kind: 'reset' }, { kind: 'cut-body' });
    for (let i = 0; i < 2; i++) await expect(post()).rejects.toThrow();
    expect(emulator.generations()).toHaveLength(2);
  });

  it('an invalid link is refused with HTTP 403, even if the service puts errors under 200', async () => {
    await submit();
    const [task] = emulator.generations();
    const { status } = await fetch(`${emulator.url}/files/${task?.taskId}.mp4?signature=wrong`);
    expect(status).toBe(403);
  });

  it('a task is found only by its id in the dialect', async () => {
    const id = await submit();
    const [own = ''] = emulator.generations().map(({ taskId }) => taskId);
    expect((await emulator.video(own)).equals(await emulator.video(id))).toBe(true);
    const known = (await poll(own)).text === (await poll(id)).text;
    expect(known).toBe(own === id);
  });
});

describe('an id of PixVerse', () => {
  beforeEach(() => start({ dialect: 'pixverse' }));

  it('is a number that JSON.parse rounds to another', async () => {
    for (let i = 0; i < 20; i++) {
      const { text } = await post();
      const [, id = ''] = /"video_id":(\d{18})\}/.exec(text) ?? [];
      expect((await poll(id)).text).toContain(`"id":${id},`);
      // Beyond 2^53, all JavaScript numbers are even.
      expect(BigInt(id) % 2n).toBe(1n);
      const rounded = String(at(JSON.parse(text), 'Resp.video_id'));
      expect(rounded).not.toBe(id);
      expect(at((await poll(rounded)).body, 'ErrCode')).toBe(400018);
    }
  });
});

it.each([
  ['pixverse', 'Resp.status', 7],
  ['higgsfield', 'status', 'nsfw'],
  ['minimax', 'base_resp.status_code', 1026],
] as const)('%s has a special state for what its content filter stopped', async (dialect, path, word) => {
  await start({ dialect });
  await post();
  const id = emulator.generations().map((task) => emulator.idOf(task))[0] ?? '';
  emulator.next('status', { kind: 'failed-task', code: 'nsfw', message: 'Not this.' });
  expect(at((await poll(id)).body, path)).toBe(word);
});

it('an unknown number can be scripted if states are numbers', async () => {
  await start({ dialect: 'pixverse' });
  await post();
  emulator.next('status', { kind: 'unknown-state', word: 6 });
  const id = emulator.generations().map((task) => emulator.idOf(task))[0] ?? '';
  expect(at((await poll(id)).body, 'Resp.status')).toBe(6);
});

describe('an operation of Veo', () => {
  it('can be polled and cancelled with the slashes of its name encoded or not', async () => {
    await start({ dialect: 'veo' });
    const name = String(at((await post()).body, 'name'));
    expect((await call(`/v1/videos/${name}`)).body).toEqual({ name, done: false });
    expect((await call(`/v1/videos/${name.replaceAll('/', '%2f')}`)).body).toEqual({ name, done: false });
    expect(emulator.calls.slice(1)).toMatchObject([{ call: 'status' }, { call: 'status' }]);
    expect((await call(`/v1/videos/${name}`, { method: 'DELETE' })).body).toMatchObject({ done: true });
  });
});

describe('the content of OpenAI', () => {
  const content = (id: string, init = {}) => call(`/v1/videos/${id}/content`, init);
  let id: string;
  beforeEach(async () => {
    await start({ dialect: 'openai' });
    id = String(at((await post()).body, 'id'));
  });

  it('is refused without the key', async () => {
    nowMs = 1_000;
    expect((await content(id, { key: 'wrong' })).status).toBe(401);
  });

  it('is a 404 before it is ready, and for a failed or unknown task', async () => {
    expect((await content(id)).body).toMatchObject({ error: { code: 'not_ready' } });
    nowMs = 999;
    expect((await content(id)).status).toBe(404);
    emulator.next('status', { kind: 'failed-task', ...FAILURE });
    await poll(id);
    nowMs = 1_000;
    expect((await content(id)).status).toBe(404);
    expect((await content('video_0')).body).toMatchObject({ error: { code: 'not_found' } });
  });

  it('supports ranges and the faults of a download', async () => {
    nowMs = 1_000;
    const headers = { authorization: `Bearer ${emulator.apiKey}`, range: 'bytes=0-9' };
    expect((await fetch(`${emulator.url}/v1/videos/${id}/content`, { headers })).status).toBe(206);
    emulator.next('download', { kind: 'cut', afterBytes: 10 });
    await expect(content(id)).rejects.toThrow();
  });
});

describe('the files of MiniMax', () => {
  const retrieve = (fileId: unknown, key?: string) => call(`/v1/files/retrieve?file_id=${fileId}`, { key });
  let fileId: unknown;
  beforeEach(async () => {
    await start({ dialect: 'minimax' });
    const id = String(at((await post()).body, 'task_id'));
    nowMs = 1_000;
    fileId = at((await poll(id)).body, 'file_id');
  });

  it('are returned with their link, and with an id that is a number here', async () => {
    const { text, body } = await retrieve(fileId);
    expect(text).toContain(`"file_id":${fileId},`);
    expect(body).toEqual({
      file: {
        file_id: fileId,
        bytes: 10_000,
        created_at: 0,
        filename: 'output.mp4',
        purpose: 'video_generation',
        download_url: expect.stringContaining(`${emulator.url}/files/`),
      },
      base_resp: { status_code: 0, status_msg: 'success' },
    });
    expect(emulator.calls.at(-1)).toMatchObject({ call: 'retrieve', path: '/v1/files/retrieve' });
  });

  it('are refused without the key, before the video is ready, and for an unknown id', async () => {
    const codeOf = async (answer: ReturnType<typeof retrieve>) =>
      at((await answer).body, 'base_resp.status_code');
    expect(await codeOf(retrieve(fileId, 'wrong'))).toBe(1004);
    expect(await codeOf(retrieve('1'))).toBe(2013);
    expect(await codeOf(call('/v1/files/retrieve'))).toBe(2013);
    nowMs = 500;
    expect(await codeOf(retrieve(fileId))).toBe(2013);
  });

  it('have their own faults', async () => {
    emulator.next('retrieve', { kind: 'rate-limited' }, { kind: 'reset' });
    expect((await retrieve(fileId)).status).toBe(429);
    await expect(retrieve(fileId)).rejects.toThrow();
    expect((await retrieve(fileId)).status).toBe(200);
  });
});

it.each(['pixverse', 'minimax', 'veo'] as const)(
  'tasks from a file are found by their ids in %s after a restart of the emulator',
  async (dialect) => {
    const folder = mkdtempSync(join(tmpdir(), 'videogen-dialects-'));
    try {
      await start({ dialect, tasksFile: join(folder, 'tasks.jsonl') });
      await post();
      const id = emulator.generations().map((task) => emulator.idOf(task))[0] ?? '';
      const before = await poll(id);
      await emulator.close();
      await start({ dialect, tasksFile: join(folder, 'tasks.jsonl') });
      expect((await poll(id)).text).toBe(before.text);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

it('links of new-api are relative', async () => {
  await start({ dialect: 'new-api' });
  const id = String(at((await post()).body, 'task_id'));
  nowMs = 1_000;
  expect(at((await poll(id)).body, 'url')).toMatch(/^\/files\/task_/);
});

it.each(['default', 'ark', 'kling'] as const)(
  '%s has neither the content of OpenAI nor the files of MiniMax',
  async (dialect) => {
    await start({ dialect });
    for (const path of ['/v1/videos/a/content', '/v1/files/retrieve?file_id=1']) {
      expect((await call(path)).text).toContain('no such operation');
    }
  },
);
