import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  TimeoutFailure,
} from '@temporalio/workflow';
import { Job } from '../../workflows/job';
import { pollUntilReady } from '../../workflows/poll';

const READY = { state: 'succeeded', word: 'done', hasVideo: true, nextPollMs: 0 };
const mockPolls = { local: jest.fn(), regular: jest.fn() };
jest.mock('@temporalio/workflow', () => ({
  ...jest.requireActual('@temporalio/workflow'),
  workflowInfo: () => ({
    workflowId: 'fox',
    historyLength: 10,
    typedSearchAttributes: { get: () => undefined },
  }),
  condition: async () => true,
  setCurrentDetails: () => undefined,
  upsertMemo: () => undefined,
  log: { info: () => undefined, warn: () => undefined },
  metricMeter: { createHistogram: () => ({ record: () => undefined }) },
  proxyLocalActivities: () => ({ pollVideo: mockPolls.local }),
  proxyActivities: () => ({ pollVideo: mockPolls.regular }),
}));

/** As the SDK delivers how a local activity ended. */
const ended = (cause: Error) =>
  new ActivityFailure('Activity task failed', 'pollVideo', '1', 'IN_PROGRESS', 'worker', cause);
const GIVEN_UP = ended(new CancelledFailure('Local Activity cancelled'));

async function pollAfter(local: Error, isCancelled = false): Promise<void> {
  jest
    .spyOn(CancellationScope, 'current')
    .mockReturnValue(
      Object.create(CancellationScope.prototype, { consideredCancelled: { value: isCancelled } }),
    );
  mockPolls.local = jest.fn(async () => READY).mockRejectedValueOnce(local);
  mockPolls.regular = jest.fn(async () => READY);
  const job = new Job({ request: { prompt: 'A red fox' } });
  job.known.taskId = 'task-1';
  await pollUntilReady(job);
}
afterEach(() => jest.restoreAllMocks());

test.each([
  ['that a worker gave up, which does not cancel the job', GIVEN_UP],
  ['that took too long', ended(new TimeoutFailure('slow', undefined, 'START_TO_CLOSE'))],
  [
    'by a worker that does not reach the service, or lacks it',
    ended(ApplicationFailure.create({ type: 'videogen.ServiceUnreachable' })),
  ],
  ['that failed in a way of its own', ended(ApplicationFailure.create({ type: 'Error' }))],
])('a local poll %s is made again by any worker', async (_what, failure) => {
  await pollAfter(failure);
  expect(mockPolls.regular).toHaveBeenCalledTimes(1);
});

test('an answer that fails a local poll counts, and the next poll is local again', async () => {
  await pollAfter(ended(ApplicationFailure.nonRetryable('no', 'videogen.Unauthorized')));
  expect(mockPolls.local).toHaveBeenCalledTimes(2);
  expect(mockPolls.regular).not.toHaveBeenCalled();
});

test('a local poll of a cancelled job ends the job', async () => {
  await expect(pollAfter(GIVEN_UP, true)).rejects.toBe(GIVEN_UP);
  expect(mockPolls.regular).not.toHaveBeenCalled();
});
