import {
  cutAttempt,
  describeAttempts,
  refusedAttempt,
  type ServiceAttempt,
} from '../../src/contract/service-attempts';
import { jsonBytes } from '../../src/contract/sizes';

const refused = refusedAttempt('a', 'Unauthorized', 'The key was refused: HTTP 401. Check it. ');
const made: ServiceAttempt = { service: 'b', outcome: 'made' };

test('a refused attempt says which service refused it and why', () => {
  expect(refused).toEqual({
    service: 'a',
    outcome: 'refused',
    failure: 'Unauthorized',
    message: 'The key was refused: HTTP 401. Check it. ',
  });
});

test('a long reason is cut, because many results travel together', () => {
  const attempt = refusedAttempt('a', 'Unauthorized', 'x'.repeat(1_000));
  expect(attempt.message).toMatch(/^x{200}/);
  expect(jsonBytes(attempt.message)).toBeLessThan(310);
  const cut = cutAttempt(attempt, 50);
  expect(cut).toMatchObject({ service: 'a', outcome: 'refused', failure: 'Unauthorized' });
  expect(jsonBytes(cut)).toBeLessThan(150);
});

test('an attempt that made the task is not cut', () => {
  expect(cutAttempt(made, 50)).toStrictEqual(made);
});

test('the service that made the task is named after those that refused it', () => {
  const other = refusedAttempt('c', 'RateLimited', 'Too many');
  expect(describeAttempts('b', [refused, other, made])).toBe(
    'that was the service b, after a (The key was refused: HTTP 401. Check it) and c (Too many)',
  );
});

test.each<[ServiceAttempt[]]>([
  [[]],
  [[made]],
  [[{ ...refused, service: 'b' }]],
  [[{ ...made, service: 'c' }]],
])('a service is named alone after %j', (attempts) => {
  expect(describeAttempts('b', attempts)).toBe('that was the service b');
});
