import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ChaosOptions, type EmulatedCall, FaultSource, faultsOn } from '../../src/testing/faults';
import { type Answer, clock, FOX, start, taskIdOf } from './service-client';

const answerOf = ({ status, body }: Answer) => [status, body];
const FAILURE = { kind: 'failed-task', code: 'nsfw', message: 'Not this.' } as const;

const KINDS: EmulatedCall[] = ['submit', 'status', 'download', 'cancel', 'retrieve'];

function drawFaults(options: ChaosOptions, call: EmulatedCall, count: number) {
  const faults = new FaultSource(options);
  return Array.from({ length: count }, () => faults.take(call));
}

describe('random faults', () => {
  it.each(KINDS)('for a %s are those in the list, which never end a task or take minutes', (call) => {
    const listed = faultsOn(call).flatMap(([, { fault, byChance }]) => (byChance ? [fault] : []));
    const drawn = drawFaults({ rate: 1, seed: 'fox' }, call, 2_000).map((fault) => JSON.stringify(fault));
    expect(new Set(drawn)).toEqual(new Set(listed.map((fault) => JSON.stringify(fault))));
    const kinds = listed.map(({ kind }) => kind);
    for (const kind of ['hang', 'no-video', 'failed-task', 'refused']) expect(kinds).not.toContain(kind);
  });
});

it('an emulator with chaos uses scripted faults before random ones', async () => {
  const { emulator, submit } = await start({ chaos: { rate: 1 } });
  emulator.next(
    'submit',
    { kind: 'refused', status: 418, message: 'tea' },
    { kind: 'refused', status: 409, message: 'no' },
  );
  expect([(await submit()).status, (await submit()).status]).toEqual([418, 409]);
  expect(emulator.scriptIsSpent()).toBe(true);
});

it('an invalid submit is refused as such, before any scripted fault', async () => {
  const { emulator, submit } = await start();
  emulator.next('submit', { kind: 'reset' });
  expect((await submit({})).status).toBe(400);
  expect(emulator.generations()).toHaveLength(0);
});

describe('a service that can cancel', () => {
  const startCancelling = () => start({ cancelling: true, concurrentTasks: 1 });

  it('cancels a queued or running task for good, and accepts another in its place', async () => {
    const { emulator, makeTask, cancel, viewOf } = await startCancelling();
    for (const passed of [0, 500]) {
      const taskId = await makeTask();
      clock.nowMs += passed;
      const cancelled = { task_id: taskId, status: 'cancelled' };
      emulator.next('cancel', { kind: 'rate-limited' });
      expect((await cancel(taskId)).status).toBe(429);
      expect(answerOf(await cancel(taskId))).toEqual([200, cancelled]);
      clock.nowMs += 10_000;
      expect(await viewOf(taskId)).toEqual(cancelled);
    }
    expect(emulator.generations().map((task) => emulator.endOf(task))).toEqual([0, 10_500]);
    expect(emulator.calls.at(-2)).toMatchObject({ call: 'cancel', method: 'DELETE', status: 200 });
  });

  it('answers HTTP 409 to a task that is over, and leaves it so', async () => {
    const { emulator, makeTask, cancel, poll, viewOf } = await startCancelling();
    const ends = {
      succeeded: async () => {
        clock.nowMs += 1_000;
      },
      cancelled: cancel,
      failed: async (taskId: string) => {
        emulator.next('status', FAILURE);
        await poll(taskId);
      },
    };
    for (const [status, end] of Object.entries(ends)) {
      const taskId = await makeTask();
      await end(taskId);
      const error = { code: 'task_over', message: `the task is over: it is ${status}` };
      expect(answerOf(await cancel(taskId))).toEqual([409, { error }]);
      expect(await viewOf(taskId)).toMatchObject({ status });
    }
  });
});

describe('an honoured idempotency key', () => {
  it('returns the same task for the same request, however late, and is refused with HTTP 422 for another', async () => {
    const { emulator, submit } = await start({ idempotencyKeys: 'honoured' });
    const first = await submit({ ...FOX, seed: 7, duration: 5 }, 'k-1');
    clock.nowMs += 100_000;
    // Its fields may come in another order.
    expect(answerOf(await submit({ duration: 5, seed: 7, ...FOX }, 'k-1'))).toEqual([200, first.body]);
    const message = 'the idempotency key was used for another request: a new request needs a new key';
    const error = { code: 'idempotency_key_reused', message };
    expect(answerOf(await submit({ ...FOX, seed: 8 }, 'k-1'))).toEqual([422, { error }]);
    expect(emulator.generations()).toMatchObject([{ taskId: taskIdOf(first), idempotencyKey: 'k-1' }]);
    expect(emulator.calls).toHaveLength(3);
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
  // As a crash leaves it.
  appendFileSync(options.tasksFile, '{"taskId":"task_cut","requ');
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
