import type { BatchProgress, ItemProgress } from '../../../src/contract/batch';
import { batchDetails } from '../../../workflows/batch/batch-details';

const item = (number: number, more: Partial<ItemProgress> = {}): ItemProgress => ({
  item: number,
  name: `foxes-${number}`,
  phase: 'waiting',
  polls: 1,
  startedAt: '2026-01-01T00:00:00.000Z',
  deadlineAt: '2026-01-01T01:00:00.000Z',
  ...more,
});
const items = (count: number) => Array.from({ length: count }, (_, index) => item(index + 1));
const details = (more: Partial<BatchProgress>) =>
  batchDetails({ items: 40, succeeded: 0, failed: 0, running: [], ...more }, 'foxes').split('\n\n');

test('the details of a batch count stored, failed and running items', () => {
  expect(details({ succeeded: 12, failed: 1 })).toEqual([
    '**12 of 40 videos are stored**',
    '1 failed, 0 running',
  ]);
  expect(details({ items: undefined })[0]).toBe('**0 of ? videos are stored**');
});

test('they list each running item with its progress', () => {
  const running = [
    item(3, { phase: 'submitting' }),
    item(4, { taskId: 'task_4', task: { state: 'running', word: 'rendering', percent: 27.4 } }),
    item(5, {
      taskId: 'task_5',
      task: { state: 'running', word: 'running', percent: 0 },
      problem: { type: 'RateLimited', message: 'HTTP 429 slow down', count: 2 },
    }),
  ];
  expect(details({ running })[2]?.split('\n')).toEqual([
    '- 3: submitting',
    '- 4: waiting 27 %, task `task_4`',
    '- 5: waiting 0 %, task `task_5`, last poll failed: HTTP 429 slow down',
  ]);
});

test.each([
  [20, 20, []],
  [21, 20, ['and 1 more']],
  [500, 20, ['and 480 more']],
])('of %d items they list %d and count the others', (count, listed, rest) => {
  const [, summary, list, ...others] = details({ running: items(count) });
  expect(summary).toBe(`0 failed, ${count} running`);
  expect(list?.split('\n')).toHaveLength(listed);
  expect(others).toEqual(rest);
});

test('they say why no more items are started', () => {
  expect(details({ stopping: 'item 3 failed', running: items(1) })[2]).toBe(
    'No more items are started: item 3 failed',
  );
});

test('they count all items that wait for a decision, and say how to decide', () => {
  const held = item(30, { phase: 'needs-decision' });
  const [, , decide] = details({ running: [...items(29), held] });
  expect(decide).toMatch(/^1 need a decision: the submit got no answer/);
  expect(decide).toContain('`videogen decide foxes --item NUMBER --adopt TASK_ID`');
  expect(details({ running: items(29) }).join()).not.toContain('decide');
});
