import { CancelledFailure } from '@temporalio/common';
import { HEARTBEAT_EVERY_MS } from '../../src/contract/policies';
import { type CancelAnswer, ServiceFault, type TaskReading } from '../../src/service';
import { closed, startRawServer } from '../service/raw-server';
import { createActivityWorld, failureOf } from './activity-world';
import { createMemoryWorld, reading, TASK } from './memory-world';

type Task = TaskReading['task'];

const RUNNING: Task = { state: 'running', word: 'running' };
const UNKNOWN: Task = { state: 'unknown', word: 'brewing' };

/** A world whose service gives these answers to polls, one after the other, and is running otherwise. */
function answering(...readings: Partial<TaskReading>[]) {
  return createMemoryWorld(undefined, {
    service: { status: async () => reading(RUNNING, readings.shift()) },
  });
}

/** What a poll found, without when the next one is: that is the plan's to say. */
async function found({ result }: ReturnType<ReturnType<typeof answering>['poll']>): Promise<object> {
  const { nextPollMs, ...status } = await result;
  expect(nextPollMs).toBeGreaterThanOrEqual(1_000);
  return status;
}

test('polls find a task queued, then running, then with a video, and never return its link or the key', async () => {
  const JOB_TIME_MS = 100_000;
  let nowMs = 0;
  const world = await createActivityWorld({ jobTimeMs: JOB_TIME_MS, clock: () => nowMs });
  const { submitVideo, pollVideo } = world.activities;
  const { taskId } = await world.run(submitVideo, { request: { prompt: 'A red fox' } }).result;
  const polls = [];
  for (nowMs of [0, 5_000, 10_000, 60_000, JOB_TIME_MS])
    polls.push(await found(world.run(pollVideo, { taskId })));
  expect(polls).toEqual([
    { state: 'queued', word: 'queued', percent: 0 },
    { state: 'queued', word: 'queued', percent: 5, progress: { percent: 5, atMs: 0 } },
    { state: 'running', word: 'running', percent: 10, progress: { percent: 10, atMs: 0 } },
    { state: 'running', word: 'running', percent: 60, progress: { percent: 60, atMs: 0 } },
    { state: 'succeeded', word: 'succeeded', hasVideo: true },
  ]);
  expect(world.everythingReported()).not.toContain(world.emulator.linkSignature);
  expect(world.everythingReported()).not.toContain(world.emulator.apiKey);
  await world.close();
});

const CHARGED = { charged: { amount: 1.5, currency: 'USD' } };
const MESSAGE = { code: 'foxes', message: 'Not this.' };
const SUCCEEDED: Task = { state: 'succeeded', word: 'done' };
const FAILED: Task = { state: 'failed', word: 'failed' };
const CANCELLED: Task = { state: 'cancelled', word: 'user' };
const REFUSED = { stage: 'prompt', charged: false } as const;

test.each<[what: string, reading: Partial<TaskReading>, status: object]>([
  ['without a video', { task: SUCCEEDED }, { ...SUCCEEDED, hasVideo: false }],
  [
    'with a link, and its cost',
    { task: { ...SUCCEEDED, videoUrl: 'https://cdn.example.com/fox.mp4' }, ...CHARGED },
    { ...SUCCEEDED, hasVideo: true, ...CHARGED },
  ],
  [
    'with the video in the answer itself',
    { task: { ...SUCCEEDED, videoBytes: Buffer.from('film') } },
    { ...SUCCEEDED, hasVideo: true },
  ],
  [
    'failed, and why, and its cost',
    { task: FAILED, serviceMessage: MESSAGE, ...CHARGED },
    { ...FAILED, ...MESSAGE, ...CHARGED },
  ],
  [
    'refused, and not charged',
    { task: FAILED, refusedContent: REFUSED },
    { ...FAILED, refused: REFUSED, charged: { amount: 0, currency: 'USD' } },
  ],
  [
    'cancelled, and why, and its cost',
    { task: CANCELLED, serviceMessage: MESSAGE, ...CHARGED },
    { ...CANCELLED, ...MESSAGE, ...CHARGED },
  ],
])('a poll finds a task %s', async (_what, answer, status) => {
  expect(await found(answering(answer).poll())).toStrictEqual(status);
});

test.each(['queued', 'running'] as const)(
  'a task that is %s has its progress, of which a lower percentage says nothing new',
  async (state) => {
    const world = answering(...[40, 30].map((percent) => ({ task: { state, word: 'w', percent } })));
    const progress = { percent: 40, atMs: 7 };
    expect(await found(world.poll({ waitedMs: 7 }))).toEqual({ state, word: 'w', percent: 40, progress });
    expect(await found(world.poll({ waitedMs: 9, progress }))).toEqual({
      ...{ state, word: 'w', percent: 30 },
      progress,
    });
  },
);

test('the next poll comes when the rules of the job, the progress and the service say', async () => {
  const HOUR_MS = 3_600_000;
  const half = { task: { ...RUNNING, percent: 50 } };
  const world = answering({}, { retryAfterMs: 90_000 }, { task: UNKNOWN, retryAfterMs: 90_000 }, half, {});
  const delay = async (input: object) => (await world.poll(input).result).nextPollMs;
  expect(await delay({ polling: { min: '40s', max: '40s' } })).toBe(40_000);
  expect(await delay({})).toBe(90_000);
  expect(await delay({})).toBe(90_000);
  // A task that was half done after twenty minutes is not polled for some of the next twenty.
  const waited = { waitedMs: 1_200_000, polling: { max: HOUR_MS } };
  const progress = { percent: 50, atMs: 1_200_000 };
  expect(await delay(waited)).toBeGreaterThan(300_000);
  expect(await delay({ ...waited, progress })).toBeGreaterThan(300_000);
  expect(await delay(waited)).toBeLessThan(300_000);
});

test('a poll is logged with what it found', async () => {
  const world = answering({ task: { ...RUNNING, percent: 40 } }, {}, { task: UNKNOWN });
  for (const _ of [1, 2, 3]) await world.poll().result;
  expect(world.linesOf('polled')).toEqual([
    { taskId: TASK, state: 'running', percent: 40 },
    { taskId: TASK, state: 'running' },
    { taskId: TASK, state: 'unknown' },
  ]);
  expect(world.linesOf('unknownState')).toEqual([{ taskId: TASK, state: 'brewing' }]);
});

test.each([
  ['heartbeats while it waits for the answer', {}, 2],
  [
    'has no heartbeats as a local activity, because the SDK would log a warning for each',
    { isLocal: true },
    0,
  ],
])('a poll %s, and none after its end', async (_what, info, beats) => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
  try {
    for (const isAnswered of [true, false]) {
      const status = async () => {
        await jest.advanceTimersByTimeAsync(2 * HEARTBEAT_EVERY_MS);
        if (isAnswered) return reading(RUNNING);
        throw new ServiceFault('cut', {});
      };
      const attempt = createMemoryWorld(undefined, { service: { status } }).poll({}, info);
      await attempt.result.catch(() => undefined);
      await jest.advanceTimersByTimeAsync(2 * HEARTBEAT_EVERY_MS);
      expect(attempt.beats).toHaveLength(beats);
    }
  } finally {
    jest.useRealTimers();
  }
});

test('a poll that is cancelled while it waits for the answer closes its socket and ends as cancelled', async () => {
  const [world, server] = await Promise.all([createActivityWorld(), startRawServer()]);
  const attempt = world.run(world.activitiesAt(server.url).pollVideo, { taskId: TASK });
  const { socket } = await server.nextRequest();
  attempt.cancel();
  await expect(attempt.result).rejects.toBeInstanceOf(CancelledFailure);
  await closed(socket);
  await server.close();
  await world.close();
});

const cancelling = (cancel: () => Promise<CancelAnswer>) =>
  createMemoryWorld(undefined, { service: { cancel } });
const refusing = (status: number) =>
  cancelling(() => Promise.reject(new ServiceFault('answered', { status })));

test('a task is cancelled at a service whose profile says how', async () => {
  const world = await createActivityWorld({ cancelling: true, jobTimeMs: 3_600_000 });
  const profile = { cancel: { method: 'DELETE', path: '/v1/videos/{taskId}' } } as const;
  const { cancelVideo, submitVideo } = world.activitiesAt(world.emulator.url, { profile });
  const { taskId } = await world.run(submitVideo, { request: { prompt: 'A red fox' } }).result;
  expect(await world.run(cancelVideo, { taskId }).result).toBe('asked');
  expect(world.emulator.generations()[0]?.cancelledAtMs).toBeDefined();
  await world.close();
});

test('a cancellation is logged only if the service was asked', async () => {
  for (const answer of ['asked', 'not-offered'] as const) {
    const world = cancelling(async () => answer);
    expect(await world.cancel().result).toBe(answer);
    expect(world.linesOf('cancelAsked')).toEqual(answer === 'asked' ? [{ taskId: TASK }] : []);
  }
});

test.each([400, 404, 409, 499])(
  'HTTP %i to a cancellation is a refusal, which is not tried again',
  async (status) => {
    expect(await refusing(status).cancel().result).toBe('refused');
  },
);

test.each([399, 429, 500, 503])(
  'HTTP %i to a cancellation fails with the task, and Temporal tries again',
  async (status) => {
    const { failure, details } = await failureOf(refusing(status).cancel());
    expect(failure.nonRetryable).toBe(false);
    expect(details).toMatchObject({ status, taskId: TASK });
  },
);
