import { once } from 'node:events';
import { CancelledFailure, type MetricMeter } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createVideoActivities, type VideoActivities } from '../../activities';
import { HEARTBEAT_EVERY_MS, RETRY_AFTER_MAX_MS } from '../../src/contract/policies';
import {
  type CancelAnswer,
  ServiceFault,
  type ServiceProfile,
  type TaskReading,
  type VideoService,
} from '../../src/service';
import { createFileStorage } from '../../src/storage';
import type { EmulatedCall } from '../../src/testing/faults';
import { fc } from '../support/properties';
import {
  type ActivityWorld,
  type Attempt,
  asJob,
  createActivityWorld,
  expectFailure,
  failureOf,
  loggerInto,
} from './activity-world';
import { createMemoryWorld, reading, recordedBy, SUCCEEDED, TASK } from './memory-world';

type Task = TaskReading['task'];
type PollInput = Parameters<VideoActivities['pollVideo']>[0];

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const ADDRESS = 'https://ark.example/';
const RUNNING: Task = { state: 'running', word: 'running' };
const UNKNOWN: Task = { state: 'unknown', word: 'brewing' };
const LIMITED = new ServiceFault('answered', { status: 429, limited: true, retryAfterMs: 60_000 });

/** A service that no test calls, but for what it replaces. */
const IDLE = {
  start: async () => ({ taskId: TASK }),
  status: async () => reading(RUNNING),
  open: () => Promise.reject(new Error('not asked')),
};

/** A world whose service gives these answers to polls, one after the other, and is running otherwise. */
function answering(...readings: Partial<TaskReading>[]) {
  return createMemoryWorld(undefined, {
    service: { status: async () => reading(RUNNING, readings.shift()) },
  });
}

/** What a poll found, without when the next one is. */
async function found({ result }: ReturnType<ReturnType<typeof answering>['poll']>): Promise<object> {
  const { nextPollMs, ...status } = await result;
  expect(nextPollMs).toBeGreaterThanOrEqual(SECOND);
  return status;
}

describe('a poll', () => {
  test('finds a task queued, then running, then with a video, and never returns its link or the key', async () => {
    const JOB_TIME_MS = 100_000;
    let nowMs = 0;
    const world = await createActivityWorld({ jobTimeMs: JOB_TIME_MS, clock: () => nowMs });
    const { submitVideo, pollVideo } = world.activities;
    const { taskId } = await world.run(submitVideo, { request: { prompt: 'A red fox' } }).result;
    const polls = [];
    for (nowMs of [0, 5_000, 60_000, JOB_TIME_MS]) polls.push(await found(world.run(pollVideo, { taskId })));
    expect(polls).toEqual([
      { state: 'queued', word: 'queued', percent: 0 },
      { state: 'queued', word: 'queued', percent: 5, progress: { percent: 5, atMs: 0 } },
      { state: 'running', word: 'running', percent: 60, progress: { percent: 60, atMs: 0 } },
      { state: 'succeeded', word: 'succeeded', hasVideo: true },
    ]);
    expect(world.everythingReported()).not.toContain(world.emulator.linkSignature);
    expect(world.everythingReported()).not.toContain(world.emulator.apiKey);
    await world.close();
  });

  const LINK = { videoUrl: 'https://cdn.example.com/fox.mp4' };
  const COST = { charged: { amount: 1.5, currency: 'USD' } };
  const FREE = { charged: { amount: 0, currency: 'USD' } };
  const MESSAGE = { code: 'foxes', message: 'Not this.' };
  const DONE: Task = { state: 'succeeded', word: 'done' };
  const FAILED: Task = { state: 'failed', word: 'failed' };
  const ENDED: Task = { state: 'cancelled', word: 'user' };
  const REFUSED = { stage: 'prompt', charged: false } as const;
  const why = { serviceMessage: MESSAGE };

  test.each<[what: string, reading: Partial<TaskReading>, status: object]>([
    ['without a video', { task: DONE }, { ...DONE, hasVideo: false }],
    ['with a link', { task: { ...DONE, ...LINK }, ...COST }, { ...DONE, hasVideo: true, ...COST }],
    ['with its video', { task: { ...DONE, videoBytes: Buffer.from('f') } }, { ...DONE, hasVideo: true }],
    ['failed', { task: FAILED, ...why, ...COST }, { ...FAILED, ...MESSAGE, ...COST }],
    ['refused', { task: FAILED, refusedContent: REFUSED }, { ...FAILED, refused: REFUSED, ...FREE }],
    ['cancelled', { task: ENDED, ...why, ...COST }, { ...ENDED, ...MESSAGE, ...COST }],
  ])('finds a task %s, and what it says about that', async (_what, answer, status) => {
    expect(await found(answering(answer).poll())).toStrictEqual(status);
  });

  test.each(['queued', 'running'] as const)(
    'finds the progress of a task that is %s, of which a lower percentage says nothing new',
    async (state) => {
      const world = answering(...[40, 30].map((percent) => ({ task: { state, word: 'w', percent } })));
      const progress = { percent: 40, atMs: 7 };
      expect(await found(world.poll({ waitedMs: 7 }))).toEqual({ state, word: 'w', percent: 40, progress });
      const second = await found(world.poll({ waitedMs: 9, progress }));
      expect(second).toEqual({ state, word: 'w', percent: 30, progress });
    },
  );

  test('is logged with what it found, and warns once of a state that it does not know', async () => {
    const unknown = { task: UNKNOWN };
    const world = answering({ task: { ...RUNNING, percent: 40 } }, {}, unknown, unknown);
    for (const _ of [1, 2, 3, 4]) await world.poll().result;
    expect(world.linesOf('polled')).toEqual([
      { taskId: TASK, state: 'running', percent: 40 },
      { taskId: TASK, state: 'running' },
      { taskId: TASK, state: 'unknown' },
      { taskId: TASK, state: 'unknown' },
    ]);
    expect(world.linesOf('unknownState')).toEqual([{ taskId: TASK, state: 'brewing' }]);
  });

  test.each([
    ['heartbeats while it waits for the answer', {}, 2],
    ['has no heartbeats as a local activity: the SDK would warn of each', { isLocal: true }, 0],
  ])('%s, and none after its end', async (_what, info, beats) => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
    try {
      const status = async () => {
        await jest.advanceTimersByTimeAsync(2 * HEARTBEAT_EVERY_MS);
        throw new ServiceFault('cut', {});
      };
      const attempt = createMemoryWorld(undefined, { service: { status } }).poll({}, info);
      await failureOf(attempt);
      await jest.advanceTimersByTimeAsync(2 * HEARTBEAT_EVERY_MS);
      expect(attempt.beats).toHaveLength(beats);
    } finally {
      jest.useRealTimers();
    }
  });

  test('ends as cancelled when it is cancelled while it waits for the answer', async () => {
    const status: VideoService['status'] = async (_taskId, { signal } = {}) => {
      await once(signal ?? new EventTarget(), 'abort');
      throw signal?.reason;
    };
    const attempt = createMemoryWorld(undefined, { service: { status } }).poll();
    attempt.cancel();
    await expect(attempt.result).rejects.toBeInstanceOf(CancelledFailure);
  });
});

/** Workers at a service whose profile says this about polls; nobody has polled a task of a new kind there. */
function pollsAt(polling?: ServiceProfile['polling']) {
  let answer = reading(RUNNING);
  const world = createMemoryWorld(undefined, {
    service: { address: ADDRESS, profile: { polling }, status: async () => answer },
  });
  let kinds = 0;
  const poll = async (now: TaskReading, input: Partial<PollInput>) => {
    answer = now;
    return (await world.poll(input).result).nextPollMs;
  };
  return {
    newKind: () => `kind ${++kinds}`,
    /** Polls tasks that have taken this long, which the worker remembers. */
    async learn(kind: string, endedMs: readonly number[]) {
      for (const ms of endedMs) await poll(SUCCEEDED, { kind, polledMs: ms, waitedMs: ms });
    },
    /** When a task that still runs is polled next. */
    delayMs: ({ retryAfterMs, ...input }: Partial<PollInput> & { retryAfterMs?: number } = {}) =>
      poll(reading(RUNNING, { retryAfterMs }), input),
  };
}

describe('the time of the next poll', () => {
  const { newKind, learn, delayMs } = pollsAt();

  const halfDone = { percent: 50, atMs: 60 * SECOND };
  test.each<[what: string, ended: number[], at: Partial<PollInput>, ms: number]>([
    ['after a new task', [], {}, 3_862],
    ['in its first minute', [], { waitedMs: 30 * SECOND }, 8_418],
    ['around the time that many take', [], { waitedMs: 100 * SECOND }, 7_768],
    ['when almost all have ended', [], { waitedMs: 3_600 * SECOND }, 108_000],
    ['after one that took a minute', [60], {}, 29_613],
    ['after some that took about that', [50, 60, 75], {}, 42_392],
    ['after those, near their end', [50, 60, 75], { waitedMs: 55 * SECOND }, 3_712],
    ['after those, much later', [50, 60, 75], { waitedMs: 200 * SECOND }, 8_256],
    ['after one that had ended at once', [0], {}, 2_000],
    ['when it is half done', [], { waitedMs: 60 * SECOND, progress: halfDone }, 32_055],
    ['when it was half done for some time', [50], { waitedMs: 80 * SECOND, progress: halfDone }, 16_256],
    [
      'at the least percentage that counts',
      [],
      { waitedMs: 9 * SECOND, progress: { percent: 10, atMs: 9 * SECOND } },
      36_863,
    ],
    ['within its own rules', [], { polling: { min: '9s', max: '9s' } }, 9_000],
    ['with more time, within its own rules', [300], { waitedMs: SECOND, polling: { max: '1h' } }, 32_055],
  ])('is worked out from what is known %s', async (_what, ended, given, ms) => {
    const kind = newKind();
    await learn(
      kind,
      ended.map((seconds) => seconds * SECOND),
    );
    expect(await delayMs({ kind, ...given })).toBe(ms);
  });

  test.each([
    ['below 10 %', { percent: 5, atMs: 60 * SECOND }],
    ['of 100 % without a video', { percent: 100, atMs: 60 * SECOND }],
    ['that has not risen for too long', { percent: 80, atMs: 40 * SECOND }],
    ['that is not a number', { percent: Number.NaN, atMs: 60 * SECOND }],
  ])('does not follow a percentage %s', async (_name, progress) => {
    const waitedMs = 60 * SECOND;
    expect(await delayMs({ waitedMs, progress })).toBe(await delayMs({ waitedMs }));
  });

  test('follows a percentage as soon as a poll has found it', async () => {
    const waited = { waitedMs: 1_200_000, polling: { max: HOUR } };
    const world = answering({ task: { ...RUNNING, percent: 50 } });
    // A task that was half done after twenty minutes is not polled for some of the next twenty.
    expect((await world.poll(waited).result).nextPollMs).toBeGreaterThan(300_000);
    expect((await world.poll(waited).result).nextPollMs).toBeLessThan(300_000);
  });

  test('respects the delay that the service asked for, up to ten minutes, whatever the state of the task', async () => {
    expect(await delayMs({ retryAfterMs: 200 * SECOND })).toBe(200 * SECOND);
    expect(await delayMs({ retryAfterMs: HOUR })).toBe(RETRY_AFTER_MAX_MS);
    expect(await delayMs({ retryAfterMs: 1 })).toBe(await delayMs());
    const unknown = answering({ task: UNKNOWN, retryAfterMs: 90_000 });
    expect((await unknown.poll().result).nextPollMs).toBe(90_000);
  });

  test('follows the rules of the job, else those of the profile', async () => {
    const ofProfile = pollsAt({ min: '40s', max: '40s' });
    expect(await ofProfile.delayMs()).toBe(40 * SECOND);
    expect(await ofProfile.delayMs({ polling: { min: '50s' } })).toBe(50 * SECOND);
    const quick = { min: '1s', max: 3_000 };
    expect(await ofProfile.delayMs({ polling: quick })).toBeLessThanOrEqual(3 * SECOND);
  });

  test('is never sooner than after a second, and a long minimum raises the maximum', async () => {
    expect(await delayMs({ polling: { min: 1, max: 1 } })).toBe(SECOND);
    expect(await delayMs({ polling: { min: '1h' } })).toBe(HOUR);
  });

  test('is a whole number of milliseconds within the rules, whatever was learned', async () => {
    const ms = fc.integer({ min: 0, max: 7 * 24 * HOUR });
    const bound = fc.integer({ min: 1, max: HOUR });
    const task = fc.record({
      waitedMs: ms,
      progress: fc.option(fc.record({ percent: fc.double(), atMs: ms }), { nil: undefined }),
      polling: fc.record({ min: bound, max: bound }),
    });
    const isWithinRules = fc.asyncProperty(
      task,
      fc.array(ms, { maxLength: 20 }),
      async (waiting, endedMs) => {
        const kind = newKind();
        await learn(kind, endedMs);
        const { min, max } = waiting.polling;
        const nextMs = await delayMs({ kind, ...waiting });
        expect(Number.isSafeInteger(nextMs)).toBe(true);
        expect(nextMs).toBeGreaterThanOrEqual(Math.max(min, SECOND));
        expect(nextMs).toBeLessThanOrEqual(Math.max(min, max, SECOND));
      },
    );
    await fc.assert(isWithinRules, { numRuns: 150 });
  });

  test('follows the last 100 tasks of a kind', async () => {
    const [kind, ofLast, ofAll] = [newKind(), newKind(), newKind()];
    const times = (slow: number, quick: number) => [
      ...Array<number>(slow).fill(90 * SECOND),
      ...Array<number>(quick).fill(20 * SECOND),
    ];
    await learn(kind, times(100, 60));
    await learn(ofLast, times(40, 60));
    await learn(ofAll, times(63, 37));
    expect(await delayMs({ kind })).toBe(await delayMs({ kind: ofLast }));
    expect(await delayMs({ kind })).not.toBe(await delayMs({ kind: ofAll }));
  });

  test('follows the 64 kinds of which a task ended last', async () => {
    const worker = pollsAt();
    const [first, second, third, last] = [0, 1, 2, 3].map(worker.newKind) as [string, string, string, string];
    const others = Array.from({ length: 61 }, worker.newKind);
    for (const kind of [first, second, third, ...others, first, last])
      await worker.learn(kind, [30 * SECOND]);
    const unknown = await worker.delayMs();
    const isKnown = async (kind: string) => (await worker.delayMs({ kind })) !== unknown;
    expect([await isKnown(first), await isKnown(second)]).toEqual([true, false]);
    expect([await isKnown(third), await isKnown(last)]).toEqual([true, true]);
  });
});

describe('a worker', () => {
  const REQUEST = { prompt: 'A red fox', resolution: '720p', duration: 5 } as const;
  const submitAt = (service: object, input: object = {}) =>
    createMemoryWorld(undefined, { service, services: { veo: { ...IDLE, address: ADDRESS } } }).submit(
      { request: REQUEST, ...input },
      asJob(),
    ).result;

  test('files tasks under what decides how long they take', async () => {
    const profile = { requestFields: ['model'] };
    const kindOf = async (more: object) =>
      (await submitAt({ address: ADDRESS, profile }, { request: { ...REQUEST, ...more } })).kind;
    expect(await kindOf({})).toBe(`${ADDRESS} text 720p 5s`);
    expect(await kindOf({ image_url: 'https://example.com/a.png', model: 'm1' })).toBe(
      `${ADDRESS} image 720p 5s m1`,
    );
    expect(await kindOf({ duration: undefined, resolution: undefined, model: 7 })).toBe(`${ADDRESS} text`);
    expect(await kindOf({ model: 'm'.repeat(500) })).toHaveLength(320);
    expect((await submitAt({}, { service: 'veo' })).kind).toBe(`veo at ${ADDRESS} text 720p 5s`);
    expect((await submitAt({ address: undefined })).kind).toBeUndefined();
  });

  const NO_VIDEO = reading({ state: 'succeeded', word: 'done' });
  test.each<[what: string, learns: boolean, polled: object, status?: TaskReading]>([
    ['learns from a task that ended when to poll the next one of its kind', true, {}],
    ['learns nothing from a task that was adopted', false, { kind: undefined }],
    ['learns nothing from a task whose first poll this was', false, { polledMs: undefined }],
    ['learns nothing from a task that has no video yet', false, {}, NO_VIDEO],
  ])('%s', async (_what, learns, polled, status = SUCCEEDED) => {
    const world = createMemoryWorld(undefined, { service: { status: async () => status } });
    const submit = (more: object = {}) => world.submit({ request: { ...REQUEST, ...more } }, asJob()).result;
    const { kind, nextPollMs } = await submit();
    await world.poll({ kind, polledMs: 60_000, waitedMs: 65_000, ...polled }).result;
    expect((await submit()).nextPollMs !== nextPollMs).toBe(learns);
    const why = learns ? 'by the last 1 such tasks' : 'because no such task has ended here yet';
    expect(world.linesOf('submitted')[1]).toMatchObject({ firstPoll: expect.stringContaining(why) });
    for (const other of [{ resolution: '480p' }, { duration: 6 }])
      expect((await submit(other)).nextPollMs).toBe(nextPollMs);
  });
});

const cancelling = (cancel: () => Promise<CancelAnswer>) =>
  createMemoryWorld(undefined, { service: { cancel } });

describe('a cancellation of a task', () => {
  const refusing = (status: number) =>
    cancelling(() => Promise.reject(new ServiceFault('answered', { status })));

  test('is logged only if the service was asked', async () => {
    for (const answer of ['asked', 'not-offered'] as const) {
      const world = cancelling(async () => answer);
      expect(await world.cancel().result).toBe(answer);
      expect(world.linesOf('cancelAsked')).toEqual(answer === 'asked' ? [{ taskId: TASK }] : []);
    }
  });

  test('is given up with its activity', async () => {
    let isAborted = false;
    const cancel: VideoService['cancel'] = async (_taskId, { signal } = {}) => {
      if (signal) await once(signal, 'abort');
      isAborted = signal?.aborted ?? false;
      return 'asked';
    };
    const attempt = createMemoryWorld(undefined, { service: { cancel } }).cancel();
    attempt.cancel();
    await attempt.result.catch(() => undefined);
    expect(isAborted).toBe(true);
  });

  test.each([400, 409, 499])('that is answered %i is refused, and not tried again', async (status) => {
    expect(await refusing(status).cancel().result).toBe('refused');
  });

  test.each([399, 429, 500])(
    'that is answered %i fails with the task, and is tried again',
    async (status) => {
      const { failure, details } = await failureOf(refusing(status).cancel());
      expect(failure.nonRetryable).toBe(false);
      expect(details).toMatchObject({ status, taskId: TASK });
    },
  );
});

describe('after a 429, a worker process', () => {
  const request = { prompt: 'A red fox' };
  /** The pause outlasts the test. */
  const limited = { kind: 'rate-limited', retryAfter: 60 } as const;
  let world: ActivityWorld;
  let activities: VideoActivities;
  let taskId: string;
  beforeAll(async () => {
    world = await createActivityWorld();
    ({ taskId } = await world.run(world.activities.submitVideo, { request }).result);
  });
  beforeEach(() => {
    // One rate limiter for all calls of a test.
    activities = createVideoActivities({ service: world.service, storage: createFileStorage(world.folder) });
  });
  afterAll(() => world.close());

  const CALLS = ['submit', 'status', 'download'] as const;
  const calls: Record<(typeof CALLS)[number], () => Attempt<unknown>> = {
    submit: () => world.run(activities.submitVideo, { request }, asJob()),
    status: () => world.run(activities.pollVideo, { taskId }),
    download: () => world.run(activities.downloadVideo, { taskId }),
  };
  const countOf = (call: EmulatedCall) => world.emulator.calls.filter((made) => made.call === call).length;

  test.each(CALLS)('pauses each %s for every job, and no other call', async (limitedCall) => {
    world.emulator.next(limitedCall, limited);
    await failureOf(calls[limitedCall]());
    const made = countOf(limitedCall);
    const { failure, details } = await expectFailure(calls[limitedCall](), 'RateLimited', 'retryable');
    expect(failure.message).toContain('nothing was sent');
    expect(details.retryAfter).toBeGreaterThan(30);
    expect(details.retryAfter).toBeLessThanOrEqual(60);
    expect(countOf(limitedCall)).toBe(made);
    // A download polls first.
    const others = (['submit', 'status'] as const).filter((call) => call !== limitedCall);
    for (const other of others) await calls[other]().result;
  });

  test.each<[what: string, state: Task['state'] | CancelAnswer, makesRoom: boolean]>([
    ['a poll finds that a task succeeded', 'succeeded', true],
    ['a poll finds that a task failed', 'failed', true],
    ['a poll finds a task running', 'running', false],
    ['a poll finds a task in an unknown state', 'unknown', false],
    ['the service is asked to cancel a task, because nobody polls it any more', 'asked', true],
    ['the service does not cancel tasks', 'not-offered', false],
  ])('has room for a submit when %s: %s, %j', async (_what, end, makesRoom) => {
    let isLimited = true;
    const isCancel = end === 'asked' || end === 'not-offered';
    const { submit, poll, cancel } = createMemoryWorld(undefined, {
      service: {
        start: async () => {
          if (!isLimited) return { taskId: 'task-2' };
          isLimited = false;
          throw new ServiceFault('answered', { status: 429, limited: true });
        },
        status: async () => reading({ state: isCancel ? 'running' : end, word: 'w' } as Task),
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
    [
      'does not pause at a server that skips time, where it would last by the clock',
      { testService: {} },
      true,
    ],
    ['pauses at any other server', {}, false],
  ])('%s', async (_what, connection, isOff) => {
    const answers = [() => Promise.reject(LIMITED), async () => reading(RUNNING)];
    const status = () => answers.shift()?.() ?? Promise.reject(new Error('a third poll'));
    const { poll } = createMemoryWorld(undefined, { service: { status } });
    await failureOf(poll({}, {}, { connection }));
    const next = poll({}, {}, { connection });
    if (isOff) expect(await next.result).toMatchObject({ state: 'running' });
    else expect((await failureOf(next)).details.message).toContain('nothing was sent');
  });
});

describe('the calls of a service are counted', () => {
  const activitiesWith = (status: () => Promise<TaskReading>) =>
    createMemoryWorld(undefined, { service: { status }, services: { veo: { ...IDLE, status } } }).activities;
  const countedBy = ({ pollVideo }: VideoActivities, service?: string) =>
    recordedBy(() => pollVideo({ taskId: TASK, service }));
  const counted = (result: string, more = {}) => [
    { name: 'videogen_service_calls', value: 1, labels: { call: 'poll', result, ...more } },
  ];
  const running = async () => reading(RUNNING);

  test.each<[what: string, result: string, error: Error]>([
    ['a refusal', 'refused', new ServiceFault('answered', { status: 401 })],
    ['a refusal with status 200', 'refused', new ServiceFault('refused', {})],
    ['a cut connection', 'unanswered', new ServiceFault('cut', {})],
    ['an unreadable answer', 'unanswered', new ServiceFault('unreadable', {})],
    ['a connection that was not made', 'unanswered', new ServiceFault('not-sent', {})],
  ])('after %s as %s', async (_what, result, error) => {
    const recorded = await countedBy(activitiesWith(() => Promise.reject(error)));
    expect(recorded).toStrictEqual(counted(result));
  });

  test('with the name of the service if it has one, and not if the end says nothing about the service', async () => {
    expect(await countedBy(activitiesWith(running))).toStrictEqual(counted('passed'));
    const named = await countedBy(activitiesWith(running), 'veo');
    expect(named).toStrictEqual(counted('passed', { service: 'veo' }));
    for (const error of [new ServiceFault('not-allowed', {}), new Error('cancelled')])
      expect(await countedBy(activitiesWith(() => Promise.reject(error)))).toEqual([]);
  });

  test('as limited after a 429, and as paused when nothing is sent because of it', async () => {
    const activities = activitiesWith(() => Promise.reject(LIMITED));
    expect(await countedBy(activities)).toStrictEqual(counted('limited'));
    expect(await countedBy(activities)).toStrictEqual(counted('paused'));
  });

  test('by a meter that disturbs nobody when it fails', async () => {
    const failing = () => {
      throw new Error('no exporter');
    };
    const metricMeter = { createCounter: failing, createHistogram: failing } as object as MetricMeter;
    const environment = new MockActivityEnvironment({}, { metricMeter, logger: loggerInto([]) });
    const polled = environment.run(activitiesWith(running).pollVideo, { taskId: TASK });
    expect(await polled).toMatchObject({ state: 'running' });
  });
});

test('the first poll of a new kind of task comes when the profile expects its end, and the log says why', async () => {
  const usually = { median: '10m', slow: '11m' } as const;
  const firstPollAt = async (profile?: ServiceProfile) => {
    const { submit, linesOf } = createMemoryWorld(undefined, { service: { profile } });
    const { nextPollMs } = await submit().result;
    return { nextPollMs, line: linesOf('submitted')[0] };
  };
  const unknown = await firstPollAt();
  expect(unknown.nextPollMs).toBeLessThan(10 * SECOND);
  expect(unknown.line).toMatchObject({
    firstPoll: expect.stringContaining('because no such task has ended here yet'),
  });
  const described = await firstPollAt({ polling: { usually } });
  expect(described.nextPollMs).toBeGreaterThan(60 * SECOND);
  const { nextPollMs } = await firstPollAt({
    polling: { usually: { median: '10m', slow: '11m' }, max: '30s' },
  });
  expect(nextPollMs).toBe(30 * SECOND);
  expect(described.line).toMatchObject({ firstPoll: expect.stringContaining('as the profile expects') });
});
