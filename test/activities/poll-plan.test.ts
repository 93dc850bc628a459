import { LearnedTimes, PollPlan, type WaitingTask } from '../../activities/polls/poll-plan';
import { RETRY_AFTER_MAX_MS } from '../../src/contract/policies';
import type { ServiceProfile } from '../../src/service';
import { fc } from '../support/properties';
import { asJob } from './activity-world';
import { createMemoryWorld, type MemoryWorldOptions, reading } from './memory-world';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const REQUEST = { prompt: 'A red fox', resolution: '720p', duration: 5 } as const;
const ADDRESS = 'https://ark.example/';

interface World {
  /** The times of tasks of the kind that have ended. */
  ended?: readonly number[];
  polling?: ServiceProfile['polling'];
}

function planIn({ ended = [], polling }: World = {}): PollPlan {
  const learned = new LearnedTimes();
  jest.spyOn(learned, 'endedOf').mockReturnValue(ended);
  const service = { address: ADDRESS, profile: { polling } };
  return new PollPlan({ service }, learned);
}

const delayMs = (task: WaitingTask = {}, world: World = {}) =>
  planIn(world).nextPollMs({ kind: 'text 720p 5s', ...task });

/** Polls a task that ends then, without progress. */
function follow(endMs: number, world: World = {}, polling?: WaitingTask['polling']) {
  const plan = planIn(world);
  let [waitedMs, polls] = [0, 0];
  while (waitedMs < endMs) {
    waitedMs += plan.nextPollMs({ kind: 'any', waitedMs, polling });
    polls++;
  }
  return { polls, lagMs: waitedMs - endMs };
}

test.each([1, 2, 3, 5, 10])(
  'a task of which nothing is known that ends after %d s is found within 4 s',
  (seconds) => {
    expect(follow(seconds * SECOND).lagMs).toBeLessThanOrEqual(4 * SECOND);
  },
);

test.each([
  [60, 15, 9],
  [120, 25, 10],
  [300, 45, 15],
  [3_600, 130, 121],
])(
  'a task of which nothing is known that ends after %d s needs at most %d polls, and is found within %d s',
  (seconds, most, within) => {
    const { polls, lagMs } = follow(seconds * SECOND);
    expect(polls).toBeLessThanOrEqual(most);
    expect(lagMs).toBeLessThanOrEqual(within * SECOND);
  },
);

test.each([
  ['like measured generations', (chance: number) => 75 + 30 * Math.exp(0.9 * deviation(chance))],
  ['in two groups', (chance: number) => (chance < 0.5 ? 20 + 10 * chance : 120 + 20 * chance)],
  ['mostly quick and sometimes very long', (chance: number) => 10 / (1 - chance) ** 0.9],
])(
  'tasks like those that ended cost less than equally many polls at equal delays, when they take %s',
  (_shape, secondsAt) => {
    const tasks = Array.from({ length: 100 }, (_, index) => secondsAt((index + 0.5) / 100) * SECOND);
    const ended = tasks.map((ms) => ms + SECOND / 2);
    const delays = new Map<number, number>();
    const planned = tasks.map((endMs) => {
      let [waitedMs, polls] = [0, 0];
      for (; waitedMs < endMs; polls++) {
        const known = delays.get(waitedMs) ?? delayMs({ waitedMs }, { ended });
        delays.set(waitedMs, known);
        waitedMs += known;
      }
      return { polls, lagMs: waitedMs - endMs };
    });
    const cost = (polls: number, lagMs: number) => polls + (3.5 * lagMs) / SECOND;
    const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
    const ofEqual = (pauseMs: number) => {
      const polls = tasks.map((endMs) => Math.ceil(endMs / pauseMs));
      return cost(sum(polls), sum(polls.map((count, task) => count * pauseMs - (tasks[task] ?? 0))));
    };
    const best = Math.min(...Array.from({ length: 119 }, (_, index) => ofEqual((index + 2) * SECOND)));
    const ours = cost(sum(planned.map(({ polls }) => polls)), sum(planned.map(({ lagMs }) => lagMs)));
    expect(ours).toBeLessThan(best * 1.1);
  },
);

test.each([
  [50, 60],
  [95, 300],
  [50, 1_200],
])(
  'the next poll is close to the end when %d % took %d s, also when no task took so long before',
  (percent, waited) => {
    const waitedMs = waited * SECOND;
    const leftMs = (waitedMs * (100 - percent)) / percent;
    const nextMs = delayMs({ waitedMs, progress: { percent, atMs: waitedMs }, polling: { max: HOUR } });
    expect(nextMs).toBeGreaterThan(leftMs / 4);
    expect(nextMs).toBeLessThan(leftMs * 1.5);
  },
);

test.each([
  ['below 10 %', { percent: 5, atMs: 60 * SECOND }],
  ['of 100 % without a video', { percent: 100, atMs: 60 * SECOND }],
  ['that has not risen for too long', { percent: 80, atMs: 40 * SECOND }],
  ['that is no number', { percent: Number.NaN, atMs: 60 * SECOND }],
])('the next poll does not follow a percentage %s', (_name, progress) => {
  expect(delayMs({ waitedMs: 60 * SECOND, progress })).toBe(delayMs({ waitedMs: 60 * SECOND }));
});

test('the next poll respects the delay that the service asked for, up to ten minutes', () => {
  expect(delayMs({ retryAfterMs: 200 * SECOND })).toBe(200 * SECOND);
  expect(delayMs({ retryAfterMs: HOUR })).toBe(RETRY_AFTER_MAX_MS);
  expect(delayMs({ retryAfterMs: 1 })).toBe(delayMs());
});

test('the next poll follows the job, else the profile', () => {
  const world: World = { polling: { min: '40s', max: '40s' } };
  expect(delayMs({}, world)).toBe(40 * SECOND);
  expect(delayMs({ polling: { min: '50s' } }, world)).toBe(50 * SECOND);
  expect(delayMs({ polling: { min: '1s', max: 3_000 } }, world)).toBeLessThanOrEqual(3 * SECOND);
});

test('the next poll is never sooner than after a second, and a long minimum raises the maximum', () => {
  expect(delayMs({ polling: { min: 1, max: 1 } })).toBe(SECOND);
  expect(delayMs({ polling: { min: '1h' } })).toBe(HOUR);
});

test('the next poll is a whole number of milliseconds within the rules, whatever was learned', () => {
  const ms = fc.integer({ min: 0, max: 7 * 24 * HOUR });
  const task = fc.record({
    waitedMs: ms,
    progress: fc.option(fc.record({ percent: fc.double(), atMs: ms }), { nil: undefined }),
    polling: fc.record({
      min: fc.integer({ min: 1, max: HOUR }),
      max: fc.integer({ min: 1, max: HOUR }),
    }),
  });
  const ended = fc.array(ms, { maxLength: 20 });
  fc.assert(
    fc.property(task, ended, (waiting, endedMs) => {
      const { min, max } = waiting.polling;
      const nextMs = delayMs(waiting, { ended: endedMs });
      expect(Number.isSafeInteger(nextMs)).toBe(true);
      expect(nextMs).toBeGreaterThanOrEqual(Math.max(min, SECOND));
      expect(nextMs).toBeLessThanOrEqual(Math.max(min, max, SECOND));
    }),
    { numRuns: 300 },
  );
});

test('a kind says what decides how long a task takes', () => {
  const kindOf = (more: object) => planIn().kindOf({ ...REQUEST, ...more });
  expect(kindOf({})).toBe(`${ADDRESS} text 720p 5s`);
  expect(kindOf({ image_url: 'https://example.com/a.png', model: 'm1' })).toBe(`${ADDRESS} image 720p 5s m1`);
  expect(kindOf({ duration: undefined, resolution: undefined, model: 7 })).toBe(`${ADDRESS} text`);
  expect(kindOf({ model: 'm'.repeat(500) })).toHaveLength(320);
});

describe('of the tasks that ended, a worker knows', () => {
  const KIND = 'text 720p 5s';
  const task = (ms: number, kind = KIND) => ({ kind, afterMs: ms - 1, byMs: ms + 1 });

  it('the last 100 of each kind', () => {
    const times = new LearnedTimes();
    for (let learned = 0; learned < 100; learned++) times.learn(task(90_000));
    for (let learned = 0; learned < 60; learned++) times.learn(task(1_000));
    expect(times.endedOf(KIND)).toEqual([...Array(40).fill(90_000), ...Array(60).fill(1_000)]);
    expect(times.endedOf('another')).toEqual([]);
    expect(times.endedOf(undefined)).toEqual([]);
  });

  it('the 64 kinds of which a task ended last', () => {
    const times = new LearnedTimes();
    for (let other = 0; other < 64; other++) times.learn(task(1, `other ${other}`));
    times.learn(task(2, 'other 0'));
    times.learn(task(1, 'new'));
    const known = ['other 0', 'other 1', 'other 2', 'new'].map((kind) => times.endedOf(kind));
    expect(known).toEqual([[1, 2], [], [1], [1]]);
  });
});

describe('a worker', () => {
  const SUCCEEDED = reading({ state: 'succeeded', word: 'done', videoUrl: `${ADDRESS}fox.mp4` });

  /** A worker that has polled one task to its end, and whether it then knows anything about the next one. */
  function workerAt(service: MemoryWorldOptions['service'] = {}) {
    const world = createMemoryWorld(undefined, {
      service: { address: ADDRESS, status: async () => SUCCEEDED, ...service },
    });
    const submit = (more: object = {}) => world.submit({ request: { ...REQUEST, ...more } }, asJob()).result;
    return {
      ...world,
      knows: async (more?: object) => (await submit(more)).nextPollMs !== delayMs(),
      async end(more: object = {}) {
        const { kind } = await submit();
        await world.poll({ kind, polledMs: 60_000, waitedMs: 65_000, ...more }).result;
        return kind;
      },
    };
  }

  it('learns from a task that ended when to poll the next such task, and no other', async () => {
    const { knows, end } = workerAt();
    expect(await knows()).toBe(false);
    expect(await end()).toBe(`${ADDRESS} text 720p 5s`);
    expect(await knows()).toBe(true);
    for (const other of [{ resolution: '480p' }, { duration: 6 }, { image_url: 'https://example.com/a.png' }])
      expect(await knows(other)).toBe(false);
  });

  it.each<[string, MemoryWorldOptions['service'], object]>([
    ['a task that was adopted', {}, { kind: undefined }],
    [
      'a task that has no video yet',
      { status: async () => reading({ state: 'succeeded', word: 'done' }) },
      {},
    ],
    ['a service without a name and an address', { address: undefined }, {}],
  ])('learns nothing from %s', async (_what, service, polled) => {
    const { knows, end } = workerAt(service);
    await end(polled);
    expect(await knows()).toBe(false);
  });
});

/** The normal deviate of a chance, close enough for a shape. */
function deviation(chance: number): number {
  return Math.log(chance / (1 - chance)) / 1.702;
}
