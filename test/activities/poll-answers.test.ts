import { createPollVideo } from '../../activities/poll-video';
import type { WaitingTask } from '../../activities/polls/poll-plan';
import type { ServiceTools } from '../../activities/service-tools';
import { RateLimiter, type TaskReading } from '../../src/service';
import { eventsIn, startAttempt } from './activity-world';

type Task = TaskReading['task'];

const RUNNING: Task = { state: 'running', word: 'running' };
const UNKNOWN: Task = { state: 'unknown', word: 'brewing' };

/** Polls a service that answers with these readings, one after the other; what is logged is added to `reported`. */
function pollerOf(readings: Partial<TaskReading>[], rateLimiter = new RateLimiter()) {
  const reported: unknown[] = [];
  const poll = async () => ({ task: RUNNING, doubts: [], ...readings.shift() });
  const planned: WaitingTask[] = [];
  const pollPlan = { nextPollMs: (task: WaitingTask) => 1_000 * planned.push(task) };
  const pollVideo = createPollVideo(
    () =>
      ({
        service: { status: poll },
        rateLimiter,
        pollPlan,
      }) as object as ServiceTools,
  );
  return {
    planned,
    poll: async (taskId = 'task-1', waiting: WaitingTask = {}) => {
      const { nextPollMs: _, ...status } = await startAttempt(pollVideo, { taskId, ...waiting }, {}, reported)
        .result;
      return status;
    },
    logged: (event: string) => eventsIn(reported).filter((line) => Reflect.get(line, 'event') === event),
  };
}

test.each(['queued', 'running'] as const)('a task that is %s has its progress', async (state) => {
  const { poll } = pollerOf([40, 30].map((percent) => ({ task: { state, word: 'w', percent } })));
  const progress = { percent: 40, atMs: 7 };
  expect(await poll('task-1', { waitedMs: 7 })).toEqual({ state, word: 'w', percent: 40, progress });
  // A lower one says nothing new.
  expect(await poll('task-1', { waitedMs: 9, progress })).toEqual({
    state,
    word: 'w',
    percent: 30,
    progress,
  });
});

describe('a poll returns', () => {
  const charged = { amount: 1.5, currency: 'USD' };
  const serviceMessage = { code: 'foxes', message: 'Not this.' };
  const succeeded: Task = { state: 'succeeded', word: 'done' };
  const found = (reading: Partial<TaskReading>) => pollerOf([reading]).poll();

  test.each<[string, Partial<Task>, boolean]>([
    ['with a link', { videoUrl: 'https://cdn.example.com/fox.mp4' }, true],
    ['in the answer itself', { videoBytes: Buffer.from('film') } as Partial<Task>, true],
    ['not yet', {}, false],
  ])('whether a video is there: %s', async (_what, video, hasVideo) => {
    const task = { ...succeeded, ...video } as Task;
    expect(await found({ task, charged })).toStrictEqual({
      state: 'succeeded',
      word: 'done',
      hasVideo,
      charged,
    });
    expect(await found({ task })).toStrictEqual({ state: 'succeeded', word: 'done', hasVideo });
  });

  test.each(['failed', 'cancelled'] as const)('why a task ended as %s, and what it cost', async (state) => {
    const task: Task = { state, word: 'ended' };
    expect(await found({ task, serviceMessage, charged })).toStrictEqual({
      ...{ state, word: 'ended', charged },
      ...serviceMessage,
    });
    expect(await found({ task })).toStrictEqual({ state, word: 'ended' });
  });
});

test('the next poll is planned with what the job says and what the service answered', async () => {
  const percents = [40, 30, 50].map((percent) => ({ task: { ...RUNNING, percent }, retryAfterMs: percent }));
  const { poll, planned } = pollerOf([...percents, { task: UNKNOWN, retryAfterMs: 9_000 }]);
  const job = { kind: 'text', polling: { min: '2s' } };
  const progress = { percent: 40, atMs: 7 };
  await poll('task-1', { ...job, waitedMs: 7 });
  for (const waitedMs of [8, 9, 10]) await poll('task-1', { ...job, waitedMs, progress });
  expect(planned).toEqual([
    { ...job, waitedMs: 7, progress, retryAfterMs: 40 },
    { ...job, waitedMs: 8, progress, retryAfterMs: 30 },
    { ...job, waitedMs: 9, progress: { percent: 50, atMs: 9 }, retryAfterMs: 50 },
    { ...job, waitedMs: 10, progress, retryAfterMs: 9_000 },
  ]);
});

test('a poll is logged with what it found', async () => {
  const { poll, logged } = pollerOf([{ task: { ...RUNNING, percent: 40 } }, {}, { task: UNKNOWN }]);
  for (const _ of [1, 2, 3]) await poll();
  expect(logged('polled')).toMatchObject([
    { taskId: 'task-1', state: 'running', percent: 40 },
    { taskId: 'task-1', state: 'running' },
    { taskId: 'task-1', state: 'unknown' },
  ]);
  for (const line of logged('polled').slice(1)) expect(line).not.toHaveProperty('percent');
});

describe('a doubt about the answers', () => {
  const doubting = (...doubts: string[]) => ({ doubts });

  test('is logged once per task, however often it is polled', async () => {
    const { poll, logged } = pollerOf([
      doubting('two states'),
      doubting('two links'),
      doubting('two states', 'two links'),
      doubting('two states'),
    ]);
    for (const taskId of ['task-1', 'task-1', 'task-1', 'task-2']) await poll(taskId);
    expect(logged('ambiguousAnswer')).toMatchObject([
      { taskId: 'task-1', doubt: 'two states' },
      { taskId: 'task-1', doubt: 'two links' },
      { taskId: 'task-2', doubt: 'two states' },
    ]);
  });

  test('is logged again when a thousand others have been since', async () => {
    const others = (count: number) => doubting(...Array.from({ length: count }, (_, index) => `${index}`));
    const { poll, logged } = pollerOf([
      doubting('two states'),
      others(999),
      doubting('two states'),
      doubting('one more', 'two states'),
    ]);
    const first = async () => {
      await poll();
      return logged('ambiguousAnswer').filter((line) => Reflect.get(line, 'doubt') === 'two states').length;
    };
    expect([await first(), await first(), await first(), await first()]).toEqual([1, 1, 1, 2]);
  });
});

test.each<[Task, boolean]>([
  [{ state: 'succeeded', word: 'done' }, true],
  [{ state: 'failed', word: 'failed' }, true],
  [{ state: 'cancelled', word: 'cancelled' }, true],
  [{ state: 'queued', word: 'queued' }, false],
  [RUNNING, false],
  [UNKNOWN, false],
])('a poll that finds %j makes room for a submit that was limited: %s', async (task, makesRoom) => {
  const rateLimiter = new RateLimiter();
  const permit = rateLimiter.acquire('submit');
  if (permit.granted) permit.release({ kind: 'limited' });
  expect(rateLimiter.acquire('submit').granted).toBe(false);
  await pollerOf([{ task }], rateLimiter).poll();
  expect(rateLimiter.acquire('submit').granted).toBe(makesRoom);
});
