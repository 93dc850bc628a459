import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import {
  type FailedAttempt,
  mayTryNext,
  retryDelayMs,
  unsureAnswer,
  withVerdict,
} from '../../../activities/submit/verdict';
import { createFailure } from '../../../src/contract/video-failure';
import { ServiceFault } from '../../../src/service';
import { startAttempt } from '../activity-world';

const REFUSED = new ServiceFault('answered', { status: 400 });
const UNREACHABLE = createFailure('ServiceUnreachable', {}, { retryable: true });
const INVALID = createFailure('InvalidRequest', {});

/** A service that could not be reached for a minute, and made no task. */
const attempt = (more: Partial<FailedAttempt> = {}): FailedAttempt => ({
  error: new ServiceFault('not-sent', {}),
  failure: UNREACHABLE,
  madeNoTask: true,
  triedForMs: 60_000,
  ...more,
});

describe('the next service', () => {
  test.each<[string, boolean, number | undefined, Partial<FailedAttempt>]>([
    ['is tried when the time of this one is over', true, 60_000, {}],
    ['is not tried before', false, 60_001, {}],
    ['is not tried by a job that has none', false, undefined, {}],
    [
      'is not tried by one that has none, after a final refusal',
      false,
      undefined,
      { error: REFUSED, failure: INVALID },
    ],
    ['is not tried while a task may exist', false, 0, { madeNoTask: false }],
    ['is not tried after a cancellation', false, 0, { failure: new CancelledFailure('cancelled') }],
    [
      'is not tried after a failure of the host',
      false,
      0,
      { failure: ApplicationFailure.create({ type: 'Own' }) },
    ],
    ['is not tried because of our storage', false, 0, { failure: createFailure('StorageFailed', {}) }],
    ['is tried at once when this one refused for good', true, 99_999, { error: REFUSED, failure: INVALID }],
    ['is not tried with what our own checks refuse', false, 0, { error: INVALID, failure: INVALID }],
    [
      'is tried when this one refused the key, whoever found out',
      true,
      99_999,
      { error: new Error('no key'), failure: createFailure('Unauthorized', {}) },
    ],
  ])('%s', (_what, isTried, afterMs, more) => {
    expect(mayTryNext(afterMs === undefined ? {} : { afterMs }, attempt(more))).toBe(isTried);
  });
});

test.each<[string, unknown, string | undefined]>([
  ['a 500', new ServiceFault('answered', { status: 500 }), 'HTTP 500'],
  ['a 502', new ServiceFault('answered', { status: 502 }), 'HTTP 502'],
  ['an answer without a status', new ServiceFault('answered', {}), 'HTTP 500'],
  ['a 503', new ServiceFault('answered', { status: 503 }), undefined],
  ['a 400', new ServiceFault('answered', { status: 400 }), undefined],
  ['a 500 that says it is a limit', new ServiceFault('answered', { status: 500, limited: true }), undefined],
  [
    'a 500 that says there is no task',
    new ServiceFault('answered', { status: 500, noTask: true }),
    undefined,
  ],
  ['a cut connection', new ServiceFault('cut', { status: 500 }), undefined],
  ['an error of ours', new Error('500'), undefined],
])('whether a task may exist after %s', (_what, error, unsure) => {
  expect(unsureAnswer(error)).toBe(unsure);
});

describe('the pause before the next attempt', () => {
  const delayOf = (failure: unknown, attempt = 1) =>
    startAttempt(async () => retryDelayMs(failure), undefined, { attempt }).result;

  test('is the one that the failure asks for', async () => {
    const failure = createFailure('RateLimited', {}, { retryable: true, nextRetryDelayMs: 7_000 });
    expect(await delayOf(failure, 9)).toBe(7_000);
  });

  test.each([
    [1, 2_000],
    [2, 4_000],
    [5, 32_000],
    [6, 60_000],
    [20, 60_000],
  ])('doubles from two seconds to a minute: after attempt %d', async (attempt, delayMs) => {
    expect(await delayOf(UNREACHABLE, attempt)).toBe(delayMs);
    expect(await delayOf(new Error('cancelled'), attempt)).toBe(delayMs);
  });
});

describe('a failure with a verdict', () => {
  const failure = createFailure('RateLimited', { attempt: 1 }, { retryable: true, nextRetryDelayMs: 7_000 });

  test('that leads to the next service is not retried here', () => {
    const judged = withVerdict(failure, { triesNext: true });
    expect(judged).toMatchObject({ nonRetryable: true, type: failure.type, message: failure.message });
    expect(judged).toMatchObject({
      details: [{ attempt: 1 }, { triesNext: true }],
      nextRetryDelay: undefined,
    });
  });

  test('that leads nowhere else is retried as before', () => {
    const judged = withVerdict(failure, { service: { name: 'a' } });
    expect(judged).toMatchObject({ nonRetryable: false, nextRetryDelay: 7_000 });
    expect(judged).toMatchObject({ details: [{ attempt: 1 }, { service: { name: 'a' } }] });
  });

  test('stays final if it was, and a cancellation stays one', () => {
    expect(withVerdict(INVALID, {})).toMatchObject({ nonRetryable: true });
    const cancelled = new CancelledFailure('cancelled');
    expect(withVerdict(cancelled, { triesNext: true })).toBe(cancelled);
  });
});
