import { CancelledFailure } from '@temporalio/common';
import { createVideoActivities } from '../../activities';
import type { PollTask } from '../../activities/poll-task';
import { createPollVideos } from '../../activities/poll-video';
import { createFindTools, type ServiceTools } from '../../activities/service-tools';
import type { TaskStatus } from '../../src/contract/job';
import { POLLS_AT_ONCE, QUICK_POLL_MS, SHARED_POLL_MS, TASKS_PER_POLL } from '../../src/contract/policies';
import type { ServiceChoice } from '../../src/contract/service-choice';
import { createFailure } from '../../src/contract/video-failure';
import { ServiceDirectory } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { closed, type RawServer, replyJson, startRawServer } from '../service/raw-server';
import { type ActivityWorld, createActivityWorld, failureOf } from './activity-world';

let world: ActivityWorld;
beforeEach(async () => {
  world = await createActivityWorld();
});
afterEach(async () => {
  jest.restoreAllMocks();
  expect(world.emulator.scriptIsSpent()).toBe(true);
  expect(world.everythingReported()).not.toContain(world.emulator.linkSignature);
  expect(world.everythingReported()).not.toContain(world.emulator.apiKey);
  await world.close();
});

const ids = (count: number) => Array.from({ length: count }, (_, index) => `task-${index + 1}`);
function toolsOf(choice: ServiceChoice | undefined): ServiceTools {
  const directory = new ServiceDirectory({ service: world.serviceAt(world.emulator.url) });
  const found = createFindTools(directory, createFileStorage(world.folder))(choice);
  if ('problem' in found) throw new Error(found.problem);
  return found;
}

const pollWith = (pollTask: PollTask, taskIds: string[], isLocal = false) =>
  world.run(
    createPollVideos((choice) => ({ ...toolsOf(choice), pollTask })),
    { taskIds },
    { isLocal },
  );
const running = (word: string): TaskStatus => ({ state: 'running', word });
const laterOn = () => new Promise((resolve) => setImmediate(resolve));

describe('one activity that polls many tasks', () => {
  const submitted = async (prompt: string) =>
    (await world.run(world.activities.submitVideo, { request: { prompt } }).result).taskId;
  const poll = (taskIds: string[]) => world.run(world.activities.pollVideos, { taskIds });

  it('answers in the order of the tasks, and never returns a link', async () => {
    const taskIds = [await submitted('A fox'), await submitted('An owl')];
    const succeeded = { status: { state: 'succeeded', word: 'succeeded', hasVideo: true } };
    expect(await poll(taskIds).result).toEqual([succeeded, succeeded]);
  });

  it('reports a failed poll for its task only', async () => {
    const [fox, owl] = [await submitted('A fox'), await submitted('An owl')];
    expect(await poll([fox, 'no-such-task', owl]).result).toEqual([
      { status: expect.objectContaining({ state: 'succeeded' }) },
      { failure: 'TaskUnknown', details: expect.objectContaining({ taskId: 'no-such-task', status: 404 }) },
      { status: expect.objectContaining({ state: 'succeeded' }) },
    ]);
  });

  it('sends nothing while the rate limiter pauses polls, and reports for each task when to retry', async () => {
    const taskId = await submitted('A fox');
    const { pollVideos } = createVideoActivities({
      service: world.service,
      storage: createFileStorage(world.folder),
    });
    world.emulator.next('status', { kind: 'rate-limited', retryAfter: 60 });
    await world.run(pollVideos, { taskIds: [taskId] }).result;
    const made = world.emulator.calls.length;
    const polls = await world.run(pollVideos, { taskIds: [taskId, 'another'] }).result;
    expect(world.emulator.calls).toHaveLength(made);
    const paused = {
      failure: 'RateLimited',
      details: expect.objectContaining({
        message: expect.stringContaining('nothing was sent'),
        retryAfter: expect.any(Number),
      }),
    };
    expect(polls).toEqual([paused, paused]);
    for (const one of polls) expect(Object(one).details.retryAfter).toBeGreaterThan(30);
  });

  describe('that is local', () => {
    let server: RawServer;
    afterEach(() => server.close());

    it('ends with the answers it has, and gives up the others', async () => {
      const time = new AbortController();
      jest.spyOn(AbortSignal, 'timeout').mockReturnValue(time.signal);
      server = await startRawServer((request) => {
        if (!request.line.includes('slow')) return replyJson(request, { status: 'running' });
      });
      const { pollVideos } = world.activitiesAt(server.url);
      const attempt = world.run(pollVideos, { taskIds: ['quick', 'slow'] }, { isLocal: true });
      const [first, second] = [await server.nextRequest(), await server.nextRequest()];
      time.abort();
      expect(await attempt.result).toEqual([{ status: running('running') }, 'not-yet']);
      await closed((first.line.includes('slow') ? first : second).socket);
    });
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

describe('the polls of one activity', () => {
  it('are a few at a time, and all are made', async () => {
    let inProgress = 0;
    let most = 0;
    const pollTask = async (taskId: string) => {
      most = Math.max(most, ++inProgress);
      await laterOn();
      inProgress -= 1;
      return running(taskId);
    };
    const taskIds = ids(TASKS_PER_POLL);
    const polls = await pollWith(pollTask, taskIds).result;
    expect(most).toBe(POLLS_AT_ONCE);
    expect(polls).toEqual(taskIds.map((word) => ({ status: running(word) })));
  });

  it('are returned in the order of the tasks, whatever order they end in', async () => {
    const ends: (() => void)[] = [];
    const pollTask = (taskId: string) =>
      new Promise<TaskStatus>((resolve) => ends.push(() => resolve(running(taskId))));
    const attempt = pollWith(pollTask, ids(4));
    for (const end of ends.reverse()) end();
    expect(await attempt.result).toEqual(ids(4).map((word) => ({ status: running(word) })));
  });

  it('are none when there are no tasks', async () => {
    expect(await pollWith(() => Promise.reject(new Error('a poll')), []).result).toEqual([]);
  });

  it.each([
    ['regular', { isLocal: false, limitMs: SHARED_POLL_MS }],
    ['local', { isLocal: true, limitMs: QUICK_POLL_MS }],
  ])(
    'start within the time limit of a %s activity: later ones are not-yet, and those in progress are awaited',
    async (_, { isLocal, limitMs }) => {
      let nowMs = 1_000_000;
      jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
      const started: string[] = [];
      const pollTask = async (taskId: string) => {
        started.push(taskId);
        await laterOn();
        // The limit passes during the second round.
        if (started.length === 2 * POLLS_AT_ONCE) nowMs += limitMs;
        return running(taskId);
      };
      const taskIds = ids(TASKS_PER_POLL);
      const polls = await pollWith(pollTask, taskIds, isLocal).result;
      expect(started).toEqual(taskIds.slice(0, 2 * POLLS_AT_ONCE));
      expect(polls).toEqual(
        taskIds.map((word, index) => (index < 2 * POLLS_AT_ONCE ? { status: running(word) } : 'not-yet')),
      );
    },
  );

  it('that fail do not stop the others, however many fail', async () => {
    const pollTask = async (taskId: string) => {
      if (taskId === 'task-30') return running(taskId);
      throw createFailure('ServiceFailed', { taskId, status: 500 }, { retryable: true });
    };
    const taskIds = ids(30);
    const polls = await pollWith(pollTask, taskIds).result;
    expect(polls.pop()).toEqual({ status: running('task-30') });
    expect(polls).toEqual(
      taskIds.slice(0, -1).map((taskId) => ({ failure: 'ServiceFailed', details: { taskId, status: 500 } })),
    );
  });

  it('fail the activity when one throws an unknown error, and no more are started', async () => {
    const started: string[] = [];
    const pollTask = async (taskId: string) => {
      started.push(taskId);
      await laterOn();
      if (taskId === 'task-1') throw new TypeError('x is not a function');
      return running(taskId);
    };
    const attempt = pollWith(pollTask, ids(TASKS_PER_POLL));
    await expect(attempt.result).rejects.toThrow('x is not a function');
    const before = started.length;
    for (let turn = 0; turn < 10; turn++) await laterOn();
    expect(started).toHaveLength(before);
  });

  it('of a cancelled activity do not report the cancellation as a failure of a task', async () => {
    const pending: ((error: Error) => void)[] = [];
    const pollTask = () => new Promise<TaskStatus>((_, reject) => pending.push(reject));
    const attempt = pollWith(pollTask, ids(2));
    attempt.cancel();
    // An aborted request may look like this.
    for (const fail of pending) fail(createFailure('ServiceUnreachable'));
    const { failure } = await failureOf(attempt);
    expect(failure.type).toBe('ServiceUnreachable');
  });
});
