import { batchScreen } from '../../src/cli/batch-lines';
import { showBatch } from '../../src/cli/show-batch';
import type { BatchProgress, ItemProgress } from '../../src/contract/batch';
import type { JobProgress } from '../../src/contract/job';
import { FakeTerminal } from './fake-terminal';
import { followed } from './followed';
import { screenOf } from './screen';

const ROWS = 12;
const startedAt = '2026-01-01T00:00:00.000Z';

const item = (number: number, more: Partial<JobProgress> = {}): ItemProgress => ({
  item: number,
  name: `foxes-${number}`,
  ...(more.phase === 'needs-decision' && { isHeld: true }),
  progress: {
    phase: 'waiting',
    taskId: `task_${number}`,
    task: { state: 'running', word: 'running', percent: 10 },
    polls: 1,
    startedAt,
    deadlineAt: startedAt,
    ...more,
  },
});
const items = (...numbers: number[]) => numbers.map((number) => item(number));
const progressOf = (succeeded: number, running: ItemProgress[]): BatchProgress => ({
  items: 40,
  succeeded,
  failed: 0,
  running,
});

/** A batch that gives these answers in turn and repeats the last one; undefined is a failed query. */
function batchWith(...answers: (BatchProgress | undefined)[]) {
  const progress = async () => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (!answer) throw new Error('no worker yet');
    return answer;
  };
  return followed('foxes', progress);
}

const QUERY_MS = 500;

beforeEach(() => {
  jest.useFakeTimers({ now: Date.parse(startedAt) });
});
afterEach(() => {
  jest.useRealTimers();
});

test('in a pipe each change is one line without escape codes', async () => {
  const terminal = new FakeTerminal();
  const again = progressOf(3, [item(4, { polls: 7 })]);
  const batch = batchWith(
    undefined,
    progressOf(2, items(3, 4)),
    progressOf(3, items(4)),
    again,
    undefined,
    progressOf(4, []),
  );
  const progress = showBatch(batch, terminal);
  await jest.advanceTimersByTimeAsync(10 * QUERY_MS);
  progress.stop();
  await jest.advanceTimersByTimeAsync(10 * QUERY_MS);
  expect(terminal.stderr).toBe('2 of 40 stored, 2 under way\n3 of 40 stored, 1 under way\n4 of 40 stored\n');
  expect(terminal.stdout).toBe('');
});

test.each([120, 40, 20, 9, 5])(
  'on a terminal of %d columns the lines are redrawn, and cleared at the end',
  async (columns) => {
    const answers = [
      progressOf(1, items(2, 3)),
      // More than fit the rows.
      progressOf(3, items(4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)),
      progressOf(17, items(18)),
      progressOf(30, []),
      progressOf(30, items(31, 32, 33)),
    ];
    const terminal = new FakeTerminal({}, columns, ROWS);
    terminal.err('$ videogen batch\n'.slice(-columns));
    const before = screenOf(terminal.stderr, columns);
    let latest = progressOf(0, []);
    const progress = showBatch(
      followed('foxes', async () => latest),
      terminal,
    );
    for (latest of answers) {
      await jest.advanceTimersByTimeAsync(2 * QUERY_MS);
      const drawn = screenOf(terminal.stderr, columns);
      // The last column stays free, because some terminals wrap as soon as it is filled.
      const lines = batchScreen(latest, Date.now(), columns - 1, ROWS);
      expect(withoutTimes(drawn)).toEqual(withoutTimes([...before, ...lines]));
      expect(lines.length).toBeLessThan(ROWS);
    }
    progress.stop();
    expect(screenOf(terminal.stderr, columns)).toEqual(before);
    await jest.advanceTimersByTimeAsync(10 * QUERY_MS);
    expect(screenOf(terminal.stderr, columns)).toEqual(before);
  },
);

/** Removes the parts that change every second. */
function withoutTimes(lines: string[]): string[] {
  return lines.map((line) => line.replace(/ {2}\d+ s.*/, '').trimEnd());
}

describe.each([undefined, 100])('a hold on a screen of %j columns', (columns) => {
  const until = '2026-01-02T00:00:00.000Z';
  const held = (number: number, since = startedAt) =>
    item(number, {
      phase: 'needs-decision',
      taskId: undefined,
      task: undefined,
      hold: { since, until, message: 'It was lost.' },
    });
  const shown = async (...answers: BatchProgress[]) => {
    const terminal = new FakeTerminal({}, columns, ROWS);
    const progress = showBatch(batchWith(...answers), terminal);
    await jest.advanceTimersByTimeAsync(20 * QUERY_MS);
    progress.stop();
    return terminal.stderr;
  };
  const count = (text: string, part: string) => text.split(part).length - 1;

  it('is shown once for each item, with the decision commands', async () => {
    const err = await shown(
      progressOf(0, [held(7)]),
      progressOf(0, [held(7), held(12)]),
      progressOf(3, [held(7), item(9)]),
    );
    for (const number of [7, 12]) {
      expect(count(err, `Item ${number}: It was lost.\n`)).toBe(1);
      for (const option of ['--adopt TASK_ID', '--resubmit', '--abandon'])
        expect(count(err, `  videogen decide foxes-${number} ${option}   # `)).toBe(1);
    }
    expect(count(err, `decide before ${until}; after that the item fails:\n`)).toBe(2);
  });

  it('is shown again if the same item is held again', async () => {
    const heldAgain = held(7, '2026-01-01T05:00:00.000Z');
    const err = await shown(progressOf(0, [held(7)]), progressOf(0, items(7)), progressOf(0, [heldAgain]));
    expect(count(err, 'Item 7: It was lost.\n')).toBe(2);
  });
});

test('a hold stays on the terminal above the redrawn lines', async () => {
  const hold = { since: startedAt, until: startedAt, message: 'It was lost.' };
  const held = item(5, { phase: 'needs-decision', hold });
  const terminal = new FakeTerminal({}, 120, ROWS);
  const progress = showBatch(batchWith(progressOf(1, items(2, 3, 4)), progressOf(4, [held])), terminal);
  await jest.advanceTimersByTimeAsync(10 * QUERY_MS);
  const drawn = screenOf(terminal.stderr, 120);
  expect(drawn).toHaveLength(7);
  expect(drawn[0]).toBe('Item 5: It was lost.');
  expect(drawn[4]).toContain('videogen decide foxes-5 --abandon');
  expect(drawn[5]).toContain('4 of 40 stored, 1 under way');
  progress.stop();
  expect(screenOf(terminal.stderr, 120)).toEqual(drawn.slice(0, 5));
});

test('nothing is drawn or cleared before a worker has answered', async () => {
  const terminal = new FakeTerminal({}, 80, ROWS);
  const progress = showBatch(batchWith(undefined), terminal);
  await jest.advanceTimersByTimeAsync(10 * QUERY_MS);
  progress.stop();
  expect(terminal.stderr).toBe('');
});

test.each([undefined, 100])(
  'a missing worker is reported once while every item submits, on a screen of %j columns',
  async (columns) => {
    const find = jest.fn(async () => 'No worker polls task queue q.');
    const submitting = progressOf(0, [item(1, { phase: 'submitting', taskId: undefined, task: undefined })]);
    const terminal = new FakeTerminal({}, columns, ROWS);
    const stuck = showBatch(batchWith(submitting), terminal, find);
    const moving = showBatch(batchWith(progressOf(0, items(1))), new FakeTerminal(), find);
    await jest.advanceTimersByTimeAsync(60_000);
    stuck.stop();
    moving.stop();
    expect(find.mock.calls).toEqual([['foxes']]);
    expect(terminal.stderr.split('No worker polls task queue q.\n')).toHaveLength(2);
  },
);
