import { RETRY_AFTER_MAX_MS } from '../../src/contract/policies';
import { SHARES, type UsualTimes, usualTimesOf } from '../../src/contract/usual-times';
import {
  DEFAULT_MAX_MS,
  DEFAULT_MIN_MS,
  DEFAULT_POLLS_PER_SECOND_SAVED,
  nextPollDelayMs,
  type PollSituation,
} from '../../workflows/poll-schedule';
import { fc } from '../support/properties';

const SECOND = 1_000;
const HOUR = 3_600_000;

const UNKNOWN: PollSituation = {
  elapsedMs: 0,
  remainingMs: 1_000 * HOUR,
  usualTimes: usualTimesOf(),
  failedPolls: 0,
  min: DEFAULT_MIN_MS,
  max: DEFAULT_MAX_MS,
  pollsPerSecondSaved: DEFAULT_POLLS_PER_SECOND_SAVED,
};

const wait = (situation: Partial<PollSituation> = {}) => nextPollDelayMs({ ...UNKNOWN, ...situation });

const ms = (max: number) =>
  fc.oneof(fc.nat({ max: 10 }), fc.nat({ max }), fc.double({ min: 0, max, noNaN: true }));

const usualTimes = fc
  .array(fc.oneof(fc.nat({ max: 10 * SECOND }), fc.nat({ max: 100 * HOUR })), {
    minLength: SHARES,
    maxLength: SHARES,
  })
  .map((times) => times.sort((one, other) => one - other));

const situations: fc.Arbitrary<PollSituation> = fc
  .record({
    elapsedMs: ms(100 * HOUR),
    remainingMs: ms(100 * HOUR),
    usualTimes: fc.oneof(usualTimes, fc.constant(usualTimesOf()), ms(HOUR).map(constant)),
    progress: fc.option(
      fc.record({ percent: fc.oneof(fc.double(), fc.double({ min: 0, max: 101 })), atMs: ms(100 * HOUR) }),
      { nil: undefined },
    ),
    retryAfterMs: fc.option(ms(100 * HOUR), { nil: undefined }),
    failedPolls: fc.oneof(fc.constant(0), fc.nat({ max: 5_000 })),
    bounds: fc.tuple(ms(2 * HOUR), ms(2 * HOUR)),
    pollsPerSecondSaved: fc.double({ min: 0.01, max: 100, noNaN: true }),
  })
  .map(({ bounds, ...situation }) => ({
    ...situation,
    min: 1 + Math.min(...bounds),
    max: 1 + Math.max(...bounds),
  }));

/** Times of tasks that all take equally long. */
function constant(time: number): UsualTimes {
  return Array.from({ length: SHARES }, () => Math.round(time));
}

describe('the next poll, in any situation', () => {
  it('is between the shortest and the longest pause, unless the service or the deadline says otherwise', () => {
    fc.assert(
      fc.property(situations, (situation) => {
        const { remainingMs, retryAfterMs = 0, min, max } = situation;
        const waitMs = nextPollDelayMs(situation);
        const askedMs = Math.min(retryAfterMs, RETRY_AFTER_MAX_MS);
        expect(waitMs).toBeGreaterThanOrEqual(Math.min(remainingMs, Math.max(min, askedMs)));
        expect(waitMs).toBeLessThanOrEqual(Math.min(remainingMs, Math.max(max, askedMs)));
      }),
      { numRuns: 300 },
    );
  });

  it('is the same for the same situation, which is not changed', () => {
    fc.assert(
      fc.property(situations, (situation) => {
        const copy = structuredClone(situation);
        Object.freeze(situation.usualTimes);
        expect(nextPollDelayMs(Object.freeze(situation))).toBe(nextPollDelayMs(copy));
      }),
    );
  });

  it('does not come sooner because more polls failed', () => {
    fc.assert(
      fc.property(situations, fc.integer({ min: 1, max: 50 }), (situation, failedPolls) => {
        const waitMs = nextPollDelayMs({ ...situation, failedPolls });
        expect(nextPollDelayMs({ ...situation, failedPolls: failedPolls + 1 })).toBeGreaterThanOrEqual(
          waitMs,
        );
      }),
    );
  });
});

describe('the next poll', () => {
  it('of a task of which nothing is known comes when quick tasks are ready, and then about every seven seconds', () => {
    expect(wait()).toBeGreaterThan(20 * SECOND);
    expect(wait()).toBeLessThan(30 * SECOND);
    for (const elapsedMs of [40, 60, 90, 120]) {
      expect(wait({ elapsedMs: elapsedMs * SECOND })).toBeGreaterThan(5 * SECOND);
      expect(wait({ elapsedMs: elapsedMs * SECOND })).toBeLessThan(10 * SECOND);
    }
  });

  it.each([
    { median: 0, slow: 0 },
    { median: Number.NaN, slow: 1 },
    { median: 5, slow: 4 },
    { median: 1, slow: Number.POSITIVE_INFINITY },
  ])('is that of an unknown service when %j is expected', (expected) => {
    expect(usualTimesOf(expected)).toEqual(usualTimesOf());
  });

  it('comes later and later once the task takes longer than almost all', () => {
    expect([600, 1_200, 2_400, 36_000].map((elapsed) => wait({ elapsedMs: elapsed * SECOND }))).toEqual([
      30_000, 60_000, 120_000, 120_000,
    ]);
  });

  it('waits for the moment at which all tasks end', () => {
    const waitMs = wait({ usualTimes: constant(60 * SECOND) });
    expect(waitMs).toBeGreaterThanOrEqual(60 * SECOND);
    expect(waitMs).toBeLessThan(61 * SECOND);
  });

  it('is rarely between two groups of tasks, unless the longest pause is short', () => {
    const usual = Array.from(
      { length: SHARES },
      (_, share) => (share < 11 ? 20 : 100) * SECOND + share * 100,
    );
    const pollsBetween = (max: number) =>
      follow(96 * SECOND, (elapsedMs) =>
        elapsedMs < 24 * SECOND ? 24 * SECOND : wait({ usualTimes: usual, elapsedMs, max }),
      ).polls;
    expect(pollsBetween(DEFAULT_MAX_MS)).toBeLessThan(8);
    expect(pollsBetween(4 * SECOND)).toBeGreaterThan(15);
  });

  it('comes sooner the more polls a saved second is worth', () => {
    const delays = [0.1, 1, 4, 20].map((pollsPerSecondSaved) =>
      wait({ pollsPerSecondSaved, elapsedMs: 60 * SECOND }),
    );
    expect(delays).toEqual([...delays].sort((one, other) => other - one));
    expect(new Set(delays).size).toBe(delays.length);
  });

  it('is not later than the longest pause of the job, not even the first', () => {
    expect(wait({ max: 10 * SECOND })).toBeLessThanOrEqual(10 * SECOND);
  });

  it.each([
    [50, 60],
    [80, 120],
    [95, 300],
    [50, 1_200],
  ])('is close to the end when %d % took %d s, also when no task took so long before', (percent, elapsed) => {
    const elapsedMs = elapsed * SECOND;
    const leftMs = (elapsedMs * (100 - percent)) / percent;
    const max = HOUR;
    const waitMs = wait({ max, elapsedMs, progress: { percent, atMs: elapsedMs } });
    expect(waitMs).toBeGreaterThan(leftMs / 4);
    expect(waitMs).toBeLessThan(leftMs * 1.5);
  });

  it.each([
    ['below 10 %', { percent: 5, atMs: 60 * SECOND }],
    ['of 100 % without a video', { percent: 100, atMs: 60 * SECOND }],
    ['that has not risen for too long', { percent: 80, atMs: 40 * SECOND }],
    ['that is no number', { percent: Number.NaN, atMs: 60 * SECOND }],
  ])('does not follow a percentage %s', (_name, progress) => {
    expect(wait({ elapsedMs: 60 * SECOND, progress })).toBe(wait({ elapsedMs: 60 * SECOND }));
  });

  it('respects the pause that the service asked for, even beyond the longest pause', () => {
    const retryAfterMs = 200 * SECOND;
    expect(wait({ retryAfterMs })).toBe(retryAfterMs);
    expect(wait({ retryAfterMs, progress: { percent: 99, atMs: 1 }, elapsedMs: 1 })).toBe(retryAfterMs);
    expect(wait({ retryAfterMs, failedPolls: 3 })).toBe(retryAfterMs);
  });

  it('waits at most ten minutes for the service', () => {
    expect(wait({ retryAfterMs: HOUR })).toBe(RETRY_AFTER_MAX_MS);
  });

  it('does not come sooner because the service asked for a short pause', () => {
    expect(wait({ retryAfterMs: 1 })).toBe(wait());
  });

  it('is at the deadline when the service asked for a longer pause', () => {
    expect(wait({ retryAfterMs: 2 * HOUR, remainingMs: 90_000 })).toBe(90_000);
  });

  it('backs off while polls fail, up to the longest pause', () => {
    expect([1, 2, 3, 6, 1_000_000].map((failedPolls) => wait({ failedPolls }))).toEqual([
      6_000, 12_000, 24_000, 120_000, 120_000,
    ]);
  });

  it('is immediate at the deadline', () => {
    expect(wait({ remainingMs: 0, retryAfterMs: 60_000, failedPolls: 4 })).toBe(0);
  });
});

describe('the polls of a task whose usual times are known', () => {
  it.each([
    ['like measured generations', (chance: number) => 75 + 30 * Math.exp(0.9 * deviation(chance))],
    ['in two groups', (chance: number) => (chance < 0.5 ? 20 + 10 * chance : 120 + 20 * chance)],
    ['all equally long', () => 60],
    ['mostly quick and sometimes very long', (chance: number) => 10 / (1 - chance) ** 0.9],
    ['within a second', (chance: number) => 0.5 + chance / 2],
    ['within an hour', (chance: number) => 3_000 + 600 * deviation(chance)],
  ])('cost less than equally many at equal pauses, when tasks take %s', (_shape, secondsAt) => {
    const tasks = Array.from({ length: 420 }, (_, index) => secondsAt((index + 0.5) / 420) * SECOND);
    const usual = Array.from({ length: SHARES }, (_, share) => Math.round(tasks[share * 20] ?? 0));
    const delays = new Map<number, number>();
    const delayMs = (elapsedMs: number) => {
      const known = delays.get(elapsedMs) ?? wait({ elapsedMs, usualTimes: usual });
      delays.set(elapsedMs, known);
      return known;
    };
    const planned = tasks.map((endMs) => follow(endMs, delayMs));
    const pauseMs = pauseOfAsMany(tasks, sumOf(planned, 'polls'));
    const fixed = tasks.map((endMs) => follow(endMs, () => pauseMs));
    const stepMs = tasks.reduce((sum, endMs) => sum + Math.max(endMs, DEFAULT_MIN_MS), 0) / 180;
    expect(sumOf(planned, 'lagMs')).toBeLessThanOrEqual(sumOf(fixed, 'lagMs') + stepMs);
  });
});

/** How many polls find a task that ends then, and how late. */
function follow(endMs: number, delayMs: (elapsedMs: number) => number): { polls: number; lagMs: number } {
  let [elapsedMs, polls] = [0, 0];
  while (elapsedMs < endMs) {
    elapsedMs += delayMs(elapsedMs);
    polls++;
  }
  return { polls, lagMs: elapsedMs - endMs };
}

/** The shortest allowed pause with which equal pauses need no more polls than these. */
function pauseOfAsMany(tasks: readonly number[], polls: number): number {
  let pauseMs = DEFAULT_MIN_MS;
  while (tasks.reduce((sum, endMs) => sum + Math.ceil(endMs / pauseMs), 0) > polls) pauseMs += 50;
  return pauseMs;
}

const sumOf = <Name extends string>(all: readonly Record<Name, number>[], name: Name) =>
  all.reduce((sum, one) => sum + one[name], 0);

/** The normal deviate of a chance, close enough for a shape. */
function deviation(chance: number): number {
  return Math.log(chance / (1 - chance)) / 1.702;
}
