import type { BatchProgress } from '../../../src/contract/batch';
import { batchDetails } from '../../../workflows/ui-details';

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

test('they say why no more items are started', () => {
  expect(details({ stopping: 'item 3 failed', running: items(1) })[2]).toBe(
    'No more items are started: item 3 failed',
  );
});

test('they name the items that wait for a decision, and say how to decide', () => {
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
])('of %d items that wait they name twenty and count the others', (count, end) => {
  const [, , decide = ''] = details({ running: items(count, true) });
  expect(decide.match(/`foxes-\d+`/g)).toHaveLength(20);
  expect(decide).toContain(end);
});
