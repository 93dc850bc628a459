import { jobName, whileHeartbeating } from '../../activities/attempt';
import { HEARTBEAT_EVERY_MS } from '../../src/contract/policies';
import { createFailure } from '../../src/contract/video-failure';
import { startAttempt } from './activity-world';

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
