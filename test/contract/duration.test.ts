import { describeDuration, durationMs } from '../../src/contract/duration';

it.each([
  [0.5, 0.5],
  [90_000, 90_000],
  ['250ms', 250],
  ['90s', 90_000],
  ['1.25h', 4_500_000],
  ['30 m', 1_800_000],
  [' 2h ', 7_200_000],
  ['36525d', 3_155_760_000_000],
])('%p is %d milliseconds', (value, ms) => {
  expect(durationMs(value)).toBe(ms);
  expect(() => new Date(Date.now() + ms).toISOString()).not.toThrow();
});

it.each<unknown>([
  ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_VALUE, '0s', '-5s', '90', 's', '', '1h30m'],
  ...['5 minutes', '5S', '1e3s', '.5s', '36526d', `${'9'.repeat(400)}d`, null, undefined, true, { hours: 1 }],
])('%p is not a duration', (value) => {
  expect(durationMs(value)).toBeUndefined();
});

it.each([
  [999, '999 ms'],
  [1_499, '1 s'],
  [119_000, '119 s'],
  [120_000, '2 min'],
  [59.7 * 60_000, '1 h'],
  [90 * 60_000, '1 h 30 min'],
  [48 * 3_600_000, '48 h'],
])('%d ms are "%s"', (ms, words) => {
  expect(describeDuration(ms)).toBe(words);
});
