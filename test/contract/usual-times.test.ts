import { isUsualTimes, SHARES, shareBegins, usualTimesOf } from '../../src/contract/usual-times';

const partBelow = (times: readonly number[], ms: number) => {
  const share = times.findIndex((time) => time > ms);
  return share === -1 ? 1 : shareBegins(share);
};

describe('usual times from what is expected', () => {
  const expected = () => usualTimesOf({ median: 60_000, slow: 180_000 });

  it('are times that a schedule can be made from', () => {
    const times = expected();
    expect(times).toHaveLength(SHARES);
    expect(isUsualTimes(times)).toBe(true);
  });

  it('have half of the tasks ready by the median, and 95 in a hundred by the slow time', () => {
    const times = expected();
    expect(partBelow(times, 60_000)).toBeCloseTo(0.5, 1);
    expect(partBelow(times, 180_000)).toBeGreaterThan(0.94);
    expect(partBelow(times, 170_000)).toBeLessThan(0.96);
    expect(times[0]).toBeLessThan(30_000);
  });

  it('are those of an unknown service when the expectation makes no sense', () => {
    const unknown = usualTimesOf();
    expect(usualTimesOf({ median: 0, slow: 10 })).toEqual(unknown);
    expect(usualTimesOf({ median: 20, slow: 10 })).toEqual(unknown);
    expect(partBelow(unknown, 90_000)).toBeCloseTo(0.5, 1);
  });

  it('are spread around the median in the same proportion on both sides', () => {
    const [first = 0, ...later] = expected();
    expect(first).toBeGreaterThan(15_000);
    for (const [at, time] of later.entries()) {
      const mirrored = later[later.length - 1 - at] ?? 0;
      expect(Math.sqrt(time * mirrored)).toBeCloseTo(60_000, -1);
    }
  });

  it('are all the same when slow tasks take no longer than others', () => {
    expect(usualTimesOf({ median: 7_000, slow: 7_000 })).toEqual(Array(SHARES).fill(7_000));
  });

  it('may reach a year, and a longer time counts as a mistake', () => {
    const year = 365 * 24 * 3_600_000;
    expect(usualTimesOf({ median: 60_000, slow: year })).not.toEqual(usualTimesOf());
    expect(usualTimesOf({ median: 60_000, slow: year + 1 })).toEqual(usualTimesOf());
  });
});

it('the first share leaves out the shortest tasks, and the others are of the same size', () => {
  expect(shareBegins(0)).toBe(0.04);
  expect(shareBegins(7)).toBeCloseTo(1 / 3);
  expect(shareBegins(14)).toBeCloseTo(2 / 3);
});

describe('times that a schedule can be made from', () => {
  const counting = Array.from({ length: SHARES }, (_, share) => share);
  const changed = (share: number, time: unknown) => counting.with(share, time as number);

  it.each([[counting], [Array(SHARES).fill(5)]])('are %j', (times) => {
    expect(isUsualTimes(times)).toBe(true);
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['an object with a length', { length: SHARES }],
    ['fewer', counting.slice(1)],
    ['more', [...counting, 100]],
    ['a negative time', changed(0, -1)],
    ['a part of a millisecond', changed(3, 3.5)],
    ['a text', changed(20, '20')],
    ['a time before the one before it', changed(2, 0)],
    ['a last time before all others', changed(20, 0)],
  ])('are not %s', (_what, times) => {
    expect(isUsualTimes(times)).toBe(false);
  });
});
