import type { Emulator, Faults } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import type { AnswerFault } from '../../src/testing/faults';

const TEXT = '/v1/videos/text-to-video';
const FOX = JSON.stringify({ prompt: 'A red fox' });

let emulator: Emulator;
let nowMs: number;
beforeEach(async () => {
  nowMs = 0;
  emulator = await startEmulator({ jobTimeMs: 1_000, videoBytes: 10_000, clock: () => nowMs });
});
afterEach(() => emulator.close());

const authorized = (init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { authorization: `Bearer ${emulator.apiKey}`, 'content-type': 'application/json' },
});
const submit = (body = FOX) => fetch(emulator.url + TEXT, authorized({ method: 'POST', body }));
const poll = (taskId: string) => fetch(`${emulator.url}/v1/videos/${taskId}`, authorized());

async function makeTask(): Promise<string> {
  return Reflect.get(Object(await (await submit()).json()), 'task_id');
}
async function makeLink(): Promise<string> {
  const taskId = await makeTask();
  nowMs += 1_000;
  return Reflect.get(Object(await (await poll(taskId)).json()), 'video_url');
}

/** The three calls that every service has. */
const CALLS: [call: keyof Faults, prepare: () => Promise<() => Promise<Response>>][] = [
  ['submit', async () => () => submit()],
  [
    'status',
    async () => {
      const taskId = await makeTask();
      return () => poll(taskId);
    },
  ],
  [
    'download',
    async () => {
      const link = await makeLink();
      return () => fetch(link);
    },
  ],
];

const ANSWERS: [what: string, fault: AnswerFault, status: number, body: string, retryAfter: string | null][] =
  [
    ['a 429', { kind: 'rate-limited' }, 429, 'too many requests', null],
    ['a 429 with seconds', { kind: 'rate-limited', retryAfter: 7 }, 429, 'too many requests', '7'],
    [
      'a 429 with a date',
      { kind: 'rate-limited', retryAfter: new Date(Date.UTC(2026, 10, 15, 12)) },
      429,
      'too many requests',
      'Sun, 15 Nov 2026 12:00:00 GMT',
    ],
    ['a 500', { kind: 'server-error' }, 500, 'internal server error', null],
    ['a 503', { kind: 'server-error', status: 503 }, 503, 'internal server error', null],
    [
      'a scripted refusal',
      { kind: 'refused', status: 418, code: 'teapot', message: 'short and stout' },
      418,
      '{"error":{"code":"teapot","message":"short and stout"}}',
      null,
    ],
    ['broken JSON', { kind: 'bad-json' }, 200, '{"task_id": "tas', null],
    ['an empty 200', { kind: 'empty' }, 200, '', null],
    ['an empty 404', { kind: 'empty', status: 404 }, 404, '', null],
    ['an empty 202', { kind: 'empty', status: 202 }, 202, '', null],
  ];

describe.each(CALLS)('the next %s', (call, prepare) => {
  it.each(ANSWERS)(
    'gets %s, and the one after it a normal answer',
    async (_what, fault, status, body, retryAfter) => {
      const send = await prepare();
      emulator.next(call, fault);
      expect(emulator.scriptIsSpent()).toBe(false);
      const answer = await send();
      expect(emulator.scriptIsSpent()).toBe(true);
      expect(answer.status).toBe(status);
      expect(answer.headers.get('retry-after')).toBe(retryAfter);
      expect(await answer.text()).toEqual(body === '' ? '' : expect.stringContaining(body));
      expect((await send()).status).toBe(200);
    },
  );

  it('loses its connection, but not the one after it', async () => {
    const send = await prepare();
    emulator.next(call, { kind: 'reset' });
    await expect(send()).rejects.toThrow();
    expect((await send()).status).toBe(200);
  });

  it('gets no answer until the emulator is closed', async () => {
    const send = await prepare();
    emulator.next(call, { kind: 'hang' });
    // Either of the two may arrive first and hang.
    const both = [send(), send()];
    expect((await Promise.race(both)).status).toBe(200);
    await emulator.close();
    const ends = await Promise.allSettled(both);
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const answered = emulator.calls.slice(-2).map(({ status }) => status);
    expect(answered.sort()).toEqual([200, undefined]);
  });

  it.each<[recorded: string, fault: AnswerFault, status: number | undefined]>([
    ['no status after a reset', { kind: 'reset' }, undefined],
    ['the status whose headers were cut', { kind: 'cut-headers' }, 200],
    ['the status whose body was cut', { kind: 'cut-body' }, 200],
    ['the status of an empty answer', { kind: 'empty', status: 203 }, 203],
    ['the status of a refusal', { kind: 'refused', status: 409, message: 'no' }, 409],
  ])('is recorded with %s', async (_recorded, fault, status) => {
    const send = await prepare();
    emulator.next(call, fault);
    await send()
      .then((answer) => answer.text())
      .catch(() => undefined);
    expect(emulator.calls.at(-1)).toMatchObject({ call, status });
  });

  it('can get its correct answer late', async () => {
    const send = await prepare();
    if (call !== 'cancel' && call !== 'retrieve') emulator.next(call, { kind: 'late', ms: 200 });
    const before = performance.now();
    expect((await send()).status).toBe(200);
    expect(performance.now() - before).toBeGreaterThan(195);
    expect(emulator.scriptIsSpent()).toBe(true);
  });

  it('meets faults in the order of the script', async () => {
    const send = await prepare();
    emulator.next(call, { kind: 'server-error', status: 500 }, { kind: 'server-error', status: 502 });
    emulator.next(call, { kind: 'server-error', status: 503 });
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await send()).status);
    expect(statuses).toEqual([500, 502, 503, 200]);
  });

  it('does not meet the faults of other calls', async () => {
    const send = await prepare();
    for (const [other] of CALLS) if (other !== call) emulator.next(other, { kind: 'server-error' });
    expect((await send()).status).toBe(200);
    expect(emulator.scriptIsSpent()).toBe(false);
  });
});

describe('a submit', () => {
  it.each<[what: string, fault: Faults['submit']]>([
    ['refused with a 429', { kind: 'rate-limited' }],
    ['refused with a 500', { kind: 'server-error' }],
    ['refused with a 400', { kind: 'refused', status: 400, message: 'no' }],
  ])('%s is not a paid generation', async (_what, fault) => {
    emulator.next('submit', fault);
    await submit();
    expect(emulator.generations()).toHaveLength(0);
    expect(emulator.calls).toHaveLength(1);
  });

  it.each<[what: string, fault: Faults['submit']]>([
    ['whose connection is lost', { kind: 'reset' }],
    ['whose answer is broken', { kind: 'bad-json' }],
    ['whose answer is cut in its headers', { kind: 'cut-headers' }],
    ['whose answer is cut in its body', { kind: 'cut-body' }],
    ['whose answer is empty', { kind: 'empty' }],
    ['whose answer is an empty 202', { kind: 'empty', status: 202 }],
    ['whose task will fail', { kind: 'failed-task', code: 'c', message: 'm' }],
  ])('%s is a paid generation', async (_what, fault) => {
    emulator.next('submit', fault);
    await submit().catch(() => undefined);
    expect(emulator.generations()).toMatchObject([{ request: { prompt: 'A red fox' } }]);
  });

  it('that hangs is a paid generation', async () => {
    emulator.next('submit', { kind: 'hang' });
    const both = [submit(), submit()];
    await Promise.race(both);
    await emulator.close();
    await Promise.allSettled(both);
    expect(emulator.generations()).toHaveLength(2);
  });

  it('that gets a late answer gets its own task', async () => {
    emulator.next('submit', { kind: 'late', ms: 1 });
    const taskId = await makeTask();
    expect(emulator.generations()).toMatchObject([{ taskId }]);
  });

  it('that gets a late answer makes its task before the answer', async () => {
    emulator.next('submit', { kind: 'late', ms: 600_000 });
    const both = [submit(), submit()];
    await Promise.race(both);
    expect(emulator.generations()).toHaveLength(2);
    await emulator.close();
    const ends = await Promise.allSettled(both);
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('that is invalid is refused as such, before any scripted fault', async () => {
    emulator.next('submit', { kind: 'reset' });
    expect((await submit('{}')).status).toBe(400);
    expect(emulator.generations()).toHaveLength(0);
  });
});

describe('a task', () => {
  const failure = { code: 'nsfw', message: 'Not this.' };
  const view = async (taskId: string): Promise<unknown> => (await poll(taskId)).json();

  it('whose submit met failed-task runs for its job time, then fails for good', async () => {
    emulator.next('submit', { kind: 'failed-task', ...failure });
    const taskId = await makeTask();
    nowMs = 500;
    expect(await view(taskId)).toEqual({ task_id: taskId, status: 'running', progress: 50 });
    nowMs = 1_000;
    expect(await view(taskId)).toEqual({ task_id: taskId, status: 'failed', error: failure });
    expect(await view(taskId)).toEqual({ task_id: taskId, status: 'failed', error: failure });
  });

  it('whose poll met failed-task has failed at once and for good', async () => {
    const taskId = await makeTask();
    emulator.next('status', { kind: 'failed-task', ...failure });
    for (nowMs of [0, 500, 2_000]) {
      expect(await view(taskId)).toEqual({ task_id: taskId, status: 'failed', error: failure });
    }
  });

  it('can be in an unknown state, once', async () => {
    const taskId = await makeTask();
    emulator.next('status', { kind: 'unknown-state', word: 'brewing' });
    expect(await view(taskId)).toEqual({ task_id: taskId, status: 'brewing' });
    expect(await view(taskId)).toMatchObject({ status: 'queued' });
  });

  it('can have succeeded without a video yet', async () => {
    const taskId = await makeTask();
    nowMs = 1_000;
    emulator.next('status', { kind: 'no-video' });
    expect(await view(taskId)).toEqual({ task_id: taskId, status: 'succeeded' });
    expect(await view(taskId)).toHaveProperty('video_url');
  });
});

describe('a download', () => {
  it('that is cut announces the whole length and ends early', async () => {
    const link = await makeLink();
    emulator.next('download', { kind: 'cut', afterBytes: 4_000 });
    const response = await fetch(link);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-length')).toBe('10000');
    await expect(response.arrayBuffer()).rejects.toThrow();
  });

  it('that stalls sends the set number of bytes and no more', async () => {
    const link = await makeLink();
    emulator.next('download', { kind: 'stall', afterBytes: 4_000 });
    const response = await fetch(link);
    const reader = response.body?.getReader();
    let bytes = 0;
    while (bytes < 4_000) bytes += (await reader?.read())?.value?.length ?? 0;
    expect(bytes).toBe(4_000);
    const rest = expect(reader?.read()).rejects.toThrow();
    await emulator.close();
    await rest;
  });

  it('can be a web page with status 200', async () => {
    const link = await makeLink();
    emulator.next('download', { kind: 'web-page' });
    const response = await fetch(link);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html']);
    expect(await response.text()).toContain('expired');
  });
});
