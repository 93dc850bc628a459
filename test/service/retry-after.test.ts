import { type RetryHeaders, readRetryAfter } from '../../src/service/read-values';

const NOW = Date.UTC(2026, 10, 15, 12, 0, 0);
const at = (offsetMs: number) => new Date(NOW + offsetMs).toUTCString();
const HOUR = 3_600_000;

describe('Retry-After', () => {
  it.each<[what: string, headers: RetryHeaders, expected: number]>([
    ['seconds', { 'retry-after': '7' }, 7_000],
    ['milliseconds, where the service adds them', { 'retry-after-ms': '1500', 'retry-after': '2' }, 1_500],
    [
      'seconds, when the milliseconds are unreadable',
      { 'retry-after-ms': 'soon', 'retry-after': '2' },
      2_000,
    ],
    ['milliseconds with spaces around them', { 'retry-after-ms': ' 1500 ' }, 1_500],
    ['seconds beside milliseconds with a unit', { 'retry-after-ms': '1500ms', 'retry-after': '2' }, 2_000],
    ['seconds beside milliseconds with a sign', { 'retry-after-ms': '-1500', 'retry-after': '2' }, 2_000],
    ['zero seconds', { 'retry-after': '0' }, 0],
    ['a fraction of a second', { 'retry-after': '1.5' }, 1_500],
    ['a fraction of a millisecond', { 'retry-after': '0.0005' }, 1],
    ['seconds with spaces around them', { 'retry-after': ' 7 ' }, 7_000],
    ['seconds, whatever the Date beside them', { 'retry-after': '7', date: at(-HOUR) }, 7_000],
    ['a day, which others may clamp', { 'retry-after': '86400' }, 86_400_000],
    ['a date, against our clock when the answer has no Date', { 'retry-after': at(30_000) }, 30_000],
    ['a date, against the service’s clock', { 'retry-after': at(30_000), date: at(0) }, 30_000],
    ['a date of a service whose clock is ahead', { 'retry-after': at(HOUR + 5_000), date: at(HOUR) }, 5_000],
    [
      'a date of a service whose clock is behind',
      { 'retry-after': at(5_000 - HOUR), date: at(-HOUR) },
      5_000,
    ],
    ['a date, against our clock when Date is unreadable', { 'retry-after': at(9_000), date: 'now' }, 9_000],
    ['a date that has passed', { 'retry-after': at(-5_000) }, 0],
    ['a date that has passed for the service', { 'retry-after': at(5_000), date: at(6_000) }, 0],
    ['a date of RFC 850', { 'retry-after': 'Sunday, 15-Nov-26 12:00:08 GMT' }, 8_000],
    ['a date of ISO 8601', { 'retry-after': '2026-11-15T13:00:08+01:00' }, 8_000],
    ['two headers, of which the first counts', { 'retry-after': ['3', '60'] }, 3_000],
    ['two headers that a proxy has joined', { 'retry-after': '3, 60' }, 3_000],
    [
      'two Date headers, of which the first counts',
      { 'retry-after': at(4_000), date: [at(0), at(9)] },
      4_000,
    ],
  ])('is read as %s', (_what, headers, expected) => {
    expect(readRetryAfter(headers, NOW)).toBe(expected);
  });

  it.each([
    '',
    ' ',
    'soon',
    '-5',
    '+5',
    'in 5',
    '5 seconds',
    '0x10',
    '1e3',
    'NaN',
    'Infinity',
    '9'.repeat(400),
    '12:00',
    'Sun, 99 Nov 2026 12:00:00 GMT',
    // Without a zone the worker's own would be taken.
    'Sun Nov 15 12:00:08 2026',
    '2026-11-15T12:00:08',
  ])('is ignored when it is %j', (value) => {
    expect(readRetryAfter({ 'retry-after': value }, NOW)).toBeUndefined();
  });

  it.each<RetryHeaders>([{}, { date: at(0) }, { 'retry-after': undefined }, { 'retry-after': [] }])(
    'is undefined when it is absent: %j',
    (headers) => {
      expect(readRetryAfter(headers, NOW)).toBeUndefined();
    },
  );
});
