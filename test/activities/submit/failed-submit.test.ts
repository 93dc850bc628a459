import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import {
  isKnownWithoutTask,
  isUnconfirmed,
  mentionLostSubmit,
  sayNothingWasSent,
} from '../../../activities/submit/failed-submit';
import { createFailure } from '../../../src/contract/video-failure';
import { StorageFault } from '../../../src/storage';

const LOST = 'attempt 1 ended before its answer was known';
const OF_HOST = ApplicationFailure.create({ type: 'InvalidRequest', message: 'of the host' });
const CANCELLED = new CancelledFailure('cancelled');

test.each([true, false])(
  'a storage that fails before the POST says that nothing was sent; for good: %s',
  (isFinal) => {
    const fault = new StorageFault('the disk is full', { isFinal });
    const said = sayNothingWasSent(fault);
    expect(said).toBeInstanceOf(StorageFault);
    expect(said).toMatchObject({
      message: 'nothing was sent, because the storage failed: the disk is full',
      isFinal,
      cause: fault,
    });
  },
);

test('other errors say what they said', () => {
  const error = new Error('no');
  expect(sayNothingWasSent(error)).toBe(error);
});

describe('after a lost submit', () => {
  test('the failure of a later attempt says that a task may still exist, and is retried as before', () => {
    const cause = new Error('429');
    const failure = createFailure(
      'RateLimited',
      { message: 'slow down', status: 429 },
      { retryable: true, nextRetryDelayMs: 7_000, cause },
    );
    const said = mentionLostSubmit(failure, LOST);
    expect(said).toMatchObject({
      type: failure.type,
      nonRetryable: false,
      nextRetryDelay: 7_000,
      details: [{ status: 429, message: `slow down; a task may still exist, because ${LOST}` }],
    });
    expect(Object(said).cause).toBe(failure.cause);
  });

  test('also one that has nothing else to say, and one that is final', () => {
    expect(mentionLostSubmit(createFailure('Unauthorized'), LOST)).toMatchObject({
      nonRetryable: true,
      nextRetryDelay: undefined,
      details: [{ message: `a task may still exist, because ${LOST}` }],
    });
  });

  test.each([
    ['the lost submit itself', createFailure('SubmitUnconfirmed', { message: LOST })],
    ['a failure of the host', OF_HOST],
    ['a cancellation', CANCELLED],
  ])('%s stays as it is', (_what, failure) => {
    expect(mentionLostSubmit(failure, LOST)).toBe(failure);
  });
});

test('without a lost submit a failure stays as it is', () => {
  const failure = createFailure('Unauthorized', { message: 'no key' });
  expect(mentionLostSubmit(failure, undefined)).toBe(failure);
});

test.each<[string, unknown, { unconfirmed: boolean; withoutTask: boolean }]>([
  ['a refused request', createFailure('InvalidRequest'), { unconfirmed: false, withoutTask: true }],
  ['a lost submit', createFailure('SubmitUnconfirmed'), { unconfirmed: true, withoutTask: false }],
  ['a failure of the host, whatever its type', OF_HOST, { unconfirmed: false, withoutTask: false }],
  ['a cancellation', CANCELLED, { unconfirmed: false, withoutTask: false }],
])('what %s says about a task', (_what, failure, { unconfirmed, withoutTask }) => {
  expect([isUnconfirmed(failure), isKnownWithoutTask(failure)]).toEqual([unconfirmed, withoutTask]);
});
