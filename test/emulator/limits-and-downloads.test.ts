import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Faults } from '../../src/testing';
import { type Answer, clock, FOX, fetchFile, start, taskIdOf } from './service-client';

const statuses = (answers: Answer[]) => answers.map(({ status }) => status).sort();
const answerOf = ({ status, body }: Answer) => [status, body];
const FAILURE = { kind: 'failed-task', code: 'nsfw', message: 'Not this.' } as const;

describe('a service that can cancel', () => {
  const startCancelling = () => start({ cancelling: true, concurrentTasks: 1 });

  it('cancels a queued or running task for good, and accepts another in its place', async () => {
    const { emulator, makeTask, cancel, viewOf } = await startCancelling();
    for (const passed of [0, 500]) {
      const taskId = await makeTask();
      clock.nowMs += passed;
      const cancelled = { task_id: taskId, status: 'cancelled' };
      expect(answerOf(await cancel(taskId))).toEqual([200, cancelled]);
      clock.nowMs += 10_000;
      expect(await viewOf(taskId)).toEqual(cancelled);
    }
    expect(emulator.generations().map((task) => emulator.endOf(task))).toEqual([0, 10_500]);
    expect(emulator.calls.at(-2)).toMatchObject({ call: 'cancel', method: 'DELETE', status: 200 });
  });

  it.each(['succeeded', 'cancelled', 'failed'])(
    'answers HTTP 409 to a task that is %s, and leaves it so',
    async (how) => {
      const { emulator, makeTask, cancel, poll, viewOf } = await startCancelling();
      const taskId = await makeTask();
      if (how === 'succeeded') clock.nowMs += 1_000;
      if (how === 'cancelled') await cancel(taskId);
      if (how === 'failed') {
        emulator.next('status', FAILURE);
        await poll(taskId);
      }
      expect(answerOf(await cancel(taskId))).toEqual([
        409,
        { error: { code: 'task_over', message: `the task is over: it is ${how}` } },
      ]);
      expect(await viewOf(taskId)).toMatchObject({ status: how });
    },
  );

  it('cancels nothing for an unknown task, without the key, or if it refuses the call', async () => {
    const { emulator, makeTask, cancel, viewOf } = await startCancelling();
    const taskId = await makeTask();
    expect(answerOf(await cancel('no-such-task'))).toEqual([
      404,
      { error: { code: 'not_found', message: 'no such task' } },
    ]);
    expect((await cancel(taskId, { authorization: 'Bearer wrong' })).status).toBe(401);
    emulator.next('cancel', { kind: 'rate-limited' }, { kind: 'refused', status: 422, message: 'no' });
    expect([(await cancel(taskId)).status, (await cancel(taskId)).status]).toEqual([429, 422]);
    expect(await viewOf(taskId)).toMatchObject({ status: 'queued' });
  });

  it.each<Faults['cancel']>([
    { kind: 'reset' },
    { kind: 'cut-headers' },
    { kind: 'cut-body' },
    { kind: 'empty' },
  ])('has cancelled the task even if %j loses the answer', async (fault) => {
    const { emulator, makeTask, cancel, viewOf } = await startCancelling();
    const taskId = await makeTask();
    emulator.next('cancel', fault);
    await expect(cancel(taskId)).rejects.toThrow();
    expect(await viewOf(taskId)).toMatchObject({ status: 'cancelled' });
  });
});

it('a service without cancelling answers HTTP 404', async () => {
  const { emulator, makeTask, cancel, viewOf } = await start();
  const taskId = await makeTask();
  expect(await cancel(taskId)).toMatchObject({
    status: 404,
    body: { error: { message: `no such operation: DELETE /v1/videos/${taskId}` } },
  });
  expect(emulator.calls.at(-1)).toMatchObject({ call: 'other', method: 'DELETE', status: 404 });
  expect(await viewOf(taskId)).toMatchObject({ status: 'queued' });
});

describe('a service with a limit of two tasks at once', () => {
  const startLimited = () => start({ concurrentTasks: 2 });

  it('refuses the third submit with HTTP 429 and the reason, without Retry-After and without a task', async () => {
    const { emulator, submit, submitAll, poll } = await startLimited();
    const [first] = await submitAll(2);
    const refused = await submit();
    expect(answerOf(refused)).toEqual([
      429,
      { error: { code: 'concurrency_limit', message: 'too many tasks at once: the limit is 2' } },
    ]);
    expect(refused.headers).not.toHaveProperty('retry-after');
    expect(emulator.generations()).toHaveLength(2);
    expect(await poll(first ? taskIdOf(first) : '')).toMatchObject({
      status: 200,
      body: { status: 'queued' },
    });
  });
});

it('submits that arrive together never exceed the limit', async () => {
  const { emulator, submitAll } = await start({ concurrentTasks: 5 }, 12);
  expect(statuses(await submitAll(12))).toEqual([...Array(5).fill(200), ...Array(7).fill(429)]);
  expect(emulator.generations()).toHaveLength(5);
});

describe('an honoured idempotency key', () => {
  const startHonouring = () => start({ idempotencyKeys: 'honoured' });

  it('returns the same task for the same request, however late and in whatever order of fields', async () => {
    const { emulator, submit } = await startHonouring();
    const first = await submit({ ...FOX, seed: 7, duration: 5 }, 'k-1');
    clock.nowMs += 100_000;
    expect(answerOf(await submit({ duration: 5, seed: 7, ...FOX }, 'k-1'))).toEqual([200, first.body]);
    expect(emulator.generations()).toMatchObject([{ taskId: taskIdOf(first), idempotencyKey: 'k-1' }]);
    expect(emulator.calls).toHaveLength(2);
  });

  it.each([{ prompt: 'An owl' }, { ...FOX, seed: 7 }])(
    'is refused with HTTP 422 for another request, %j, without a task',
    async (other) => {
      const { emulator, submit } = await startHonouring();
      await submit(FOX, 'k-1');
      const message = 'the idempotency key was used for another request: a new request needs a new key';
      expect(answerOf(await submit(other, 'k-1'))).toEqual([
        422,
        { error: { code: 'idempotency_key_reused', message } },
      ]);
      expect(emulator.generations()).toHaveLength(1);
    },
  );

  it('makes one task of submits that arrive together', async () => {
    const { emulator, submit } = await start({ idempotencyKeys: 'honoured' }, 8);
    const answers = await Promise.all(Array.from({ length: 8 }, () => submit(FOX, 'k-1')));
    expect(new Set(answers.map(taskIdOf)).size).toBe(1);
    expect(emulator.generations()).toHaveLength(1);
  });

  it('finds the task whose answer was lost, even twice', async () => {
    const { emulator, submit } = await startHonouring();
    emulator.next('submit', { kind: 'reset' }, { kind: 'cut-body' });
    for (let i = 0; i < 2; i++) await expect(submit(FOX, 'k-1')).rejects.toThrow();
    expect((await submit(FOX, 'k-1')).status).toBe(200);
    expect(emulator.generations()).toHaveLength(1);
  });
});

it('keys, failures and cancellations of tasks survive a restart of the emulator', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-keys-'));
  const options = {
    idempotencyKeys: 'honoured',
    cancelling: true,
    tasksFile: join(folder, 'tasks.jsonl'),
  } as const;
  const before = await start(options);
  const keyed = await before.submit(FOX, 'k-1');
  const [failed, cancelled] = [await before.makeTask(), await before.makeTask()];
  before.emulator.next('status', FAILURE);
  await before.poll(failed);
  await before.cancel(cancelled);
  await before.emulator.close();
  const after = await start(options);
  expect(after.emulator.generations()).toHaveLength(3);
  expect((await after.submit(FOX, 'k-1')).body).toMatchObject({ task_id: taskIdOf(keyed) });
  expect((await after.submit({ prompt: 'An owl' }, 'k-1')).status).toBe(422);
  clock.nowMs += 500;
  expect(await after.viewOf(taskIdOf(keyed))).toMatchObject({ status: 'running', progress: 50 });
  expect(await after.viewOf(failed)).toMatchObject({ status: 'failed', error: { code: 'nsfw' } });
  expect(await after.viewOf(cancelled)).toMatchObject({ status: 'cancelled' });
  rmSync(folder, { recursive: true });
});

const SIZE = 10_000;

async function startDownload() {
  const { emulator, makeLink } = await start({ videoBytes: SIZE });
  const link = await makeLink();
  const get = (headers: Record<string, string> = {}, method = 'GET') => fetchFile(link, { headers, method });
  return { emulator, link, get, video: await emulator.video(emulator.generations()[0]?.taskId ?? '') };
}

it('a download without a range is the whole file, with Accept-Ranges', async () => {
  const { get, video } = await startDownload();
  const { status, header, bytes } = await get();
  expect([status, header('content-length'), header('accept-ranges')]).toEqual([200, `${SIZE}`, 'bytes']);
  expect(header('content-range')).toBeNull();
  expect(header('etag')).toMatch(/^"[0-9a-f]{64}"$/);
  expect(bytes.equals(video)).toBe(true);
});

it.each<[range: string, first: number, last: number]>([
  ['bytes=0-0', 0, 0],
  ['bytes=100-199', 100, 199],
  ['bytes=9999-', SIZE - 1, SIZE - 1],
  ['bytes=9000-20000', 9_000, SIZE - 1],
])('a download with the range %s is that part', async (range, first, last) => {
  const { get, video } = await startDownload();
  const { status, header, bytes } = await get({ range });
  expect(status).toBe(206);
  expect(header('content-range')).toBe(`bytes ${first}-${last}/${SIZE}`);
  expect(header('content-length')).toBe(String(last - first + 1));
  expect(header('content-type')).toBe('video/mp4');
  expect(bytes.equals(video.subarray(first, last + 1))).toBe(true);
});

it.each(['bytes=', 'bytes=-500', 'bytes=5-4', 'bytes=a-b', 'bytes=0-1,5-6', 'bytes 0-1', 'lines=0-1'])(
  'a download with the range %s, which has another form, is the whole file',
  async (range) => {
    const { status, bytes } = await (await startDownload()).get({ range });
    expect([status, bytes.length]).toEqual([200, SIZE]);
  },
);

it('a download with If-Range resumes an unchanged file and restarts a changed one', async () => {
  const { get, video } = await startDownload();
  const etag = (await get()).header('etag') ?? '';
  const range = 'bytes=4000-';
  expect(await get({ range, 'if-range': etag })).toMatchObject({ status: 206, bytes: video.subarray(4_000) });
  for (const other of ['"another"', `W/${etag}`, 'Sun, 15 Nov 2026 12:00:00 GMT'])
    expect(await get({ range, 'if-range': other })).toMatchObject({ status: 200, bytes: video });
  expect((await get({ range: 'bytes=20000-', 'if-range': '"another"' })).status).toBe(200);
});
