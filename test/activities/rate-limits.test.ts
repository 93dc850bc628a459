import { createVideoActivities, type VideoActivities } from '../../activities';
import { type CancelAnswer, ServiceFault, type TaskReading } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import type { EmulatedCall } from '../../src/testing/faults';
import { type ActivityWorld, type Attempt, asJob, createActivityWorld, failureOf } from './activity-world';
import { createMemoryWorld, reading } from './memory-world';

const request = { prompt: 'A red fox' };

describe('a worker process', () => {
  /** The pause outlasts the test. */
  const limited = { kind: 'rate-limited', retryAfter: 60 } as const;
  let world: ActivityWorld;
  let activities: VideoActivities;
  let taskId: string;
  beforeEach(async () => {
    world = await createActivityWorld();
    // One rate limiter for all calls of a test.
    activities = createVideoActivities({ service: world.service, storage: createFileStorage(world.folder) });
    ({ taskId } = await world.run(activities.submitVideo, { request }).result);
  });
  afterEach(() => world.close());

  const CALLS = ['submit', 'status', 'download'] as const;
  const calls: Record<(typeof CALLS)[number], () => Attempt<unknown>> = {
    submit: () => world.run(activities.submitVideo, { request }, asJob()),
    status: () => world.run(activities.pollVideo, { taskId }),
    download: () => world.run(activities.downloadVideo, { taskId }),
  };
  const countOf = (call: EmulatedCall) => world.emulator.calls.filter((made) => made.call === call).length;

  test.each(CALLS)(
    'pauses that call for every job after a 429 to a %s, and no other call',
    async (limitedCall) => {
      world.emulator.next(limitedCall, limited);
      await failureOf(calls[limitedCall]());
      const made = countOf(limitedCall);
      const { failure, details } = await failureOf(calls[limitedCall]());
      expect([failure.type, failure.nonRetryable]).toEqual(['RateLimited', false]);
      expect(failure.message).toContain('nothing was sent');
      expect(details.retryAfter).toBeGreaterThan(30);
      expect(details.retryAfter).toBeLessThanOrEqual(60);
      expect(countOf(limitedCall)).toBe(made);
      // A download polls first.
      const others = (['submit', 'status'] as const).filter((call) => call !== limitedCall);
      for (const other of others) await calls[other]().result;
    },
  );

  test('lets one submit through before the guessed pause is over when a task ends', async () => {
    world.emulator.next('submit', { kind: 'rate-limited' });
    await failureOf(calls.submit());
    await calls.status().result;
    await calls.submit().result;
    expect((await failureOf(calls.submit())).failure.message).toContain('nothing was sent');
  });
});

const LIMITED = new ServiceFault('answered', { status: 429, limited: true, retryAfterMs: 60_000 });

type State = TaskReading['task']['state'];
test.each<[what: string, state: State | CancelAnswer, makesRoom: boolean]>([
  ['a poll finds it succeeded', 'succeeded', true],
  ['a poll finds it failed', 'failed', true],
  ['a poll finds it running', 'running', false],
  ['a poll finds it in an unknown state', 'unknown', false],
  ['the service is asked to cancel it, because nobody polls it any more', 'asked', true],
  ['the service does not cancel tasks', 'not-offered', false],
])('a task makes room for a submit that was limited when %s: %s, %j', async (_what, end, makesRoom) => {
  let isLimited = true;
  const isCancel = end === 'asked' || end === 'not-offered';
  const { submit, poll, cancel } = createMemoryWorld(undefined, {
    service: {
      start: async () => {
        if (!isLimited) return { taskId: 'task-2' };
        isLimited = false;
        throw new ServiceFault('answered', { status: 429, limited: true });
      },
      status: async () => reading({ state: isCancel ? 'running' : end, word: 'w' } as TaskReading['task']),
      cancel: async () => (isCancel ? end : 'not-offered'),
    },
  });
  await failureOf(submit({}, asJob()));
  await (isCancel ? cancel() : poll()).result;
  const next = submit({}, asJob());
  if (makesRoom) expect(await next.result).toMatchObject({ taskId: 'task-2' });
  else expect((await failureOf(next)).failure.message).toContain('nothing was sent');
});

test.each<[string, object, boolean]>([
  ['goes on at a server that skips time, where the pause would last by the clock', { testService: {} }, true],
  ['pauses at any other server', {}, false],
])('after a 429 a worker %s', async (_what, connection, goesOn) => {
  const answers = [() => Promise.reject(LIMITED), async () => reading({ state: 'running', word: 'w' })];
  const status = () => answers.shift()?.() ?? Promise.reject(new Error('a third poll'));
  const { poll } = createMemoryWorld(undefined, { service: { status } });
  await failureOf(poll({}, {}, { connection }));
  const next = poll({}, {}, { connection });
  if (goesOn) expect(await next.result).toMatchObject({ state: 'running' });
  else expect((await failureOf(next)).details.message).toContain('nothing was sent');
});
