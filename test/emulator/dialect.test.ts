import type { Dialect } from '../../src/testing/dialect';
import { clock, FOX, fetchFile, start } from './service-client';

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

async function startTickets() {
  const { emulator } = await start({ dialect: TICKETS });
  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${emulator.apiKey}`, ...init.headers };
    const { status, bytes } = await fetchFile(emulator.url + path, { ...init, headers });
    return { status, text: bytes.toString() };
  };
  const post = (body: object, headers: Record<string, string> = { 'x-key': emulator.apiKey }) =>
    ask('/tickets', { method: 'POST', body: JSON.stringify(body), headers });
  const submit = async () => {
    await post({ text: 'A red fox' });
    const task = emulator.generations().at(-1);
    return { taskId: task?.taskId ?? '', id: task ? emulator.idOf(task) : '' };
  };
  return { emulator, ask, post, submit };
}

describe('in a dialect of its own', () => {
  it('a submit is read and answered in the words of the service', async () => {
    const { emulator, post } = await startTickets();
    const { status, text } = await post({ text: 'A red fox' });
    const [task] = emulator.generations();
    expect(task?.request).toEqual({ prompt: 'A red fox' });
    expect([status, text]).toEqual([
      201,
      `{"ticket": 1234567890123456789, "no": "${task && emulator.idOf(task)}"}`,
    ]);
  });

  it('a task is found by the id of the dialect, and its video by each of its calls', async () => {
    const { emulator, ask, submit } = await startTickets();
    const { taskId, id } = await submit();
    expect((await ask(`/ticket?no=${taskId}`)).text).toContain('no such task');
    expect(JSON.parse((await ask(`/ticket?no=${id}`)).text)).toEqual({ no: id, phase: 'queued' });
    expect(await ask(`/reels/${id}`)).toMatchObject({
      status: 200,
      text: expect.stringContaining('not_ready'),
    });
    expect((await ask(`/tapes/tape-${taskId}`)).text).toBe('{"tape":null}');
    clock.nowMs = 1_000;
    const { tape } = JSON.parse((await ask(`/tapes/tape-${taskId}`)).text);
    const video = await emulator.video(id);
    for (const link of [tape, `${emulator.url}/reels/${id}`]) {
      const headers = { authorization: `Bearer ${emulator.apiKey}` };
      expect((await fetchFile(link, { headers })).bytes.equals(video)).toBe(true);
    }
    expect(emulator.calls.slice(-4)).toMatchObject([
      { call: 'retrieve' },
      { call: 'retrieve' },
      { call: 'download' },
      { call: 'download' },
    ]);
  });

  it('its calls meet faults', async () => {
    const { emulator, ask, submit } = await startTickets();
    emulator.next('submit', { kind: 'refused-content', stage: 'image' });
    const { id, taskId } = await submit();
    emulator.next('status', { kind: 'unknown-state', word: 7 });
    emulator.next('retrieve', { kind: 'reset' });
    expect(JSON.parse((await ask(`/ticket?no=${id}`)).text)).toMatchObject({ phase: 7 });
    await expect(ask(`/tapes/tape-${taskId}`)).rejects.toThrow();
    clock.nowMs = 1_000;
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
  const { emulator, makeTask, viewOf } = await start({ charge: 0.25 });
  if (fault) emulator.next('submit', fault);
  const taskId = await makeTask(FOX);
  expect(await viewOf(taskId)).not.toHaveProperty('cost_usd');
  clock.nowMs = 1_000;
  expect(await viewOf(taskId)).toMatchObject({ status, cost_usd: cost });
});
