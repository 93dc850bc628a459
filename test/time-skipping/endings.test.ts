import { inspect } from 'node:util';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { captureLogs, type LogLine } from '../support/logs';
import { failureOf, inWorld, pause } from '../support/world';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const request = { prompt: 'A red fox' };

let env: VideoTestEnvironment;
let logs: LogLine[];
beforeAll(async () => {
  logs = captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

const statusOf = async (workflowId: string) =>
  (await env.temporal.client.workflow.getHandle(workflowId).describe()).status.name;

test('a failed task fails the job as GenerationFailed with the service’s code and message', async () => {
  await inWorld(env, { jobTimeMs: MINUTE }, async ({ emulator, videos, storedFiles }) => {
    emulator.next('submit', { kind: 'failed-task', code: 'moderated', message: 'the prompt was moderated' });
    const job = await videos.start({ request });
    const failure = await failureOf(job.result());
    expectRow(failure, 'GenerationFailed', emulator.generations()[0]?.taskId);
    expect(failure).toMatchObject({ details: { code: 'moderated', message: 'the prompt was moderated' } });
    expect(await statusOf(job.workflowId)).toBe('FAILED');
    expect(await job.progress()).toMatchObject({ phase: 'failed', task: { state: 'failed' } });
    expect(await storedFiles()).toEqual([]);
  });
});

test('a task cancelled at the service fails the job as GenerationCancelled', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next('status', { kind: 'unknown-state', word: 'canceled' });
    expectRow(
      await failureOf(videos.execute({ request })),
      'GenerationCancelled',
      emulator.generations()[0]?.taskId,
    );
  });
});

test('at the deadline the job polls once more and fails with the task id; the task can be adopted later', async () => {
  await inWorld(env, { jobTimeMs: 30 * MINUTE }, async ({ emulator, videos }) => {
    const job = await videos.start({ request, deadline: '10m' });
    const failure = await failureOf(job.result());
    const taskId = emulator.generations()[0]?.taskId ?? '';
    expectRow(failure, 'DeadlineExceeded', taskId);
    expect(String(failure)).toContain('the task was last seen running');
    const { deadlineAt } = await job.progress();
    expect(Date.parse(deadlineAt)).toBeLessThanOrEqual(await env.temporal.currentTimeMs());

    expect((await videos.execute({ taskId })).taskId).toBe(taskId);
    expect(emulator.generations()).toHaveLength(1);
  });
});

test('a video that is ready exactly at the deadline is still downloaded', async () => {
  await inWorld(env, { jobTimeMs: 9 * MINUTE }, async ({ videos }) => {
    const { polls } = await videos.execute({
      request,
      deadline: '10m',
      polling: { min: '1h', max: '1h' },
    });
    expect(polls).toBe(1);
  });
});

test('a cancellation while waiting ends the job as cancelled, with the task id', async () => {
  await inWorld(env, { jobTimeMs: 30 * MINUTE }, async ({ emulator, videos }) => {
    const job = await videos.start({ request });
    await job.taskId();
    await env.temporal.sleep(MINUTE);
    await job.cancel();
    expectRow(await failureOf(job.result()), 'Cancelled', emulator.generations()[0]?.taskId);
    expect(await statusOf(job.workflowId)).toBe('CANCELLED');
    expect(await job.progress()).toMatchObject({ phase: 'cancelled' });
  });
});

test('the failure of a terminated job has the task id', async () => {
  await inWorld(env, { jobTimeMs: 30 * MINUTE }, async ({ videos }) => {
    const job = await videos.start({ request });
    const taskId = await job.taskId();
    await env.temporal.client.workflow.getHandle(job.workflowId).terminate('tidying up');
    expectRow(await failureOf(job.result()), 'Cancelled', taskId);
  });
});

test.each([['reset'], ['bad-json'], ['empty-accepted']] as const)(
  'a submit whose answer is lost (%s) is not sent a second time',
  async (kind) => {
    await inWorld(env, {}, async ({ emulator, videos }) => {
      emulator.next('submit', { kind });
      expectRow(await failureOf(videos.execute({ request })), 'SubmitUnconfirmed', undefined);
      expect(emulator.generations()).toHaveLength(1);
      expect(emulator.calls).toHaveLength(1);
    });
  },
);

test('waitForTask fails like the job when there will be no task', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next(
      'submit',
      { kind: 'rate-limited', retryAfter: 2 },
      { kind: 'refused', status: 400, message: 'no' },
    );
    const job = await videos.start({ request });
    const task = failureOf(job.taskId());
    expectRow(await failureOf(job.result()), 'InvalidRequest', undefined);
    expect(await task).toMatchObject({ type: 'InvalidRequest' });
  });
});

test('a task that stays unknown after its submit fails the job as TaskUnknown', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    for (let i = 0; i < 60; i++)
      emulator.next('status', { kind: 'refused', status: 404, message: 'no such task' });
    const failure = await failureOf(videos.execute({ request }));
    expectRow(failure, 'TaskUnknown', emulator.generations()[0]?.taskId);
    expect(emulator.calls.length).toBeGreaterThan(4);
  });
});

test('a known task counts as unknown only after three polls in a row do not find it', async () => {
  const lost = { kind: 'refused', status: 404, message: 'no such task' } as const;
  await inWorld(env, { jobTimeMs: 10 * MINUTE }, async ({ emulator, videos }) => {
    const down = Array.from({ length: 10 }, () => ({ kind: 'server-error', status: 503 }) as const);
    emulator.next('status', { kind: 'unknown-state', word: 'queued' }, lost, lost, ...down, lost);
    await videos.execute({ request });
    const queued = Array.from({ length: 30 }, () => ({ kind: 'unknown-state', word: 'queued' }) as const);
    emulator.next('status', ...queued, lost, lost, lost);
    const failure = await failureOf(videos.execute({ request }));
    expectRow(failure, 'TaskUnknown', emulator.generations()[1]?.taskId);
  });
});

test('adopting a task that the service does not know fails at once as TaskUnknown', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    expectRow(await failureOf(videos.execute({ taskId: '../no such' })), 'TaskUnknown', '../no such');
    expect(emulator.calls.map(({ path }) => path)).toEqual(['/v1/videos/..%2Fno%20such']);
  });
});

test('a task that succeeds without a video is polled again, then fails as NoVideo', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    emulator.next('status', { kind: 'no-video' }, { kind: 'no-video' }, { kind: 'no-video' });
    expectRow(await failureOf(videos.execute({ request })), 'NoVideo', emulator.generations()[0]?.taskId);
    emulator.next('status', { kind: 'no-video' }, { kind: 'no-video' });
    expect((await videos.execute({ request })).polls).toBe(3);
  });
});

test('an unknown state is logged once per word, not once per poll', async () => {
  const workflowId = 'brewing-and-steeping';
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    const word = (name: string) => ({ kind: 'unknown-state', word: name }) as const;
    emulator.next('status', word('brewing'), word('brewing'), word('steeping'), word('brewing'));
    await videos.execute({ request }, { workflowId });
    // Log lines arrive late; the line of the download is the last one.
    while (!logs.some(({ message, meta }) => message === 'downloaded' && inspect(meta).includes(workflowId)))
      await pause();
  });
  const warned = logs.filter(({ message }) => message === 'unknown state, polling on');
  expect(warned.map(({ meta }) => meta)).toMatchObject([{ state: 'brewing' }, { state: 'steeping' }]);
});

test('a storage that cannot store the video fails the job as StorageFailed with the task id, and the task can be adopted', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    await videos.execute({ request, storage: 'fox.mp4' });
    const failure = await failureOf(videos.execute({ request, storage: 'fox.mp4/inside-a-file.mp4' }));
    const taskId = emulator.generations()[1]?.taskId ?? '';
    expectRow(failure, 'StorageFailed', taskId);
    expect((await videos.execute({ taskId })).taskId).toBe(taskId);
  });
});

test.each([
  ['nothing', undefined, 'either a request or the taskId'],
  ['null', null, 'either a request or the taskId'],
  ['an empty object', {}, 'either a request or the taskId'],
  ['both a request and a task id', { request, taskId: 'x' }, 'and not both'],
  ['a request that is text', { request: 'a red fox' }, 'the request must be a JSON object'],
  ['a misspelt field', { request: { ...request, aspectRatio: '1:1' } }, 'did you mean aspect_ratio?'],
  ['an unreadable deadline', { request, deadline: 'soon' }, 'deadline must be'],
  ['unreadable polling', { request, polling: { min: -1 } }, 'polling.min must be'],
  ['a deadline of a megabyte', { request, deadline: 'x'.repeat(1_200_000) }, 'deadline must be'],
  ['a key outside the storage', { request, storage: '../x' }, 'storage must be a key'],
  ['a storage that is a number', { request, storage: 5 }, 'storage must be a key'],
  ['a task id that is a number', { taskId: 1234567890123456 }, 'taskId must be text'],
  ['a task id that is an object', { taskId: { toString: 1, valueOf: 1 } }, 'taskId must be text'],
  ['an empty task id', { taskId: '' }, 'taskId must be text'],
])('a job started without our client with %s fails with one sentence', async (_, input, sentence) => {
  await inWorld(env, {}, async ({ emulator, taskQueue }) => {
    const started = env.temporal.client.workflow.execute('generateVideo', {
      taskQueue,
      workflowId: `by-hand-${Math.random()}`,
      args: [input],
    });
    const failure = await failureOf(started);
    expect(failure).toMatchObject({
      cause: { type: 'videogen.InvalidRequest', message: expect.stringContaining(sentence) },
    });
    expect(emulator.calls).toHaveLength(0);
  });
});

test('a second argument is not accepted as the state of an earlier run', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, taskQueue }) => {
    const result = await env.temporal.client.workflow.execute('generateVideo', {
      taskQueue,
      workflowId: `second-argument-${Math.random()}`,
      args: [{ request }, { taskId: 'made up', warnedWords: 5 }],
    });
    expect(result).toMatchObject({ taskId: emulator.generations()[0]?.taskId });
  });
});

test('fields that are null count as not set', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ taskQueue }) => {
    const result = await env.temporal.client.workflow.execute('generateVideo', {
      taskQueue,
      workflowId: `nulls-${Math.random()}`,
      args: [{ request, taskId: null, deadline: null, storage: null, polling: null }],
    });
    expect(result).toMatchObject({ polls: 1 });
  });
});
