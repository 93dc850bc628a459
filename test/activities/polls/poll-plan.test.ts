import { LearnedTimes, PollPlan, type WaitingTask } from '../../../activities/polls/poll-plan';
import { RETRY_AFTER_MAX_MS } from '../../../src/contract/policies';
import type { ServiceProfile } from '../../../src/service';
import { fc } from '../../support/properties';

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

const seen = (...seconds: number[]) => seconds.map((second) => second * SECOND);

describe('a task of which nothing is known', () => {
  it.each([1, 2, 3, 5, 10])('that ends after %d s is found within 4 s', (seconds) => {
    expect(follow(seconds * SECOND).lagMs).toBeLessThanOrEqual(4 * SECOND);
  });

  it('that ends after 3 s is found within 6 s', () => {
    expect(follow(3 * SECOND).lagMs).toBeLessThanOrEqual(3 * SECOND);
  });

  it.each([
    [60, 15, 9],
    [120, 25, 10],
    [300, 45, 15],
    [3_600, 130, 121],
  ])('that ends after %d s needs at most %d polls, and is found within %d s', (seconds, most, within) => {
    const { polls, lagMs } = follow(seconds * SECOND);
    expect(polls).toBeLessThanOrEqual(most);
    expect(lagMs).toBeLessThanOrEqual(within * SECOND);
  });

  it('is polled when its profile says that such tasks are ready', () => {
    const polling = { usually: { median: '10m', slow: '12m' } };
    expect(follow(600 * SECOND, { polling }).polls).toBeLessThan(20);
    expect(delayMs({}, { polling: { ...polling, max: '1h' } })).toBeGreaterThan(300 * SECOND);
  });
});

describe('tasks like those that ended', () => {
  it('are polled about when those ended, after a single one', () => {
    const world = { ended: seen(90) };
    expect(follow(90 * SECOND, world).polls).toBeLessThan(follow(90 * SECOND).polls);
  });

  it('wait for the moment at which all of them end', () => {
    const world = { ended: seen(...Array(50).fill(60)) };
    expect(delayMs({}, world)).toBeGreaterThan(55 * SECOND);
    expect(delayMs({}, world)).toBeLessThan(65 * SECOND);
  });

  it('are rarely polled between two groups, unless the longest delay is short', () => {
    const ended = seen(...Array(25).fill(20), ...Array(25).fill(100));
    const between = (max: number) => {
      let [waitedMs, polls] = [24 * SECOND, 0];
      for (; waitedMs < 90 * SECOND; polls++) waitedMs += delayMs({ waitedMs, polling: { max } }, { ended });
      return polls;
    };
    expect(between(120 * SECOND)).toBeLessThan(10);
    expect(between(4 * SECOND)).toBeGreaterThan(15);
  });

  it('do not follow those of another kind', () => {
    const learned = new LearnedTimes();
    for (const ms of seen(90, 91, 92))
      learned.learn({ kind: `${ADDRESS} text 720p 5s`, afterMs: ms, byMs: ms });
    const plan = new PollPlan({ service: { address: ADDRESS } }, learned);
    const unknown = plan.nextPollMs({});
    expect(plan.nextPollMs({ kind: 'image' })).toBe(unknown);
    expect(plan.nextPollMs({ kind: plan.kindOf(REQUEST) })).toBeGreaterThan(unknown);
  });

  it.each([
    ['like measured generations', (chance: number) => 75 + 30 * Math.exp(0.9 * deviation(chance))],
    ['in two groups', (chance: number) => (chance < 0.5 ? 20 + 10 * chance : 120 + 20 * chance)],
    ['mostly quick and sometimes very long', (chance: number) => 10 / (1 - chance) ** 0.9],
    ['within a second', (chance: number) => 0.5 + chance / 2],
    ['within an hour', (chance: number) => 3_000 + 600 * deviation(chance)],
  ])('cost less than equally many polls at equal delays, when they take %s', (_shape, secondsAt) => {
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
  });
});

describe('the next poll', () => {
  it('comes later and later once the task takes longer than almost all', () => {
    const delays = [1_200, 2_400, 3_600].map((seconds) => delayMs({ waitedMs: seconds * SECOND }));
    expect(delays).toEqual([...delays].sort((one, other) => one - other));
    expect(new Set(delays).size).toBe(3);
    expect(delayMs({ waitedMs: 10 * HOUR })).toBe(120 * SECOND);
  });

  it.each([
    [50, 60],
    [80, 120],
    [95, 300],
    [50, 1_200],
  ])('is close to the end when %d % took %d s, also when no task took so long before', (percent, waited) => {
    const waitedMs = waited * SECOND;
    const leftMs = (waitedMs * (100 - percent)) / percent;
    const nextMs = delayMs({ waitedMs, progress: { percent, atMs: waitedMs }, polling: { max: HOUR } });
    expect(nextMs).toBeGreaterThan(leftMs / 4);
    expect(nextMs).toBeLessThan(leftMs * 1.5);
  });

  it.each([
    ['below 10 %', { percent: 5, atMs: 60 * SECOND }],
    ['of 100 % without a video', { percent: 100, atMs: 60 * SECOND }],
    ['that has not risen for too long', { percent: 80, atMs: 40 * SECOND }],
    ['that is no number', { percent: Number.NaN, atMs: 60 * SECOND }],
  ])('does not follow a percentage %s', (_name, progress) => {
    expect(delayMs({ waitedMs: 60 * SECOND, progress })).toBe(delayMs({ waitedMs: 60 * SECOND }));
  });

  it('respects the delay that the service asked for, up to ten minutes', () => {
    expect(delayMs({ retryAfterMs: 200 * SECOND })).toBe(200 * SECOND);
    expect(delayMs({ retryAfterMs: HOUR })).toBe(RETRY_AFTER_MAX_MS);
    expect(delayMs({ retryAfterMs: 1 })).toBe(delayMs());
  });

  it('follows the job, else the profile', () => {
    const world: World = { polling: { min: '40s', max: '40s' } };
    expect(delayMs({}, world)).toBe(40 * SECOND);
    expect(delayMs({ polling: { min: '50s' } }, world)).toBe(50 * SECOND);
    expect(delayMs({ polling: { min: '1s', max: 3_000 } }, world)).toBeLessThanOrEqual(3 * SECOND);
  });

  it('is never sooner than after a second, and a long minimum raises the maximum', () => {
    expect(delayMs({ polling: { min: 1, max: 1 } })).toBe(SECOND);
    expect(delayMs({ polling: { min: '1h' } })).toBe(HOUR);
  });

  it('is a whole number of milliseconds within the rules, whatever was learned', () => {
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
});

test('a kind says what decides how long a task takes', () => {
  const kindOf = (more: object) => planIn().kindOf({ ...REQUEST, ...more });
  expect(kindOf({})).toBe(`${ADDRESS} text 720p 5s`);
  expect(kindOf({ image_url: 'https://example.com/a.png', model: 'm1' })).toBe(`${ADDRESS} image 720p 5s m1`);
  expect(kindOf({ duration: undefined, resolution: undefined, model: 7 })).toBe(`${ADDRESS} text`);
  expect(kindOf({ model: 'm'.repeat(500) })).toHaveLength(320);
});

/** The normal deviate of a chance, close enough for a shape. */
function deviation(chance: number): number {
  return Math.log(chance / (1 - chance)) / 1.702;
}
