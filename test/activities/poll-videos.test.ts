import { CancelledFailure } from '@temporalio/common';
import { createVideoActivities } from '../../activities';
import { createPollVideos, type PollTask } from '../../activities/poll-video';
import { createFailure } from '../../src/contract/failures';
import type { TaskStatus } from '../../src/contract/job';
import { POLLS_AT_ONCE, SHARED_POLL_MS, TASKS_PER_POLL } from '../../src/contract/policies';
import { createFileStorage } from '../../src/storage';
import { closed, type RawServer, startRawServer } from '../service/raw-server';
import { type ActivityWorld, createActivityWorld, failureOf } from './activity-world';

let world: ActivityWorld;
beforeEach(async () => {
  world = await createActivityWorld();
});
afterEach(async () => {
  jest.restoreAllMocks();
  expect(world.emulator.scriptIsSpent()).toBe(true);
  expect(world.everythingTold()).not.toContain(world.emulator.linkSignature);
  expect(world.everythingTold()).not.toContain(world.emulator.apiKey);
  await world.close();
});

const ids = (count: number) => Array.from({ length: count }, (_, index) => `task-${index + 1}`);
const looksBy = (pollTask: PollTask, taskIds: string[]) => world.run(createPollVideos(pollTask), { taskIds });
const running = (word: string): TaskStatus => ({ state: 'running', word });
const laterOn = () => new Promise((resolve) => setImmediate(resolve));

describe('a look at many tasks of a service', () => {
  const submitted = async (prompt: string) =>
    (await world.run(world.activities.submitVideo, { request: { prompt } }).result).taskId;
  const look = (taskIds: string[]) => world.run(world.activities.pollVideos, { taskIds });

  it('answers in the order of the tasks, and never says where a video is', async () => {
    const taskIds = [await submitted('A fox'), await submitted('An owl')];
    const succeeded = { look: { state: 'succeeded', word: 'succeeded', hasVideo: true } };
    expect(await look(taskIds).result).toEqual([succeeded, succeeded]);
  });

  it('tells of one task alone what its look met', async () => {
    const [fox, owl] = [await submitted('A fox'), await submitted('An owl')];
    expect(await look([fox, 'no-such-task', owl]).result).toEqual([
      { look: expect.objectContaining({ state: 'succeeded' }) },
      { failure: 'TaskUnknown', details: expect.objectContaining({ taskId: 'no-such-task', status: 404 }) },
      { look: expect.objectContaining({ state: 'succeeded' }) },
    ]);
  });

  it('sends nothing while the service has asked for fewer requests, and tells of each task when to come back', async () => {
    const taskId = await submitted('A fox');
    const { pollVideos } = createVideoActivities({
      service: world.service,
      storage: createFileStorage(world.folder),
    });
    world.emulator.next('status', { kind: 'rate-limited', retryAfter: 60 });
    await world.run(pollVideos, { taskIds: [taskId] }).result;
    const made = world.emulator.calls.length;
    const told = await world.run(pollVideos, { taskIds: [taskId, 'another'] }).result;
    expect(world.emulator.calls).toHaveLength(made);
    const sentAway = {
      failure: 'RateLimited',
      details: expect.objectContaining({
        message: expect.stringContaining('nothing was sent'),
        retryAfter: expect.any(Number),
      }),
    };
    expect(told).toEqual([sentAway, sentAway]);
    for (const one of told) expect(Object(one).details.retryAfter).toBeGreaterThan(30);
  });

  describe('that is cancelled', () => {
    let server: RawServer;
    beforeEach(async () => {
      server = await startRawServer();
    });
    afterEach(() => server.close());

    it('closes its sockets, sends nothing more and ends as cancelled', async () => {
      const { pollVideos } = world.activitiesAt(server.url);
      const attempt = world.run(pollVideos, { taskIds: ids(TASKS_PER_POLL) });
      const sockets = [];
      while (sockets.length < POLLS_AT_ONCE) sockets.push((await server.nextRequest()).socket);
      attempt.cancel();
      await expect(attempt.result).rejects.toBeInstanceOf(CancelledFailure);
      await Promise.all(sockets.map(closed));
      expect(server.requests).toHaveLength(POLLS_AT_ONCE);
    });
  });
});

describe('the looks of one activity', () => {
  it('are a few at a time, and all are made', async () => {
    let underWay = 0;
    let most = 0;
    const pollTask = async (taskId: string) => {
      most = Math.max(most, ++underWay);
      await laterOn();
      underWay -= 1;
      return running(taskId);
    };
    const taskIds = ids(TASKS_PER_POLL);
    const looks = await looksBy(pollTask, taskIds).result;
    expect(most).toBe(POLLS_AT_ONCE);
    expect(looks).toEqual(taskIds.map((word) => ({ look: running(word) })));
  });

  it('are told in the order of the tasks, in whichever they end', async () => {
    const ends: (() => void)[] = [];
    const pollTask = (taskId: string) =>
      new Promise<TaskStatus>((resolve) => ends.push(() => resolve(running(taskId))));
    const attempt = looksBy(pollTask, ids(4));
    for (const end of ends.reverse()) end();
    expect(await attempt.result).toEqual(ids(4).map((word) => ({ look: running(word) })));
  });

  it('are none when there are no tasks', async () => {
    expect(await looksBy(() => Promise.reject(new Error('a look')), []).result).toEqual([]);
  });

  it('begin no later than their time: those that did not are told so, and those under way are waited for', async () => {
    let nowMs = 1_000_000;
    jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
    const begun: string[] = [];
    const pollTask = async (taskId: string) => {
      begun.push(taskId);
      await laterOn();
      // The time is over while the second round is under way.
      if (begun.length === 2 * POLLS_AT_ONCE) nowMs += SHARED_POLL_MS;
      return running(taskId);
    };
    const taskIds = ids(TASKS_PER_POLL);
    const looks = await looksBy(pollTask, taskIds).result;
    expect(begun).toEqual(taskIds.slice(0, 2 * POLLS_AT_ONCE));
    expect(looks).toEqual(
      taskIds.map((word, index) => (index < 2 * POLLS_AT_ONCE ? { look: running(word) } : 'not-yet')),
    );
  });

  it('that fail keep nobody from the others, however many they are', async () => {
    const pollTask = async (taskId: string) => {
      if (taskId === 'task-30') return running(taskId);
      throw createFailure('ServiceFailed', { taskId, status: 500 }, { retryable: true });
    };
    const taskIds = ids(30);
    const looks = await looksBy(pollTask, taskIds).result;
    expect(looks.pop()).toEqual({ look: running('task-30') });
    expect(looks).toEqual(
      taskIds.slice(0, -1).map((taskId) => ({ failure: 'ServiceFailed', details: { taskId, status: 500 } })),
    );
  });

  it('end the activity by a mistake of ours, after which no further ones are begun', async () => {
    const begun: string[] = [];
    const pollTask = async (taskId: string) => {
      begun.push(taskId);
      await laterOn();
      if (taskId === 'task-1') throw new TypeError('x is not a function');
      return running(taskId);
    };
    const attempt = looksBy(pollTask, ids(TASKS_PER_POLL));
    await expect(attempt.result).rejects.toThrow('x is not a function');
    const before = begun.length;
    for (let turn = 0; turn < 10; turn++) await laterOn();
    expect(begun).toHaveLength(before);
  });

  it('of a cancelled activity do not tell the cancellation as a failure of a task', async () => {
    const looking: ((error: Error) => void)[] = [];
    const pollTask = () => new Promise<TaskStatus>((_, reject) => looking.push(reject));
    const attempt = looksBy(pollTask, ids(2));
    attempt.cancel();
    // What an aborted request may be taken for.
    for (const fail of looking) fail(createFailure('ServiceUnreachable'));
    const { failure } = await failureOf(attempt);
    expect(failure.type).toBe('ServiceUnreachable');
  });
});
