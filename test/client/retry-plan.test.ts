import { RetryRefused } from '../../src/client/refusals';
import { type EndedJob, mayRetryAsItIs, nextCommands, planRetry } from '../../src/client/retry-job';
import { FAILURES, type FailureType } from '../../src/contract/failure-table';
import { VideoFailure } from '../../src/contract/video-failure';

const ended = (type: FailureType, more: Partial<EndedJob> = {}): EndedJob => ({
  failure: new VideoFailure(type, more.taskId === undefined ? {} : { taskId: more.taskId }),
  taskId: undefined,
  wasHeld: false,
  resubmit: false,
  ...more,
});

function outcomeOf(job: EndedJob): unknown {
  try {
    return planRetry('fox 1', job);
  } catch (error) {
    if (!(error instanceof RetryRefused)) throw error;
    return error.commands;
  }
}

const ASKS = ["videogen retry 'fox 1' --resubmit"];
const repeated = new VideoFailure('Unauthorized', { mayHaveTask: true });

test.each<[string, EndedJob, unknown]>([
  ['continues with a task that may bring a video', ended('DeadlineExceeded', { taskId: 't' }), 'adopt'],
  ['continues with the task of a cancelled job', ended('Cancelled', { taskId: 't' }), 'adopt'],
  [
    'continues with a task whose failure nobody knows',
    { ...ended('NoVideo', { taskId: 't' }), failure: undefined },
    'adopt',
  ],
  ['starts again what was never sent', ended('RateLimited'), 'again'],
  ['leaves it to the record what Temporal ended', { ...ended('NoVideo'), failure: undefined }, 'again'],
  ['starts a lost submit again, to be held for a decision', ended('SubmitUnconfirmed'), 'again'],
  ['continues with a task that the service did not know', ended('TaskUnknown', { taskId: 't' }), 'adopt'],
  ['asks before it pays for a failed generation again', ended('GenerationFailed', { taskId: 't' }), ASKS],
  ['asks before it repeats a refused request', ended('InvalidRequest'), ASKS],
  ['asks before it repeats refused content', ended('ContentRefused'), ASKS],
  ['asks before it repeats a task with refused content', ended('ContentRefused', { taskId: 't' }), ASKS],
  ['asks when a lost submit was repeated', ended('Unauthorized', { failure: repeated, wasHeld: true }), ASKS],
  ['starts again, once decided, what has no task', ended('SubmitUnconfirmed', { resubmit: true }), 'again'],
  ['pays anew, once decided, for a task', ended('GenerationFailed', { taskId: 't', resubmit: true }), 'anew'],
])('a retry %s', (_what, job, outcome) => {
  expect(outcomeOf(job)).toEqual(outcome);
});

test('nothing is paid anew without a decision, and a retry is proposed for what needs none', () => {
  for (const type of Object.keys(FAILURES) as FailureType[]) {
    for (const taskId of [undefined, 't']) {
      const outcome = outcomeOf(ended(type, { taskId }));
      expect([type, outcome]).not.toEqual([type, 'anew']);
      expect([type, taskId, mayRetryAsItIs(type, taskId)]).toEqual([type, taskId, !Array.isArray(outcome)]);
    }
  }
});

test.each([
  ['job', ["videogen generate --id 'fox 1' --out FILE.mp4"]],
  ['batch', []],
] as const)('what can be done about a %s that has succeeded: it has its video already', (kind, commands) => {
  const overview = { workflowId: 'fox 1', kind, state: 'succeeded' } as const;
  expect(nextCommands(overview)).toEqual(commands);
});
