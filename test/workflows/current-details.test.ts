import { FAILURES } from '../../src/contract/failure-table';
import { decisionProblem } from '../../src/contract/input-rules';
import { currentDetails } from '../../workflows/ui-details';

const job = {
  phase: 'needs-decision',
  polls: 0,
  startedAt: '2026-01-01T00:00:00.000Z',
  deadlineAt: '2026-01-01T01:00:00.000Z',
  hold: { since: '2026-01-01T00:00:01.000Z', until: '2026-01-02T00:00:01.000Z', message: 'It was lost.' },
} as const;
const ofJob = currentDetails(job, undefined, 'fox');
/** The buttons that open the form. test/real-server/ui-details.test.ts finds them in the UI itself. */
const BUTTONS = 'More Actions, Send an Update, select `decideSubmit` and enter';

test('the details of a job with a lost submit say how to decide it in the Temporal UI', () => {
  expect(ofJob).toContain(`Or here in the Temporal UI: ${BUTTONS}`);
});

test('the details of a job have a line for each thing that is known, and none for the rest', () => {
  const { hold, ...begun } = { ...job, phase: 'submitting' as const };
  const deadline = 'Deadline 2026-01-01T01:00:00.000Z, in 0 ms';
  expect(currentDetails(begun, undefined, 'fox').split('\n\n')).toEqual([
    '**Submitting the request to the video service**',
    deadline,
  ]);
  const waiting = {
    ...begun,
    phase: 'waiting' as const,
    nextPollAt: '2026-01-01T00:30:00.000Z',
  };
  expect(currentDetails(waiting, undefined, 'fox').split('\n\n')).toEqual([
    '**Waiting for the video**',
    'Next poll at 2026-01-01T00:30:00.000Z',
    deadline,
  ]);
});

test('the inputs in the details are valid decisions', () => {
  const entered = (details: string) => [...details.matchAll(/`(\{.*?\})`/g)].map(([, json = '']) => json);
  expect(entered(ofJob).map((json) => JSON.parse(json).decision)).toEqual(['adopt', 'resubmit', 'abandon']);
  expect(entered(ofJob).map((json) => decisionProblem(JSON.parse(json)))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test('the advice of the failure names the same buttons', () => {
  expect(FAILURES.SubmitUnconfirmed.advice).toContain(
    'in the Temporal UI: More Actions, Send an Update, decideSubmit.',
  );
});
