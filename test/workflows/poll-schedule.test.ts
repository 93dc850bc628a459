import { RETRY_AFTER_MAX_MS } from '../../src/contract/policies';
import {
  DEFAULT_MAX_MS,
  DEFAULT_MIN_MS,
  nextPollDelayMs,
  type PollSituation,
} from '../../workflows/poll-schedule';

const HOUR = 3_600_000;

const wait = (situation: Partial<PollSituation> = {}) =>
  nextPollDelayMs({
    elapsedMs: 0,
    remainingMs: HOUR,
    failedPolls: 0,
    min: DEFAULT_MIN_MS,
    max: DEFAULT_MAX_MS,
    ...situation,
  });

/** Every combination of values, including unusual ones. */
function* everySituation(): Generator<PollSituation> {
  for (const elapsedMs of [0, 1, 4_999, 60_000, 299_999, 40 * HOUR])
    for (const remainingMs of [0, 1, 4_000, 5_000, 31_000, HOUR])
      for (const percent of [undefined, 0, 1, 9.9, 10, 50, 99, 100])
        for (const retryAfterMs of [undefined, 0, 1, 7_000, 90_000, 100 * HOUR])
          for (const failedPolls of [0, 1, 2, 5, 17, 5_000])
            for (const [min, max] of [
              [5_000, 30_000],
              [1, 1],
              [250, 2 * HOUR],
            ] as const)
              yield { elapsedMs, remainingMs, percent, retryAfterMs, failedPolls, min, max };
}

/** The situations that break a rule. One expectation for all is faster than 30,000. */
function broken(rule: (waitMs: number, situation: PollSituation) => boolean): PollSituation[] {
  return [...everySituation()].filter((situation) => !rule(nextPollDelayMs(situation), situation));
}

describe('the next poll, in any situation', () => {
  it('is never later than the deadline, nor in the past', () => {
    expect(broken((waitMs, { remainingMs }) => waitMs >= 0 && waitMs <= remainingMs)).toEqual([]);
  });

  it('is at the deadline or not sooner than the shortest pause', () => {
    expect(broken((waitMs, { remainingMs, min }) => waitMs === remainingMs || waitMs >= min)).toEqual([]);
  });

  it('is at the deadline or not sooner than the service asked for, up to ten minutes', () => {
    expect(
      broken((waitMs, { remainingMs, retryAfterMs = 0 }) => {
        const asked = Math.min(retryAfterMs, RETRY_AFTER_MAX_MS);
        return waitMs === remainingMs || waitMs >= asked;
      }),
    ).toEqual([]);
  });

  it('is not later than the longest pause unless the service asked for it', () => {
    expect(broken((waitMs, { retryAfterMs = 0, max }) => waitMs <= Math.max(max, retryAfterMs))).toEqual([]);
  });

  it('is the same for the same situation, which is not changed', () => {
    expect(
      broken((waitMs, situation) => {
        const frozen = Object.freeze({ ...situation });
        return nextPollDelayMs(frozen) === waitMs;
      }),
    ).toEqual([]);
  });

  it('does not come sooner because more polls failed', () => {
    expect(
      broken((waitMs, situation) => {
        const { failedPolls } = situation;
        return failedPolls === 0 || nextPollDelayMs({ ...situation, failedPolls: failedPolls + 1 }) >= waitMs;
      }),
    ).toEqual([]);
  });
});

describe('the next poll', () => {
  it('comes after the shortest pause at the beginning', () => {
    expect(wait()).toBe(DEFAULT_MIN_MS);
  });

  it('comes later the longer the task takes, up to the longest pause', () => {
    expect([60_000, 100_000, 200_000, 300_000, 3_000_000].map((elapsedMs) => wait({ elapsedMs }))).toEqual([
      6_000, 10_000, 20_000, 30_000, 30_000,
    ]);
  });

  it.each([
    [50, 20_000, 20_000],
    [80, 60_000, 15_000],
    [90, 60_000, 60_000 / 9],
    [99, 60_000, DEFAULT_MIN_MS],
    [10, 60_000, DEFAULT_MAX_MS],
  ])('is expected at the end when %d % took %d ms', (percent, elapsedMs, waitMs) => {
    expect(wait({ percent, elapsedMs })).toBeCloseTo(waitMs);
  });

  it.each([0, 5, 100])('is not estimated from %d %, which does not predict the rest', (percent) => {
    expect(wait({ percent, elapsedMs: 200_000 })).toBe(wait({ elapsedMs: 200_000 }));
  });

  it('respects the pause that the service asked for, even beyond the longest pause', () => {
    expect(wait({ retryAfterMs: 120_000 })).toBe(120_000);
    expect(wait({ retryAfterMs: 120_000, percent: 99, elapsedMs: 60_000 })).toBe(120_000);
    expect(wait({ retryAfterMs: 120_000, failedPolls: 3 })).toBe(120_000);
  });

  it('waits at most ten minutes for the service', () => {
    expect(wait({ retryAfterMs: HOUR, remainingMs: 2 * HOUR })).toBe(RETRY_AFTER_MAX_MS);
  });

  it('does not come sooner because the service asked for a short pause', () => {
    expect(wait({ retryAfterMs: 1 })).toBe(DEFAULT_MIN_MS);
  });

  it('is at the deadline when the service asked for a longer pause', () => {
    expect(wait({ retryAfterMs: 2 * HOUR, remainingMs: 90_000 })).toBe(90_000);
  });

  it('backs off while polls fail, up to the longest pause', () => {
    expect([1, 2, 3, 4, 1_000_000].map((failedPolls) => wait({ failedPolls }))).toEqual([
      10_000, 20_000, 30_000, 30_000, 30_000,
    ]);
  });

  it('is immediate at the deadline', () => {
    expect(wait({ remainingMs: 0, retryAfterMs: 60_000, failedPolls: 4 })).toBe(0);
  });
});
