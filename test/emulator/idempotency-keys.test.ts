import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Emulator, EmulatorOptions, Faults } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { clockAfterCalls, FOX, serviceClient, taskIdOf } from './service-client';

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

describe('an honoured key', () => {
  beforeEach(() => start({ idempotencyKeys: 'honoured' }));

  it('returns the same task for the same request, however late', async () => {
    const first = await service.submit(FOX, 'k-1');
    nowMs += 100_000;
    const second = await service.submit(FOX, 'k-1');
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect(emulator.generations()).toMatchObject([{ taskId: taskIdOf(first), idempotencyKey: 'k-1' }]);
    expect(emulator.calls).toHaveLength(2);
  });

  it('returns it in whatever order the fields of the request come', async () => {
    const first = await service.submit({ ...FOX, seed: 7, duration: 5 }, 'k-1');
    const second = await service.submit({ duration: 5, seed: 7, ...FOX }, 'k-1');
    expect(second.body).toEqual(first.body);
  });

  it.each([{ prompt: 'An owl' }, { ...FOX, seed: 7 }])(
    'is refused with HTTP 422 for another request, %j, without a task',
    async (other) => {
      await service.submit(FOX, 'k-1');
      const { status, body } = await service.submit(other, 'k-1');
      expect(status).toBe(422);
      expect(body).toEqual({
        error: {
          code: 'idempotency_key_reused',
          message: 'the idempotency key was used for another request: a new request needs a new key',
        },
      });
      expect(emulator.generations()).toHaveLength(1);
    },
  );

  it('is case-sensitive, and a missing or empty key never matches', async () => {
    const answers = [
      await service.submit(FOX, 'k-1'),
      await service.submit(FOX, 'K-1'),
      await service.submit(FOX),
      await service.submit(FOX),
      await service.submit(FOX, ''),
      await service.submit(FOX, ''),
    ];
    expect(new Set(answers.map(taskIdOf)).size).toBe(6);
  });

  it('makes one task of submits that arrive together', async () => {
    await emulator.close();
    const clock = clockAfterCalls(8, () => emulator.calls, nowMs);
    await start({ idempotencyKeys: 'honoured', clock });
    const answers = await Promise.all(Array.from({ length: 8 }, () => service.submit(FOX, 'k-1')));
    expect(new Set(answers.map(taskIdOf)).size).toBe(1);
    expect(emulator.generations()).toHaveLength(1);
  });

  it.each<Faults['submit']>([{ kind: 'reset' }, { kind: 'cut-headers' }, { kind: 'cut-body' }])(
    'finds the task whose answer %j lost, even twice',
    async (fault) => {
      emulator.next('submit', fault, fault);
      for (let i = 0; i < 2; i++) await expect(service.submit(FOX, 'k-1')).rejects.toThrow();
      const { status, body } = await service.submit(FOX, 'k-1');
      expect([status, body]).toEqual([200, { task_id: emulator.generations()[0]?.taskId, status: 'queued' }]);
      expect(emulator.generations()).toHaveLength(1);
    },
  );

  it('is still unused after a refused submit', async () => {
    emulator.next('submit', { kind: 'server-error' });
    expect((await service.submit(FOX, 'k-1')).status).toBe(500);
    expect((await service.submit({ prompt: '' }, 'k-1')).status).toBe(400);
    expect((await service.submit({ prompt: 'An owl' }, 'k-1')).status).toBe(200);
  });

  it('finds its task while the limit is reached, and is still unused after a 429', async () => {
    await emulator.close();
    await start({ idempotencyKeys: 'honoured', concurrentTasks: 1 });
    const first = await service.submit(FOX, 'k-1');
    expect((await service.submit(FOX, 'k-2')).status).toBe(429);
    expect((await service.submit(FOX, 'k-1')).body).toEqual(first.body);
    nowMs += 1_000;
    expect((await service.submit({ prompt: 'An owl' }, 'k-2')).status).toBe(200);
  });
});

it('a key survives a restart of the emulator with its task', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-keys-'));
  const options: EmulatorOptions = { idempotencyKeys: 'honoured', tasksFile: join(folder, 'tasks.jsonl') };
  await start(options);
  const first = await service.submit(FOX, 'k-1');
  await emulator.close();
  await start(options);
  expect((await service.submit(FOX, 'k-1')).body).toEqual(first.body);
  expect((await service.submit({ prompt: 'An owl' }, 'k-1')).status).toBe(422);
  rmSync(folder, { recursive: true });
});

it('an ignored key makes a task each time, which records the key', async () => {
  await start({});
  const answers = [await service.submit(FOX, 'k-1'), await service.submit({ prompt: 'An owl' }, 'k-1')];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(new Set(answers.map(taskIdOf)).size).toBe(2);
  expect(emulator.generations()).toMatchObject([{ idempotencyKey: 'k-1' }, { idempotencyKey: 'k-1' }]);
});
