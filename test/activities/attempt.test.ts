import { CancelledFailure } from '@temporalio/common';
import { jobName, whileHeartbeating, willRetryDownload } from '../../activities/attempt';
import { HEARTBEAT_EVERY_MS } from '../../src/contract/policies';
import { createFailure } from '../../src/contract/video-failure';
import { startAttempt } from './activity-world';

const RETRYABLE = createFailure('StorageFailed', {}, { retryable: true });

describe('a partial download is left for the next attempt', () => {
  const willRetry = (failure: unknown, tookMs: number, info = {}) =>
    startAttempt(async () => willRetryDownload(failure, tookMs), undefined, {
      scheduleToCloseTimeoutMs: 10_000,
      ...info,
    }).result;

  test('if Temporal makes one before the deadline', async () => {
    // The first pause is a second.
    expect(await willRetry(RETRYABLE, 8_999)).toBe(true);
    expect(await willRetry(RETRYABLE, 9_000)).toBe(false);
  });

  test('counting the attempts before this one', async () => {
    const info = { scheduledTimestampMs: 1_000, currentAttemptScheduledTimestampMs: 6_000 };
    expect(await willRetry(RETRYABLE, 3_999, info)).toBe(true);
    expect(await willRetry(RETRYABLE, 4_000, info)).toBe(false);
  });

  test('counting the pause, which doubles up to a minute', async () => {
    expect(await willRetry(RETRYABLE, 5_999, { attempt: 3 })).toBe(true);
    expect(await willRetry(RETRYABLE, 6_000, { attempt: 3 })).toBe(false);
    const long = { attempt: 20, scheduleToCloseTimeoutMs: 100_000 };
    expect(await willRetry(RETRYABLE, 39_999, long)).toBe(true);
    expect(await willRetry(RETRYABLE, 40_000, long)).toBe(false);
  });

  test('counting the pause that the service asks for', async () => {
    const limited = createFailure('RateLimited', {}, { retryable: true, nextRetryDelayMs: 4_000 });
    expect(await willRetry(limited, 5_999)).toBe(true);
    expect(await willRetry(limited, 6_000)).toBe(false);
  });

  test('always, without a deadline', async () => {
    expect(await willRetry(RETRYABLE, 1e9, { scheduleToCloseTimeoutMs: undefined })).toBe(true);
  });

  test('never after a final failure or a cancellation', async () => {
    expect(await willRetry(createFailure('VideoTooLarge', {}), 0)).toBe(false);
    expect(await willRetry(new CancelledFailure('cancelled'), 0)).toBe(false);
  });
});

test('a job has the name of its workflow, or of its activity', async () => {
  const nameOf = (info: object) => startAttempt(async () => jobName(), undefined, info).result;
  expect(await nameOf({ workflowExecution: { workflowId: 'fox', runId: 'run' } })).toBe('fox');
  expect(await nameOf({ workflowExecution: undefined, inWorkflow: false, activityId: 'alone' })).toBe(
    'alone',
  );
});

describe('while it works, an activity', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] }));
  afterEach(() => jest.useRealTimers());

  async function beatsDuring(info = {}, end: () => unknown = () => 'done') {
    const attempt = startAttempt(
      () =>
        whileHeartbeating(
          async () => {
            await jest.advanceTimersByTimeAsync(2 * HEARTBEAT_EVERY_MS);
            return end();
          },
          () => 'note',
        ),
      undefined,
      info,
    );
    const result = await attempt.result.catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(2 * HEARTBEAT_EVERY_MS);
    return { result, beats: attempt.beats };
  }

  test('heartbeats with its note, and not after its end', async () => {
    expect(await beatsDuring()).toEqual({ result: 'done', beats: ['note', 'note'] });
  });

  test('does not heartbeat after a failure either', async () => {
    const failure = createFailure('StorageFailed', {});
    const { result, beats } = await beatsDuring({}, () => {
      throw failure;
    });
    expect(result).toBe(failure);
    expect(beats).toHaveLength(2);
  });

  test('does not heartbeat if it is local', async () => {
    expect(await beatsDuring({ isLocal: true })).toEqual({ result: 'done', beats: [] });
  });
});
