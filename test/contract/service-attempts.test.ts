import {
  describeAttempts,
  readAttempts,
  refusedAttempt,
  type ServiceAttempt,
} from '../../src/contract/failure-details';
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
});

test('of attempts that anybody may have written, only those of our shape are read', () => {
  const strange = [null, 7, { service: '../a', outcome: 'made' }, { ...refused, failure: 'Own' }];
  expect(readAttempts([refused, ...strange, made])).toEqual([refused, made]);
  expect(readAttempts('attempts')).toBeUndefined();
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
