import { ApplicationFailure } from '@temporalio/common';
import { BadVideo, createCallFailure, isKnownFault, toFailure } from '../../activities/to-failure';
import { FAILURES, fromTemporalType } from '../../src/contract/failure-table';
import { createFailure } from '../../src/contract/video-failure';
import { ServiceFault } from '../../src/service';
import { StorageFault } from '../../src/storage';
import { startAttempt } from './activity-world';

async function failureOf(make: () => unknown, info = {}) {
  const made: unknown = await startAttempt(async () => make(), undefined, info).result;
  if (!(made instanceof ApplicationFailure)) throw new Error(`expected a failure, got ${String(made)}`);
  const { nonRetryable, nextRetryDelay, cause } = made;
  return {
    type: fromTemporalType(made.type),
    nonRetryable,
    nextRetryDelay,
    cause,
    details: made.details?.[0],
  };
}

const answered = (facts: ServiceFault['facts']) => new ServiceFault('answered', facts);
const REFUSED_CONTENT = { stage: 'prompt', field: 'prompt' } as const;

describe('an error of a call becomes a failure', () => {
  test.each([
    ['of the storage', new StorageFault('the disk is full'), 'StorageFailed', false],
    ['of the storage for good', new StorageFault('not here', { isFinal: true }), 'StorageFailed', true],
    ['about a bad video', new BadVideo('it is cut'), 'VideoCorrupt', false],
    [
      'about a video that is too large',
      new BadVideo('it has more than 5 bytes', 'VideoTooLarge'),
      'VideoTooLarge',
      true,
    ],
  ])('%s, with its message and its cause', async (_what, error, type, nonRetryable) => {
    const failure = await failureOf(() => toFailure(error, 'download', { taskId: 'task-1' }));
    expect(failure).toMatchObject({
      type,
      nonRetryable,
      details: { taskId: 'task-1', message: error.message, attempt: 1 },
    });
    expect(failure.cause).toMatchObject({ message: error.message });
    expect(isKnownFault(error)).toBe(true);
  });

  test('and one that is a failure already, or none of ours, stays what it is', async () => {
    const failure = createFailure('RateLimited', {});
    const bug = new TypeError('x is not a function');
    const kept = (error: unknown) => startAttempt(async () => toFailure(error, 'poll'), undefined).result;
    expect(await kept(failure)).toBe(failure);
    expect(await kept(bug)).toBe(bug);
    expect([isKnownFault(bug), isKnownFault(failure), isKnownFault(answered({}))]).toEqual([
      false,
      false,
      true,
    ]);
  });

  test('that tells what the service said, and nothing of how we read it', async () => {
    const facts = { status: 429, code: 'slow', message: 'too many', retryAfterMs: 7_500, limited: true };
    const { details } = await failureOf(() =>
      toFailure(answered({ ...facts, noTask: false, taskMayExist: false }), 'poll', { taskId: 'task-1' }),
    );
    expect(details).toEqual({
      taskId: 'task-1',
      status: 429,
      code: 'slow',
      message: 'too many',
      retryAfter: 7.5,
      attempt: 1,
    });
  });

  test.each<[string, ServiceFault, string]>([
    [
      'that may have made a task',
      answered({ status: 400, taskMayExist: true, limited: true }),
      'SubmitUnconfirmed',
    ],
    ['that was a limit', answered({ status: 400, limited: true, noTask: true }), 'RateLimited'],
    ['that made no task', answered({ status: 400, noTask: true }), 'ServiceFailed'],
    [
      'that refused the content',
      answered({ status: 400, refusedContent: REFUSED_CONTENT }),
      'ContentRefused',
    ],
    [
      'that was refused in a 200',
      new ServiceFault('refused', { refusedContent: REFUSED_CONTENT }),
      'ContentRefused',
    ],
    [
      'with an old key, whatever its words',
      answered({ status: 401, refusedContent: REFUSED_CONTENT }),
      'Unauthorized',
    ],
    ['without a status, whatever its words', answered({ refusedContent: REFUSED_CONTENT }), 'ServiceFailed'],
    [
      'that was cut, whatever its words',
      new ServiceFault('cut', { status: 400, refusedContent: REFUSED_CONTENT }),
      'SubmitUnconfirmed',
    ],
    ['that was never sent', new ServiceFault('not-sent', {}), 'ServiceUnreachable'],
    ['without a status', answered({}), 'ServiceFailed'],
  ])('of a submit %s', async (_what, error, type) => {
    const { details, ...failure } = await failureOf(() =>
      toFailure(error, 'submit', { onLostSubmit: 'hold' }),
    );
    expect(failure.type).toBe(type);
    expect(Object(details).field).toBe(type === 'ContentRefused' ? 'prompt' : undefined);
    expect(Object(details).onLostSubmit).toBe(type === 'SubmitUnconfirmed' ? 'hold' : undefined);
  });

  test('for good when the operator does not allow the address', async () => {
    const error = new ServiceFault('not-allowed', { message: 'a loopback address' });
    const failure = await failureOf(() => toFailure(error, 'download'));
    expect([failure.type, failure.nonRetryable]).toEqual(['VideoUnavailable', true]);
    expect(failure.details).toEqual({ message: 'a loopback address', attempt: 1 });
  });
});

describe('a failure of a call is retried', () => {
  const isRetried = async (make: () => unknown, info = {}) => !(await failureOf(make, info)).nonRetryable;

  test('after a lost submit only if the job says so', async () => {
    const lost = (onLostSubmit: 'hold' | 'resubmit') => () =>
      createCallFailure('SubmitUnconfirmed', 'submit', { onLostSubmit });
    expect(await isRetried(lost('hold'))).toBe(false);
    expect(await isRetried(lost('resubmit'))).toBe(true);
    const refused = () => createCallFailure('InvalidRequest', 'submit', { onLostSubmit: 'resubmit' });
    expect(await isRetried(refused)).toBe(false);
  });

  test('as the call that it is part of: a download polls for its link', async () => {
    const unknown = () => toFailure(answered({ status: 404 }), 'poll');
    const inDownload = () => toFailure(answered({ status: 404 }), 'poll', { retryAs: 'download' });
    expect([await isRetried(unknown), await isRetried(inDownload)]).toEqual([false, true]);
    expect(await isRetried(() => toFailure(answered({ status: 500 }), 'resubmit'))).toBe(true);
  });

  test('unless it is final', async () => {
    const limited = (isFinal: boolean) => () => createCallFailure('RateLimited', 'poll', {}, { isFinal });
    expect([await isRetried(limited(false)), await isRetried(limited(true))]).toEqual([true, false]);
  });

  test('after a download as often as the table allows, and after a submit until the deadline', async () => {
    const failed = (call: 'submit' | 'download') => () => createCallFailure('StorageFailed', call, {});
    const { mostDownloadAttempts: most = 0 } = FAILURES.StorageFailed;
    expect(await isRetried(failed('download'), { attempt: most - 1 })).toBe(true);
    expect(await isRetried(failed('download'), { attempt: most })).toBe(false);
    expect(await isRetried(failed('submit'), { attempt: 1_000 })).toBe(true);
    expect(await isRetried(() => createCallFailure('RateLimited', 'download', {}), { attempt: 1_000 })).toBe(
      true,
    );
  });

  test('by a local activity only if it need not wait', async () => {
    const limited = (retryAfter?: number) => () =>
      createCallFailure('RateLimited', 'poll', retryAfter === undefined ? {} : { retryAfter });
    expect(await isRetried(limited(), { isLocal: true })).toBe(true);
    expect(await isRetried(limited(0), { isLocal: true })).toBe(false);
    expect(await isRetried(limited(0))).toBe(true);
  });

  test.each([
    [undefined, undefined],
    [30, 30_000],
    [0, 1_000],
    [86_400, 600_000],
  ])('%s seconds after the answer, between a second and ten minutes', async (retryAfter, leastMs) => {
    const { nextRetryDelay } = await failureOf(() =>
      createCallFailure('RateLimited', 'poll', retryAfter === undefined ? {} : { retryAfter }),
    );
    if (leastMs === undefined) return expect(nextRetryDelay).toBeUndefined();
    expect(nextRetryDelay).toBeGreaterThanOrEqual(leastMs);
    // A random tenth keeps jobs from coming back together.
    expect(nextRetryDelay).toBeLessThanOrEqual(leastMs * 1.1);
  });

  test('at different times, if many got the same answer', async () => {
    jest.spyOn(Math, 'random').mockReturnValueOnce(0).mockReturnValueOnce(0.5).mockReturnValueOnce(1);
    const limited = () => createCallFailure('RateLimited', 'poll', { retryAfter: 100 });
    const delays = [await failureOf(limited), await failureOf(limited), await failureOf(limited)];
    expect(delays.map(({ nextRetryDelay }) => nextRetryDelay)).toEqual([100_000, 105_000, 110_000]);
    jest.restoreAllMocks();
  });
});
