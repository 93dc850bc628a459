import type { Emulator, EmulatorOptions, Faults } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { serviceClient, taskIdOf } from './service-client';

let nowMs: number;
let emulator: Emulator;
let service: ReturnType<typeof serviceClient>;

async function start(options: EmulatorOptions): Promise<void> {
  emulator = await startEmulator({ jobTimeMs: 1_000, clock: () => nowMs, ...options });
  service = serviceClient(emulator);
}
beforeEach(() => {
  nowMs = 0;
});
afterEach(() => emulator.close());

const submit = async () => taskIdOf(await service.submit());
const viewOf = async (taskId: string) => (await service.poll(taskId)).body;

describe('a service that can cancel', () => {
  beforeEach(() => start({ cancelling: true, concurrentTasks: 1 }));

  it('cancels a queued or running task for good', async () => {
    for (const passed of [0, 500]) {
      const taskId = await submit();
      nowMs += passed;
      const cancelled = { task_id: taskId, status: 'cancelled' };
      expect(await service.cancel(taskId)).toMatchObject({ status: 200, body: cancelled });
      expect(await viewOf(taskId)).toEqual(cancelled);
      nowMs += 10_000;
      expect(await viewOf(taskId)).toEqual(cancelled);
    }
  });

  it('cancels only that task', async () => {
    await emulator.close();
    await start({ cancelling: true });
    const [one, other] = [await submit(), await submit()];
    await service.cancel(one);
    expect(await viewOf(other)).toMatchObject({ status: 'queued' });
  });

  it('accepts another task in place of the cancelled one', async () => {
    const taskId = await submit();
    expect((await service.submit()).status).toBe(429);
    nowMs += 300;
    await service.cancel(taskId);
    expect((await service.submit()).status).toBe(200);
    expect(emulator.generations().map((task) => emulator.endOf(task))).toEqual([300, 1_300]);
  });

  it.each<[how: string, end: (taskId: string) => Promise<unknown>]>([
    ['succeeded', async () => (nowMs += 1_000)],
    ['cancelled', async (taskId) => service.cancel(taskId)],
    [
      'failed',
      async (taskId) => {
        emulator.next('status', { kind: 'failed-task', code: 'nsfw', message: 'Not this.' });
        await service.poll(taskId);
      },
    ],
  ])('answers HTTP 409 if the task is %s already, and leaves it so', async (how, end) => {
    const taskId = await submit();
    await end(taskId);
    const { status, body } = await service.cancel(taskId);
    expect([status, body]).toEqual([
      409,
      { error: { code: 'task_over', message: `the task is over: it is ${how}` } },
    ]);
    expect(await viewOf(taskId)).toMatchObject({ status: how });
  });

  it('answers HTTP 404 for an unknown task', async () => {
    const { status, body } = await service.cancel('no-such-task');
    expect([status, body]).toEqual([404, { error: { code: 'not_found', message: 'no such task' } }]);
  });

  it('requires the API key', async () => {
    const taskId = await submit();
    expect((await service.cancel(taskId, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect(await viewOf(taskId)).toMatchObject({ status: 'queued' });
  });

  it('counts a cancelled task as a generation that a user paid for', async () => {
    await service.cancel(await submit());
    expect(emulator.generations()).toHaveLength(1);
  });

  it('records the call', async () => {
    const taskId = await submit();
    await service.cancel(taskId);
    await service.cancel(taskId);
    const recorded = { call: 'cancel', method: 'DELETE', path: `/v1/videos/${taskId}`, authorized: true };
    expect(emulator.calls.slice(1)).toMatchObject([
      { ...recorded, status: 200 },
      { ...recorded, status: 409 },
    ]);
  });

  it.each<[what: string, fault: Faults['cancel'], status: number]>([
    ['a 429', { kind: 'rate-limited' }, 429],
    ['a 500', { kind: 'server-error' }, 500],
    ['a 422', { kind: 'refused', status: 422, message: 'no' }, 422],
  ])('cancels nothing if it refuses the call with %s', async (_what, fault, status) => {
    const taskId = await submit();
    emulator.next('cancel', fault);
    expect((await service.cancel(taskId)).status).toBe(status);
    expect(await viewOf(taskId)).toMatchObject({ status: 'queued' });
    expect((await service.cancel(taskId)).status).toBe(200);
  });

  it.each<Faults['cancel']>([
    { kind: 'reset' },
    { kind: 'cut-headers' },
    { kind: 'cut-body' },
    { kind: 'bad-json' },
    { kind: 'empty' },
  ])('has cancelled the task even if %j loses the answer', async (fault) => {
    const taskId = await submit();
    emulator.next('cancel', fault);
    await expect(service.cancel(taskId)).rejects.toThrow();
    expect(emulator.scriptIsSpent()).toBe(true);
    expect(await viewOf(taskId)).toMatchObject({ status: 'cancelled' });
  });
});

it('a service without cancelling answers HTTP 404', async () => {
  await start({});
  const taskId = await submit();
  const { status, body } = await service.cancel(taskId);
  expect(status).toBe(404);
  expect(body).toMatchObject({ error: { message: `no such operation: DELETE /v1/videos/${taskId}` } });
  expect(emulator.calls.at(-1)).toMatchObject({ call: 'other', method: 'DELETE', status: 404 });
  expect(await viewOf(taskId)).toMatchObject({ status: 'queued' });
});
