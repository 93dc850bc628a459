import { batchLine, batchScreen } from '../../src/cli/batch-lines';
import type { BatchProgress, ItemProgress } from '../../src/contract/batch';

const START = Date.parse('2026-01-01T00:00:00Z');
const at45s = START + 45_000;

const item = (number: number): ItemProgress => ({
  item: number,
  name: `foxes-${number}`,
  progress: {
    phase: 'waiting',
    taskId: `task_${number}`,
    task: { state: 'running', word: 'rendering', percent: 50 },
    polls: 1,
    startedAt: new Date(START).toISOString(),
    deadlineAt: new Date(START + 3_600_000).toISOString(),
  },
});
const items = (count: number) => Array.from({ length: count }, (_, index) => item(index + 8));
const progress = (more: Partial<BatchProgress> = {}): BatchProgress => ({
  items: 40,
  succeeded: 0,
  failed: 0,
  running: [],
  ...more,
});

describe('the line of a batch', () => {
  it.each<[Partial<BatchProgress>, string]>([
    [{}, '0 of 40 stored'],
    [{ items: undefined }, '0 of ? stored'],
    [{ succeeded: 12, failed: 1, running: items(20) }, '12 of 40 stored, 1 failed, 20 under way'],
    [{ succeeded: 39, failed: 1 }, '39 of 40 stored, 1 failed'],
    [
      { failed: 1, running: items(2), stopping: 'item 3 failed' },
      '0 of 40 stored, 1 failed, 2 under way, no new items start: item 3 failed',
    ],
  ])('with %j is %s', (more, line) => {
    expect(batchLine(progress(more))).toBe(line);
  });
});

describe('the screen of a batch', () => {
  const screen = (more: Partial<BatchProgress>, columns = 200, rows = 24) =>
    batchScreen(progress(more), at45s, columns, rows);

  it('shows the batch, then each running item, with aligned numbers', () => {
    const line = 'waiting      ██████████░░░░░░░░░░  50 %  45 s  rendering  ';
    expect(screen({ succeeded: 6, failed: 4, running: items(3) })).toEqual([
      '█████░░░░░░░░░░░░░░░  25 %  6 of 40 stored, 4 failed, 3 under way',
      ` 8  ${line}task_8`,
      ` 9  ${line}task_9`,
      `10  ${line}task_10`,
    ]);
  });

  it.each<[Partial<BatchProgress>, string]>([
    [{ items: undefined }, '  0 %'],
    [{ items: 3, succeeded: 2 }, ' 66 %'],
    // Not 100 before all items have ended.
    [{ items: 1_000, succeeded: 998, failed: 1 }, ' 99 %'],
    [{ succeeded: 39, failed: 1 }, '100 %'],
  ])('with %j is at %s', (more, percent) => {
    expect(screen(more)[0]).toMatch(new RegExp(`^[█░]{20} ${percent} {2}`));
  });

  it.each([
    [24, 5, 5, 0],
    [24, 22, 22, 0],
    [24, 23, 21, 2],
    [24, 500, 21, 479],
    [4, 3, 1, 2],
    [3, 1, 1, 0],
    [3, 2, 0, 2],
  ])('on %d rows, of %d items shows %d and counts the other %d', (rows, count, shown, hidden) => {
    const [, ...lines] = screen({ running: items(count) }, 200, rows);
    expect(lines.filter((line) => line.includes('waiting'))).toHaveLength(shown);
    expect(lines.slice(shown)).toEqual(hidden > 0 ? [`    and ${hidden} more`] : []);
  });

  it('says of an item that does not answer what the batch knows', () => {
    const running = [
      { item: 8, name: 'foxes-8' },
      { item: 9, name: 'foxes-9', isHeld: true },
    ];
    expect(screen({ running }).slice(1)).toEqual([' 8  under way', ' 9  needs a decision']);
  });

  it('leaves the last row to the cursor with any number of items', () => {
    for (let rows = 3; rows < 40; rows++) {
      for (const count of [0, 1, rows - 2, rows - 1, rows, 500]) {
        expect(screen({ running: items(count) }, 200, rows).length).toBeLessThan(rows);
      }
    }
  });

  it('has no line longer than the screen', () => {
    for (let columns = 0; columns < 150; columns++) {
      for (const line of screen({ succeeded: 6, failed: 4, running: items(30) }, columns)) {
        expect(line.length).toBeLessThanOrEqual(columns);
      }
    }
  });
});
