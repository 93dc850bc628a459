import { ActivityFailure, ApplicationFailure, RetryState } from '@temporalio/common';
import { lastAttemptThatRan } from '../../src/contract/video-failure';
import { isNotDecryptedType, NotDecrypted, whyNotDecrypted } from '../../src/encryption/not-decrypted';

const TYPE = 'videogen.NotDecrypted';
const MESSAGE = 'The key fox is not known here.';

const inActivity = (cause: Error) =>
  new ActivityFailure('failed', 'pollVideo', '1', RetryState.IN_PROGRESS, undefined, cause);

it('Temporal tries again to decrypt: a worker that has the key may be there by then', () => {
  expect(new NotDecrypted(MESSAGE, 'unknown-key')).toMatchObject({
    message: MESSAGE,
    reason: 'unknown-key',
    type: TYPE,
    nonRetryable: false,
  });
});

it.each([0, 1, 12])(
  'the type of the failure tells that attempt %d was the last that may have run',
  (last) => {
    const { type } = new NotDecrypted(MESSAGE, 'no-keys', last);
    expect(lastAttemptThatRan(type)).toBe(last);
    expect(isNotDecryptedType(type)).toBe(true);
  },
);

it.each([
  undefined,
  null,
  '',
  TYPE,
  `${TYPE}.after-attempt-`,
  `${TYPE}.after-attempt-x`,
  `${TYPE}.after-attempt-3.more`,
  `${TYPE}.after-attempt-1234567890`,
  `acme.${TYPE}.after-attempt-3`,
])('the last attempt that ran is not known from the type %j', (type) => {
  expect(lastAttemptThatRan(type)).toBeUndefined();
});

it.each([undefined, null, '', `${TYPE}Yet`, `acme.${TYPE}.`, 'videogen.NoVideo'])(
  '%j is the type of another failure',
  (type) => {
    expect(isNotDecryptedType(type)).toBe(false);
  },
);

it.each([
  ['itself', (failure: Error) => failure],
  ['an activity', inActivity],
  ['an error of another library', (failure: Error) => new Error('wrapped', { cause: inActivity(failure) })],
])('why something was not decrypted is found in %s', (_where, wrap) => {
  for (const last of [undefined, 3]) {
    const error = wrap(new NotDecrypted(MESSAGE, 'no-keys', last));
    expect(whyNotDecrypted(error)).toBe(MESSAGE);
    expect(whyNotDecrypted(error)).toBeDefined();
  }
});

it.each([
  ['nothing', undefined],
  ['a text', TYPE],
  ['another failure', inActivity(ApplicationFailure.create({ message: MESSAGE, type: 'OutOfCheese' }))],
  ['a failure without a type', ApplicationFailure.create({ message: MESSAGE })],
  ['an error of another library with our type', Object.assign(new Error(MESSAGE), { type: TYPE })],
])('%s is no failure to decrypt', (_what, error) => {
  expect(whyNotDecrypted(error)).toBeUndefined();
  expect(whyNotDecrypted(error)).toBeUndefined();
});
