import { type Interval, summarizeTimes } from '../../../activities/learn/summarize-times';
import { isUsualTimes, SHARES, usualTimesOf } from '../../../src/contract/usual-times';
import { fc } from '../../support/properties';

const UNKNOWN = usualTimesOf();
const repeated = (count: number, interval: Interval) => Array.from({ length: count }, () => interval);
const medianOf = (times: readonly number[]) => times[Math.floor(SHARES / 2)];

test('whatever ended, the summary can be used by the schedule', () => {
  const time = fc.nat({ max: 604_800_000 });
  fc.assert(
    fc.property(fc.array(fc.tuple(time, time), { maxLength: 200 }), (ended) => {
      expect(isUsualTimes(summarizeTimes(ended, UNKNOWN))).toBe(true);
    }),
  );
});

test('without any task it is about what was expected', () => {
  const summary = summarizeTimes([], UNKNOWN);
  for (const [share, time] of UNKNOWN.entries())
    expect(Math.abs((summary[share] ?? 0) - time)).toBeLessThan(2_000);
});

test('a task may have ended anywhere between its two polls', () => {
  const summary = summarizeTimes(repeated(10_000, [100_000, 200_000]), UNKNOWN);
  expect(medianOf(summary)).toBeGreaterThan(145_000);
  expect(medianOf(summary)).toBeLessThan(150_000);
  expect(summary.at(-1)).toBeGreaterThan(194_000);
});

test('the expectation fades with the number of tasks', () => {
  const distance = (count: number) => {
    const summary = summarizeTimes(repeated(count, [30_000, 30_001]), UNKNOWN);
    return (summary.at(-1) ?? 0) - 30_000;
  };
  const distances = [1, 3, 10, 100].map(distance);
  expect(distances).toEqual([...distances].sort((one, other) => other - one));
  expect(distance(1)).toBeGreaterThan(100_000);
  expect(distance(100)).toBeLessThan(10);
});

test('the slowest tasks that are expected take up to twice as long as the last time', () => {
  const last = UNKNOWN.at(-1) ?? 0;
  const beyond = summarizeTimes(repeated(3, [3_600_000, 3_600_001]), UNKNOWN).filter(
    (time) => time > last && time < 3_600_000,
  );
  expect(beyond).toHaveLength(1);
  expect(beyond[0]).toBeGreaterThan(1.5 * last);
  expect(beyond[0]).toBeLessThan(2 * last);
});

test('a service that has become much faster than its first poll is found out', () => {
  const slow = repeated(100, [90_000, 95_000]);
  const found = repeated(40, [0, 85_000]);
  expect(summarizeTimes([...slow, ...found], UNKNOWN)[0]).toBeLessThan(20_000);
});
