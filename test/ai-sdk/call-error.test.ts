import { ServiceError } from '@temporalio/client';
import { toCallError } from '../../src/ai-sdk/call-error';
import { TemporalUnreachable } from '../../src/client/refusals';
import { readFailure, VideoFailure } from '../../src/contract/video-failure';
import { StorageFault } from '../../src/storage';

const grpcError = (code: number) =>
  new ServiceError('Failed', {
    cause: Object.assign(new Error('14 UNAVAILABLE'), { code, details: 'no', metadata: {} }),
  });

test.each<[what: string, error: unknown, isRetryable: boolean, message: RegExp]>([
  ['a failed job', new VideoFailure('GenerationFailed', { taskId: 'task_1' }), false, /\(task task_1\)/],
  [
    'a rate limit that the job could not wait out',
    new VideoFailure('RateLimited'),
    false,
    /no more requests/,
  ],
  [
    'no connection to Temporal',
    new TemporalUnreachable('Temporal cannot be reached'),
    true,
    /cannot be reached/,
  ],
  ['Temporal that does not answer', grpcError(14), true, /^Temporal does not answer. Nothing is lost/],
  ['Temporal that is too slow', grpcError(4), true, /^Temporal does not answer/],
  [
    'a storage that does not answer',
    new StorageFault('EIO'),
    true,
    /storage of the videos does not answer: EIO[.]/,
  ],
  ['a storage that refuses for good', new StorageFault('denied', { isFinal: true }), false, /denied/],
])(
  '%s is an error of the AI SDK that says whether the call may be repeated',
  (_what, error, isRetryable, message) => {
    const found = toCallError(error);
    expect(found).toMatchObject({
      name: 'AI_APICallError',
      isRetryable,
      message: expect.stringMatching(message),
    });
    expect(found).toMatchObject({ [Symbol.for('vercel.ai.error.AI_APICallError')]: true, cause: error });
  },
);

test('the error of a failed job has its type, its task and the status for a web service', () => {
  const failure = new VideoFailure('ContentRefused', { taskId: 'task_1' });
  const error = toCallError(failure);
  expect(error).toMatchObject({
    message: failure.message,
    statusCode: 451,
    data: { type: 'ContentRefused', taskId: 'task_1', advice: failure.advice },
  });
  expect(readFailure(error)).toBe(failure);
});

test.each([['a bug', new TypeError('x is undefined')]])(
  '%s stays as it is, so that nothing repeats it',
  (_what, error) => {
    expect(toCallError(error)).toBe(error);
  },
);
