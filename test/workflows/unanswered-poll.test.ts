import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  TimeoutFailure,
} from '@temporalio/workflow';
import { undefinedIfUnanswered } from '../../workflows/poll';

/** As the SDK delivers how a local activity ended. */
const ended = (cause: Error) =>
  new ActivityFailure('Activity task failed', 'pollVideo', '1', 'IN_PROGRESS', 'worker', cause);
const givenUp = ended(new CancelledFailure('Local Activity cancelled'));

afterEach(() => jest.restoreAllMocks());
const inScope = (consideredCancelled: boolean) => {
  const scope = Object.create(CancellationScope.prototype, {
    consideredCancelled: { value: consideredCancelled },
  });
  jest.spyOn(CancellationScope, 'current').mockReturnValue(scope);
};

test('a local poll that a worker gave up is no cancellation of the job, and is made again', () => {
  inScope(false);
  expect(undefinedIfUnanswered(givenUp)).toBeUndefined();
  expect(
    undefinedIfUnanswered(ended(new TimeoutFailure('slow', undefined, 'START_TO_CLOSE'))),
  ).toBeUndefined();
});

test('a local poll by a worker without the service is made again by any worker', () => {
  inScope(false);
  const details = [{ message: 'this worker has no service b' }, { mayBeElsewhere: true }];
  const failed = ended(ApplicationFailure.create({ type: 'videogen.ServiceUnreachable', details }));
  expect(undefinedIfUnanswered(failed)).toBeUndefined();
});

test('a local poll of a cancelled job, and any other failure, is passed on', () => {
  inScope(true);
  expect(() => undefinedIfUnanswered(givenUp)).toThrow(givenUp);
  inScope(false);
  const failed = ended(ApplicationFailure.nonRetryable('no', 'videogen.Unauthorized'));
  expect(() => undefinedIfUnanswered(failed)).toThrow(failed);
});
