import { describeExpired, hasExpired } from '../../src/contract/expiry';

const expiresAt = '2026-11-17T12:00:00.000Z';
const noon = Date.parse(expiresAt);

test('a video expires at its time', () => {
  expect(hasExpired({ expiresAt }, noon - 1)).toBe(false);
  expect(hasExpired({ expiresAt }, noon)).toBe(true);
});

test('a video without a time to expire is kept', () => {
  expect(hasExpired({}, noon)).toBe(false);
});

test('what is said instead of an expired video names the job and the time', () => {
  expect(describeExpired('foxes', { expiresAt })).toBe(
    `The video of foxes has expired: it was kept until ${expiresAt}.`,
  );
});
