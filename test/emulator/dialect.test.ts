import type { Emulator, EmulatorOptions } from '../../src/testing';
import type { Dialect } from '../../src/testing/dialect';
import { startEmulator } from '../../src/testing/emulator';

/** A service with its own paths, header for the key, ids, words and errors under HTTP 200. */
const TICKETS: Dialect = {
  routes: [
    {
      method: 'POST',
      path: /^\/tickets$/,
      call: 'submit',
      keyIn: (headers) => headers['x-key']?.toString(),
      read: (body) => {
        const text: unknown = Reflect.get(Object(body), 'text');
        return typeof text === 'string'
          ? { ok: true, request: { prompt: text } }
          : { ok: false, problem: 'text is missing' };
      },
    },
    { method: 'GET', path: /^\/ticket$/, idIn: 'no', call: 'status' },
    {
      method: 'GET',
      path: /^\/tapes\/([^/]+)$/,
      idOf: (taskId) => `tape-${taskId}`,
      call: 'retrieve',
      answer: ({ videoUrl }) => ({ body: { tape: videoUrl ?? null } }),
    },
    { method: 'GET', path: /^\/reels\/([^/]+)$/, call: 'download' },
  ],
  idOf: (taskId) => taskId.replace('task_', 'no-'),
  accepted: ({ id }) => ({ status: 201, body: `{"ticket": 1234567890123456789, "no": "${id}"}` }),
  status: ({ id, state, word, error, cost }) => ({ body: { no: id, phase: word ?? state, error, cost } }),
  refused: ({ code, message }) => ({ status: 200, body: { code, message } }),
  refusedContent: (stage) => ({ at: 'task', code: `no-${stage}`, message: 'not this' }),
};

let nowMs: number;
let emulator: Emulator;
const start = async (options: EmulatorOptions = {}) => {
  nowMs = 0;
  const clock = () => nowMs;
  emulator = await startEmulator({
    dialect: TICKETS,
    jobTimeMs: 1_000,
    videoBytes: 10_000,
    clock,
    ...options,
  });
};
afterEach(() => emulator.close());

const ask = async (path: string, init: RequestInit = {}) => {
  const headers = { authorization: `Bearer ${emulator.apiKey}`, ...init.headers };
  const response = await fetch(emulator.url + path, { ...init, headers });
  return { status: response.status, text: await response.text() };
};
const post = (body: object, headers: Record<string, string> = { 'x-key': emulator.apiKey }) =>
  ask('/tickets', { method: 'POST', body: JSON.stringify(body), headers });
const submit = async () => {
  await post({ text: 'A red fox' });
  const task = emulator.generations().at(-1);
  return { taskId: task?.taskId ?? '', id: task ? emulator.idOf(task) : '' };
};

describe('in a dialect of its own', () => {
  beforeEach(() => start());

  it('a submit is read and answered in the words of the service', async () => {
    const { status, text } = await post({ text: 'A red fox' });
    const [task] = emulator.generations();
    expect(task?.request).toEqual({ prompt: 'A red fox' });
    expect([status, text]).toEqual([
      201,
      `{"ticket": 1234567890123456789, "no": "${task && emulator.idOf(task)}"}`,
    ]);
  });

  it.each<
    [what: string, body: object, headers: Record<string, string> | undefined, code: string, message: string]
  >([
    ['a wrong body', { prompt: 'A red fox' }, undefined, 'invalid_request', 'text is missing'],
    [
      'a missing key',
      {},
      { authorization: 'Bearer emulator-key' },
      'unauthorized',
      'the API key is missing or invalid',
    ],
  ])('%s is refused with the status of the service', async (_what, body, headers, code, message) => {
    const { status, text } = await post(body, headers);
    expect([status, JSON.parse(text)]).toEqual([200, { code, message }]);
    expect(emulator.generations()).toEqual([]);
  });

  it('a scripted refusal keeps its own status', async () => {
    emulator.next('submit', { kind: 'server-error', status: 503 });
    expect((await post({ text: 'A red fox' })).status).toBe(503);
  });

  it('a task is found by the id of the dialect, and its video by each of its calls', async () => {
    const { taskId, id } = await submit();
    expect((await ask(`/ticket?no=${taskId}`)).text).toContain('no such task');
    expect(JSON.parse((await ask(`/ticket?no=${id}`)).text)).toEqual({ no: id, phase: 'queued' });
    expect(await ask(`/reels/${id}`)).toMatchObject({
      status: 200,
      text: expect.stringContaining('not_ready'),
    });
    expect((await ask(`/tapes/tape-${taskId}`)).text).toBe('{"tape":null}');
    nowMs = 1_000;
    const { tape } = JSON.parse((await ask(`/tapes/tape-${taskId}`)).text);
    const video = await emulator.video(id);
    for (const link of [tape, `${emulator.url}/reels/${id}`]) {
      const response = await fetch(link, { headers: { authorization: `Bearer ${emulator.apiKey}` } });
      expect(video.equals(Buffer.from(await response.arrayBuffer()))).toBe(true);
    }
    expect(emulator.calls.slice(-4)).toMatchObject([
      { call: 'retrieve' },
      { call: 'retrieve' },
      { call: 'download' },
      { call: 'download' },
    ]);
  });

  it('its calls meet faults', async () => {
    emulator.next('submit', { kind: 'refused-content', stage: 'image' });
    const { id, taskId } = await submit();
    emulator.next('status', { kind: 'unknown-state', word: 7 });
    emulator.next('retrieve', { kind: 'reset' });
    expect(JSON.parse((await ask(`/ticket?no=${id}`)).text)).toMatchObject({ phase: 7 });
    await expect(ask(`/tapes/tape-${taskId}`)).rejects.toThrow();
    nowMs = 1_000;
    expect(JSON.parse((await ask(`/ticket?no=${id}`)).text)).toMatchObject({
      phase: 'failed',
      error: { code: 'no-image', message: 'not this', refuses: 'image' },
    });
  });
});

it.each([
  ['succeeded', undefined, 0.25],
  ['failed', { kind: 'failed-task', code: 'c', message: 'm' }, 0],
] as const)('a task that has %s says what it cost, if the emulator charges', async (status, fault, cost) => {
  await start({ dialect: undefined, charge: 0.25 });
  if (fault) emulator.next('submit', fault);
  await ask('/v1/videos/text-to-video', { method: 'POST', body: '{"prompt":"A red fox"}' });
  const poll = async () => JSON.parse((await ask(`/v1/videos/${emulator.generations()[0]?.taskId}`)).text);
  expect(await poll()).not.toHaveProperty('cost_usd');
  nowMs = 1_000;
  expect(await poll()).toMatchObject({ status, cost_usd: cost });
});
