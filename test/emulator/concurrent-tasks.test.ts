import type { Emulator, EmulatorOptions } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { clockAfterCalls, serviceClient, taskIdOf } from './service-client';

let nowMs: number;
let emulator: Emulator;
let service: ReturnType<typeof serviceClient>;

async function start(options: EmulatorOptions): Promise<void> {
  emulator = await startEmulator({ jobTimeMs: 1_000, clock: () => nowMs, ...options });
  service = serviceClient(emulator);
}
beforeEach(() => {
  nowMs = 10_000;
});
afterEach(() => emulator.close());

const submitAll = (count: number) => Promise.all(Array.from({ length: count }, () => service.submit()));
const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status).sort();

describe('a service with a limit of two tasks at once', () => {
  beforeEach(() => start({ concurrentTasks: 2 }));

  it('refuses the third submit with HTTP 429 and the reason, without Retry-After and without a task', async () => {
    expect(statuses(await submitAll(2))).toEqual([200, 200]);
    const { status, headers, body } = await service.submit();
    expect(status).toBe(429);
    expect(body).toEqual({
      error: {
        code: 'concurrency_limit',
        message: 'too many tasks at once: the limit is 2',
      },
    });
    expect(headers).not.toHaveProperty('retry-after');
    expect(emulator.generations()).toHaveLength(2);
    expect(emulator.calls.map((call) => call.status)).toEqual([200, 200, 429]);
  });

  it('counts a task until its video is ready, and not a millisecond longer', async () => {
    await service.submit();
    nowMs += 500;
    await service.submit();
    nowMs += 499;
    expect((await service.submit()).status).toBe(429);
    nowMs += 1;
    expect(statuses(await submitAll(2))).toEqual([200, 429]);
  });

  it('stops counting a task that a poll finds failed', async () => {
    const taskId = taskIdOf(await service.submit());
    await service.submit();
    emulator.next('status', { kind: 'failed-task', code: 'nsfw', message: 'Not this.' });
    nowMs += 100;
    await service.poll(taskId);
    expect(statuses(await submitAll(2))).toEqual([200, 429]);
  });

  it('counts a task that will fail until it fails', async () => {
    emulator.next('submit', { kind: 'failed-task', code: 'nsfw', message: 'Not this.' });
    await submitAll(2);
    nowMs += 999;
    expect((await service.submit()).status).toBe(429);
    nowMs += 1;
    expect((await service.submit()).status).toBe(200);
  });

  it('counts a task whose answer was lost', async () => {
    emulator.next('submit', { kind: 'reset' }, { kind: 'cut-body' });
    for (let i = 0; i < 2; i++) await expect(service.submit()).rejects.toThrow();
    expect((await service.submit()).status).toBe(429);
  });

  it('does not count a submit that it refused for another reason', async () => {
    emulator.next('submit', { kind: 'server-error' }, { kind: 'rate-limited' });
    expect(statuses(await submitAll(2))).toEqual([429, 500]);
    expect((await service.submit({})).status).toBe(400);
    expect(statuses(await submitAll(2))).toEqual([200, 200]);
  });

  it('answers polls while the limit is reached', async () => {
    const taskId = taskIdOf(await service.submit());
    await service.submit();
    expect(await service.poll(taskId)).toMatchObject({ status: 200, body: { status: 'queued' } });
  });
});

it('submits that arrive together never exceed the limit', async () => {
  await start({ concurrentTasks: 5, clock: clockAfterCalls(12, () => emulator.calls, nowMs) });
  expect(statuses(await submitAll(12))).toEqual([...Array(5).fill(200), ...Array(7).fill(429)]);
  expect(emulator.generations()).toHaveLength(5);
});

it('a service without a limit accepts every submit', async () => {
  await start({});
  expect(statuses(await submitAll(30))).toEqual(Array(30).fill(200));
});

it('a service whose tasks take no time never reaches its limit', async () => {
  await start({ concurrentTasks: 1, jobTimeMs: 0 });
  expect(statuses(await submitAll(3))).toEqual([200, 200, 200]);
});

describe('the end of a task', () => {
  const ends = () => emulator.generations().map((task) => emulator.endOf(task));

  it('is known as soon as it is submitted', async () => {
    await start({});
    await service.submit();
    nowMs += 300;
    await service.submit();
    expect(ends()).toEqual([11_000, 11_300]);
  });

  it('is when a poll finds it failed, but no later than its job time', async () => {
    await start({});
    const [early, late] = (await submitAll(2)).map(taskIdOf);
    emulator.next('status', ...Array(2).fill({ kind: 'failed-task', code: 'nsfw', message: 'Not this.' }));
    nowMs += 300;
    await service.poll(early ?? '');
    nowMs += 5_000;
    await service.poll(late ?? '');
    const endOf = new Map(emulator.generations().map((task) => [task.taskId, emulator.endOf(task)]));
    expect([endOf.get(early ?? ''), endOf.get(late ?? '')]).toEqual([10_300, 11_000]);
  });
});
