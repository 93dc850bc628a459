import { NotSent, refuseIfLate } from '../../../activities/submit/before-post';
import { POST_BEFORE_DEADLINE_MS, POST_WITHIN_MS } from '../../../src/contract/policies';
import { StorageFault } from '../../../src/storage';
import { startAttempt } from '../activity-world';

const STARTED_AT_MS = 50_000;
afterEach(() => jest.restoreAllMocks());

/** What an attempt that started so long ago does right before its POST. */
async function after(elapsedMs: number, info = {}): Promise<unknown> {
  jest.spyOn(performance, 'now').mockReturnValue(STARTED_AT_MS + elapsedMs);
  const { result } = startAttempt(async () => refuseIfLate(STARTED_AT_MS), undefined, info);
  return result.then(
    () => 'sends',
    (error: unknown) => error,
  );
}

test('an attempt sends within the time that its heartbeat gives it, and not after', async () => {
  expect(await after(POST_WITHIN_MS)).toBe('sends');
  const late = await after(POST_WITHIN_MS + 1);
  expect(late).toBeInstanceOf(StorageFault);
  expect(late).toMatchObject({ message: 'recording the request took too long' });
});

test('an attempt does not send right before the deadline of the job', async () => {
  // The attempts before this one, and the pauses between them, took nine seconds of the ten.
  const info = {
    scheduleToCloseTimeoutMs: 10_000,
    scheduledTimestampMs: 1_000,
    currentAttemptScheduledTimestampMs: 10_000,
  };
  expect(await after(1_000 - POST_BEFORE_DEADLINE_MS, info)).toBe('sends');
  const late = await after(1_001 - POST_BEFORE_DEADLINE_MS, info);
  expect(late).toBeInstanceOf(NotSent);
  expect(late).toMatchObject({ cause: { type: 'videogen.DeadlineExceeded' } });
});

test.each([undefined, 0])('an activity without a deadline (%s) sends', async (scheduleToCloseTimeoutMs) => {
  expect(await after(0, { scheduleToCloseTimeoutMs })).toBe('sends');
});
