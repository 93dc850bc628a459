import { readRefusals, serviceRefusal } from '../../src/contract/failure-details';
import { jsonBytes } from '../../src/contract/sizes';

const refused = serviceRefusal('a', 'Unauthorized', 'The key was refused: HTTP 401. Check it. ');

test('a refusal says which service made no task and why', () => {
  expect(refused).toEqual({
    service: 'a',
    failure: 'Unauthorized',
    message: 'The key was refused: HTTP 401. Check it. ',
  });
});

test('a long reason is cut, because many results travel together', () => {
  const { message } = serviceRefusal('a', 'Unauthorized', 'x'.repeat(1_000));
  expect(message).toMatch(/^x{200}/);
  expect(jsonBytes(message)).toBeLessThan(310);
});

test('of refusals that anybody may have written, only those of our shape are read', () => {
  const strange = [null, 7, { ...refused, service: '../a' }, { ...refused, failure: 'Own' }];
  expect(readRefusals([refused, ...strange])).toEqual([refused]);
  expect(readRefusals('refusals')).toBeUndefined();
});
