import type { BatchProgress } from '../../src/contract/batch';
import { FAILURES } from '../../src/contract/failure-table';
import { decisionProblem } from '../../src/contract/input-rules';
import type { JobProgress } from '../../src/contract/job';
import { batchDetails, currentDetails } from '../../workflows/ui-details';
import { hostileText, STEERING } from '../support/hostile-text';
import { fc } from '../support/properties';

const hold = { since: '2026-01-01T00:00:01.000Z', until: '2026-01-02T00:00:01.000Z' };
const begun = {
  phase: 'submitting',
  polls: 0,
  startedAt: '2026-01-01T00:00:00.000Z',
  deadlineAt: '2026-01-01T01:00:00.000Z',
} as const;

test('the details of a job have a line for each thing that is known, and none for the rest', () => {
  const deadline = 'Deadline 2026-01-01T01:00:00.000Z, in 0 ms';
  expect(currentDetails(begun, undefined, 'fox').split('\n\n')).toEqual([
    '**Submitting the request to the video service**',
    deadline,
  ]);
  const nextPollAt = '2026-01-01T00:30:00.000Z';
  expect(currentDetails({ ...begun, phase: 'waiting', nextPollAt }, undefined, 'fox').split('\n\n')).toEqual([
    '**Waiting for the video**',
    'Next poll at 2026-01-01T00:30:00.000Z',
    deadline,
  ]);
});

test('the details of a job with a lost submit say how to decide it in the Temporal UI, with valid inputs', () => {
  const lost = { ...begun, phase: 'needs-decision', hold: { ...hold, message: 'It was lost.' } } as const;
  const details = currentDetails(lost, undefined, 'fox');
  // test/real-server/ui-details.test.ts finds the buttons in the UI itself.
  expect(details).toContain(
    'Or here in the Temporal UI: More Actions, Send an Update, select `decideSubmit` and enter',
  );
  const entered = [...details.matchAll(/`(\{.*?\})`/g)].map(([, json = '']) => JSON.parse(json));
  expect(entered.map(({ decision }) => decision)).toEqual(['adopt', 'resubmit', 'abandon']);
  for (const decision of entered) expect(decisionProblem(decision)).toBeUndefined();
  expect(FAILURES.SubmitUnconfirmed.advice).toContain(
    'in the Temporal UI: More Actions, Send an Update, decideSubmit.',
  );
});

const items = (count: number, isHeld = false) =>
  Array.from({ length: count }, (_, index) => ({ item: index + 1, name: `foxes-${index + 1}`, isHeld }));
const details = (more: Partial<BatchProgress>) =>
  batchDetails({ items: 40, succeeded: 0, failed: 0, running: [], ...more }).split('\n\n');

test('the details of a batch count stored, failed and running items', () => {
  expect(details({ succeeded: 12, failed: 1, running: items(3) })).toEqual([
    '**12 of 40 videos are stored**',
    '1 failed, 3 running: each is a child workflow of this one',
  ]);
  expect(details({ items: undefined })[0]).toBe('**0 of ? videos are stored**');
});

test('the details of a batch say why no more items are started', () => {
  expect(details({ stopping: 'item 3 failed', running: items(1) })[2]).toBe(
    'No more items are started: item 3 failed',
  );
});

test('the details of a batch name the items that wait for a decision, and say how to decide', () => {
  const held = { item: 30, name: 'foxes-30', isHeld: true };
  const [, , decide] = details({ running: [...items(29), held] });
  expect(decide).toMatch(/^1 need a decision: `foxes-30`\. The submit got no answer/);
  expect(decide).toContain('`videogen decide foxes-30 --adopt TASK_ID`');
  expect(details({ running: items(29) }).join()).not.toContain('decide');
});

test.each([
  [20, '`foxes-20`. '],
  [21, '`foxes-20` and 1 more. '],
  [500, '`foxes-20` and 480 more. '],
])('the details of a batch name twenty of %d items that wait, and count the others', (count, end) => {
  const [, , decide = ''] = details({ running: items(count, true) });
  expect(decide.match(/`foxes-\d+`/g)).toHaveLength(20);
  expect(decide).toContain(end);
});

/** A code span with any number of backticks, or an escaped character. */
const INERT = /(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)|\\./gsu;

test('details for the Temporal UI escape all names and messages of others', () => {
  fc.assert(
    fc.property(hostileText, hostileText, (name, word) => {
      const progress: JobProgress = {
        ...begun,
        phase: 'needs-decision',
        polls: 1,
        taskId: name,
        task: { state: 'running', word },
        problem: { type: 'RateLimited', message: word, count: 1 },
        hold: { ...hold, message: word },
      };
      const running = [{ item: 1, name, isHeld: true }];
      const counts = { items: 5, succeeded: 0, failed: 0, running, stopping: word };
      for (const details of [currentDetails(progress, undefined, name), batchDetails(counts)]) {
        expect(details).not.toMatch(STEERING);
        // Only our headline has Markdown.
        const rest = details.replace(/^\*\*[^*]+\*\*/, '').replace(INERT, '');
        expect(rest).not.toMatch(/[`[\]<>!_*]/);
      }
    }),
  );
});
