import { isUsualTimes, SHARES, shareBegins, usualTimesOf } from '../../src/contract/usual-times';

const partBelow = (times: readonly number[], ms: number) => {
  const share = times.findIndex((time) => time > ms);
  return share === -1 ? 1 : shareBegins(share);
};

describe('usual times from what is expected', () => {
  const times = usualTimesOf({ median: 60_000, slow: 180_000 });

  it('are times that a schedule can be made from', () => {
    expect(times).toHaveLength(SHARES);
    expect(isUsualTimes(times)).toBe(true);
  });

  it('have half of the tasks ready by the median, and 95 in a hundred by the slow time', () => {
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
});
