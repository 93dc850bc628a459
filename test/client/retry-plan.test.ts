import {
  type EndedJob,
  mayRetryAsItIs,
  planRetry,
  RetryRefused,
  retryName,
} from '../../src/client/retry-plan';
import { FAILURES, type FailureType } from '../../src/contract/failure-table';
import { isWorkflowId } from '../../src/contract/input-rules';
import { VideoFailure } from '../../src/contract/video-failure';
import { fc } from '../support/properties';

const ended = (type: FailureType, more: Partial<EndedJob> = {}): EndedJob => ({
  workflowId: 'fox 1',
  state: 'failed',
  failure: new VideoFailure(type, more.taskId === undefined ? {} : { taskId: more.taskId }),
  ...more,
});

function outcomeOf(job: EndedJob, options?: { resubmit: boolean }): unknown {
  try {
    return planRetry(job, options);
  } catch (error) {
    if (!(error instanceof RetryRefused)) throw error;
    return error.commands;
  }
}

const RESUBMIT = "videogen retry 'fox 1' --resubmit";

test.each<[string, EndedJob, unknown]>([
  [
    'continues with a task that may bring a video',
    ended('DeadlineExceeded', { taskId: 't' }),
    { adopt: 't' },
  ],
  [
    'continues with the task of a cancelled job',
    ended('Cancelled', { taskId: 't', state: 'cancelled' }),
    { adopt: 't' },
  ],
  [
    'continues with a task whose failure nobody knows any more',
    ended('DeadlineExceeded', { failure: undefined, taskId: 't' }),
    { adopt: 't' },
  ],
  ['starts again what was never sent', ended('RateLimited'), { submit: 'again' }],
  [
    'starts again what Temporal ended, and leaves it to the record what was sent',
    ended('Unexpected', { failure: undefined }),
    { submit: 'again' },
  ],
  ['starts a lost submit again, to be held for a decision', ended('SubmitUnconfirmed'), { submit: 'again' }],
  [
    'continues with a task that the service did not know for a while',
    ended('TaskUnknown', { taskId: 't' }),
    { adopt: 't' },
  ],
  [
    'asks before it pays for a failed generation again',
    ended('GenerationFailed', { taskId: 't' }),
    [RESUBMIT],
  ],
  ['asks before it repeats a refused request', ended('InvalidRequest'), [RESUBMIT]],
  ['asks before it repeats refused content', ended('ContentRefused'), [RESUBMIT]],
  [
    'asks before it repeats a task whose content was refused',
    ended('ContentRefused', { taskId: 't' }),
    [RESUBMIT],
  ],
  [
    'asks when a lost submit was repeated and refused',
    ended('Unauthorized', {
      failure: new VideoFailure('Unauthorized', { mayHaveTask: true }),
      wasHeld: true,
    }),
    [RESUBMIT],
  ],
  [
    'sends a held submit to decide',
    ended('SubmitUnconfirmed', { state: 'needs-decision' }),
    [
      "videogen decide 'fox 1' --adopt TASK_ID",
      "videogen decide 'fox 1' --resubmit",
      "videogen decide 'fox 1' --abandon",
    ],
  ],
  ['leaves a running job alone', ended('Unexpected', { state: 'running' }), ["videogen watch 'fox 1'"]],
  ['leaves a stored video alone', ended('Unexpected', { state: 'succeeded' }), ["videogen download 'fox 1'"]],
])('a retry %s', (_what, job, outcome) => {
  expect(outcomeOf(job)).toEqual(outcome);
});

test.each([
  [
    undefined,
    'The content of fox 1 was refused, and the same request would be refused again. Change the prompt',
  ],
  [
    't',
    'would be refused again and may be charged again. Change the prompt or the image and start a new job.',
  ],
])('the retry of refused content with the task %p says what to change', (taskId, sentence) => {
  expect(() => planRetry(ended('ContentRefused', { taskId }))).toThrow(sentence);
});

test('no task that may have been paid is ever paid anew without a decision', () => {
  for (const type of Object.keys(FAILURES) as FailureType[]) {
    for (const taskId of [undefined, 't']) {
      const outcome = outcomeOf(ended(type, { taskId }));
      expect([type, Object(outcome).submit]).not.toEqual([type, 'anew']);
    }
  }
});

test('a retry is proposed for exactly those that need no decision', () => {
  for (const type of Object.keys(FAILURES) as FailureType[]) {
    for (const taskId of [undefined, 't']) {
      const plan = outcomeOf(ended(type, { taskId }));
      expect([type, taskId, mayRetryAsItIs(type, taskId)]).toEqual([type, taskId, !Array.isArray(plan)]);
    }
  }
});

test('a decided one starts again under its own name without a task, and is paid anew with one', () => {
  const decided = { resubmit: true };
  expect(outcomeOf(ended('SubmitUnconfirmed'), decided)).toEqual({ submit: 'again' });
  expect(outcomeOf(ended('GenerationFailed', { taskId: 't' }), decided)).toEqual({ submit: 'anew' });
  expect(outcomeOf(ended('InvalidRequest'), decided)).toEqual({ submit: 'again' });
  expect(outcomeOf(ended('SubmitUnconfirmed', { state: 'needs-decision' }), decided)).toHaveLength(3);
});

test('the name of a retry counts up', () => {
  expect(retryName('fox')).toBe('fox-retry-1');
  expect(retryName('fox-retry-1')).toBe('fox-retry-2');
  expect(retryName('fox-retry-0')).toBe('fox-retry-0-retry-1');
});

test('it is a valid name of its own, however long the old one is', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1_000 }).filter(isWorkflowId),
      fc.constantFrom('', 'x'.repeat(900), '狐'.repeat(300)),
      (name, padding) => {
        const old = isWorkflowId(padding + name) ? padding + name : name;
        expect(isWorkflowId(retryName(old))).toBe(true);
        expect(retryName(old)).not.toBe(old);
        expect(retryName(old)).toBe(retryName(old));
      },
    ),
  );
  const [a, b] = ['a', 'b'].map((last) => `${'x'.repeat(999)}${last}`);
  expect(retryName(a ?? '')).not.toBe(retryName(b ?? ''));
});
