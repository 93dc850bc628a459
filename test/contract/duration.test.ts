import { describeDuration, durationMs } from '../../src/contract/duration';

describe('a duration', () => {
  it.each([
    [1, 1],
    [90_000, 90_000],
    [0.5, 0.5],
    ['250ms', 250],
    ['90s', 90_000],
    ['1.5h', 5_400_000],
    ['1.25h', 4_500_000],
    ['30 m', 1_800_000],
    [' 2h ', 7_200_000],
    ['7d', 604_800_000],
    ['36525d', 3_155_760_000_000],
  ])('%p is %d milliseconds', (value, ms) => {
    expect(durationMs(value)).toBe(ms);
  });

  it.each([
    [0],
    [-1],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [Number.MAX_VALUE],
    ['0s'],
    ['-5s'],
    ['90'],
    ['s'],
    [''],
    ['1h30m'],
    ['5 minutes'],
    ['5S'],
    ['1e3s'],
    ['.5s'],
    ['36526d'],
    [`${'9'.repeat(400)}d`],
    [null],
    [undefined],
    [true],
    [['5s']],
    [{ hours: 1 }],
  ])('is not %p', (value) => {
    expect(durationMs(value)).toBeUndefined();
  });

  it('that is the longest allowed still ends at a valid date', () => {
    const end = new Date(Date.now() + (durationMs('36525d') ?? Number.NaN));
    expect(end.toISOString()).toMatch(/^2\d{3}-/);
  });
});

describe('the words for a duration', () => {
  it.each([
    [1, '1 ms'],
    [999, '999 ms'],
    [1_000, '1 s'],
    [1_499, '1 s'],
    [45_000, '45 s'],
    [119_000, '119 s'],
    [120_000, '2 min'],
    [59 * 60_000, '59 min'],
    [59.7 * 60_000, '1 h'],
    [60 * 60_000, '1 h'],
    [90 * 60_000, '1 h 30 min'],
    [48 * 3_600_000, '48 h'],
  ])('%d ms are "%s"', (ms, words) => {
    expect(describeDuration(ms)).toBe(words);
  });
});
