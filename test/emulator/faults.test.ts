import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AnswerFault,
  type ChaosOptions,
  type EmulatedCall,
  FaultSource,
  faultsOn,
} from '../../src/testing/faults';
import { type Answer, clock, FOX, fetchFile, start, taskIdOf } from './service-client';

const statuses = (answers: Answer[]) => answers.map(({ status }) => status).sort();
const answerOf = ({ status, body }: Answer) => [status, body];
const FAILURE = { kind: 'failed-task', code: 'nsfw', message: 'Not this.' } as const;

const KINDS: EmulatedCall[] = ['submit', 'status', 'download', 'cancel', 'retrieve'];

function drawFaults(options: ChaosOptions, call: EmulatedCall, count: number) {
  const faults = new FaultSource(options);
  return Array.from({ length: count }, () => faults.take(call));
}

describe('random faults', () => {
  it('are the same for the same seed alone, in whatever order the kinds of calls come', () => {
    const options = { rate: 0.5, seed: 'fox' };
    const [submits, polls] = [drawFaults(options, 'submit', 50), drawFaults(options, 'status', 50)];
    const both = new FaultSource(options);
    for (let i = 0; i < 50; i++)
      expect([both.take('status'), both.take('submit')]).toEqual([polls[i], submits[i]]);
    expect(drawFaults({ rate: 0.5, seed: 'snow' }, 'submit', 50)).not.toEqual(submits);
    expect(drawFaults({ rate: 0.5 }, 'submit', 50)).not.toEqual(drawFaults({ rate: 0.5 }, 'submit', 50));
  });

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

type World = Awaited<ReturnType<typeof start>>;
type Call = () => Promise<{ status: number }>;

/** The three calls that every service has, each of its own task. */
const CALLS = {
  submit: async ({ submit }: World): Promise<Call> => submit,
  status: async ({ makeTask, poll }: World): Promise<Call> => {
    const taskId = await makeTask();
    return () => poll(taskId);
  },
  download: async ({ makeLink }: World): Promise<Call> => {
    const link = await makeLink();
    return () => fetchFile(link);
  },
};

describe.each(['submit', 'status', 'download'] as const)('the next %s', (name) => {
  it.each<[fault: AnswerFault, recorded: number | undefined]>([
    [{ kind: 'reset' }, undefined],
    [{ kind: 'cut-headers' }, 200],
    [{ kind: 'cut-body' }, 200],
  ])('loses its answer by %j, also twice, and the one after it does not', async (fault, recorded) => {
    const world = await start();
    const call = await CALLS[name](world);
    world.emulator.next(name, fault, fault);
    for (let i = 0; i < 2; i++) {
      await expect(call()).rejects.toThrow();
      expect(world.emulator.calls.at(-1)).toMatchObject({ call: name, status: recorded });
    }
    expect((await call()).status).toBe(200);
  });

  it('gets no answer until the emulator is closed', async () => {
    const world = await start();
    const call = await CALLS[name](world);
    world.emulator.next(name, { kind: 'hang' });
    // Either of the two may arrive first and hang.
    const both = [call(), call()];
    expect((await Promise.race(both)).status).toBe(200);
    await world.emulator.close();
    const ends = await Promise.allSettled(both);
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const answered = world.emulator.calls.slice(-2).map(({ status }) => status);
    expect(answered.sort()).toEqual([200, undefined]);
  });
});

it('an invalid submit is refused as such, before any scripted fault', async () => {
  const { emulator, submit } = await start();
  emulator.next('submit', { kind: 'reset' });
  expect((await submit({})).status).toBe(400);
  expect(emulator.generations()).toHaveLength(0);
});

it('a task whose submit met failed-task fails after its job time, one whose poll met it at once, both for good', async () => {
  const { emulator, makeTask, viewOf } = await start();
  const error = { code: FAILURE.code, message: FAILURE.message };
  emulator.next('submit', FAILURE);
  const later = await makeTask();
  const atOnce = await makeTask();
  emulator.next('status', FAILURE);
  for (clock.nowMs of [0, 500, 2_000])
    expect(await viewOf(atOnce)).toEqual({ task_id: atOnce, status: 'failed', error });
  clock.nowMs = 500;
  expect(await viewOf(later)).toEqual({ task_id: later, status: 'running', progress: 50 });
  for (clock.nowMs of [1_000, 2_000])
    expect(await viewOf(later)).toEqual({ task_id: later, status: 'failed', error });
});

it('a download that stalls sends the set number of bytes and no more', async () => {
  const { emulator, makeLink } = await start();
  const link = await makeLink();
  emulator.next('download', { kind: 'stall', afterBytes: 4_000 });
  const reader = (await fetch(link)).body?.getReader();
  let bytes = 0;
  while (bytes < 4_000) bytes += (await reader?.read())?.value?.length ?? 0;
  expect(bytes).toBe(4_000);
  const rest = expect(reader?.read()).rejects.toThrow();
  await emulator.close();
  await rest;
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

  it('has cancelled the task even if the answer is lost', async () => {
    for (const kind of ['reset', 'cut-headers', 'cut-body', 'empty'] as const) {
      const { emulator, makeTask, cancel, viewOf } = await startCancelling();
      const taskId = await makeTask();
      emulator.next('cancel', { kind });
      await expect(cancel(taskId)).rejects.toThrow();
      expect(await viewOf(taskId)).toMatchObject({ status: 'cancelled' });
    }
  });
});

it('a service with a limit of tasks refuses more with HTTP 429 and the reason, even if they arrive together', async () => {
  const { emulator, submit, submitAll } = await start({ concurrentTasks: 5 }, 12);
  expect(statuses(await submitAll(12))).toEqual([...Array(5).fill(200), ...Array(7).fill(429)]);
  expect(emulator.generations()).toHaveLength(5);
  const refused = await submit();
  const error = { code: 'concurrency_limit', message: 'too many tasks at once: the limit is 5' };
  expect(answerOf(refused)).toEqual([429, { error }]);
  expect(refused.headers).not.toHaveProperty('retry-after');
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

  it('makes one task of submits that arrive together', async () => {
    const { emulator, submit } = await start({ idempotencyKeys: 'honoured' }, 8);
    const answers = await Promise.all(Array.from({ length: 8 }, () => submit(FOX, 'k-1')));
    expect(new Set(answers.map(taskIdOf)).size).toBe(1);
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
