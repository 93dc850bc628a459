import { widthOf } from '../../src/cli/display-width';
import { ageText, type JobRow, jobColumns, phaseText } from '../../src/cli/job-rows';
import { LiveTable } from '../../src/cli/live-table';
import { tableLines, withoutColours } from '../../src/cli/table';
import { type Terminal, usesColours } from '../../src/cli/terminal';
import { STEERING } from '../support/hostile-text';
import { fc } from '../support/properties';
import { FakeTerminal } from './fake-terminal';
import { screenOf } from './screen';

const NOW = Date.parse('2026-11-16T12:00:00Z');

const row = (more: Partial<JobRow>): JobRow => ({
  workflowId: 'fox-1',
  runId: 'run',
  kind: 'job',
  state: 'running',
  phase: 'waiting',
  startedAt: '2026-11-16T11:58:30Z',
  taskQueue: 'video-generation',
  ...more,
});

const ROWS = [
  row({ taskId: 'task_0a285c4d' }),
  row({ workflowId: 'a job with a rather long name', state: 'failed', failure: 'GenerationFailed' }),
  row({ workflowId: '雪の中の狐', state: 'succeeded', endedAt: '2026-11-16T11:59:00Z' }),
];

const textOf = (rows: readonly JobRow[], columns: number) =>
  withoutColours(tableLines(jobColumns(NOW), rows, columns)).map(([piece]) => piece?.text);

test('a table on a wide terminal shows everything', () => {
  expect(textOf(ROWS, 100)).toEqual([
    'NAME                           STATE      AGE   PHASE             TASK',
    'fox-1                          running    90 s  waiting           task_0a285c4d',
    'a job with a rather long name  failed     90 s  GenerationFailed  ',
    '雪の中の狐                     succeeded  90 s                    ',
  ]);
});

test('on a narrow one, columns are cut, and the least important ones are left out', () => {
  expect(textOf(ROWS, 60)).toEqual([
    'NAME             STATE      AGE   PHASE          TASK',
    'fox-1            running    90 s  waiting        task_0a285…',
    'a job with a r…  failed     90 s  GenerationFa…  ',
    '雪の中の狐       succeeded  90 s                 ',
  ]);
  expect(textOf(ROWS, 30)[0]).toBe('NAME           STATE      AGE');
  expect(textOf(ROWS, 12)).toEqual(['NAME', 'fox-1', 'a job with …', '雪の中の狐']);
});

test('no line is wider than the terminal, whatever the names are', () => {
  const anyRow = fc
    .record({
      workflowId: fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
      taskId: fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
      state: fc.constantFrom('running', 'failed', 'succeeded'),
    })
    .map(row);
  fc.assert(
    fc.property(fc.array(anyRow, { maxLength: 5 }), fc.integer({ min: 4, max: 120 }), (rows, columns) => {
      for (const line of textOf(rows, columns)) {
        expect(widthOf(line ?? '')).toBeLessThanOrEqual(columns);
        expect(line).not.toMatch(STEERING);
      }
    }),
    { numRuns: 40 },
  );
});

test.each<[number, string]>([
  [-5, '0 s'],
  [119_999, '119 s'],
  [120_000, '2 min'],
  [7_199_000, '119 min'],
  [7_200_000, '2 h'],
  [172_800_000, '2 d'],
])('%d ms are %s', (ms, text) => {
  expect(ageText(ms)).toBe(text);
});

test.each<[Partial<JobRow>, string]>([
  [{ isCancelling: true }, 'cancelling'],
  [
    { phase: 'submitting', retrying: { activity: 'submitVideo', attempt: 4, message: 'HTTP 429' } },
    'submitting, attempt 4: HTTP 429',
  ],
  [{ state: 'failed', endedAt: '2026-11-16T11:59:00Z' }, 'not known'],
  [{ kind: 'batch' }, 'batch'],
  [
    { kind: 'batch', state: 'failed', counts: { items: 40, succeeded: 38, failed: 2 } },
    '38 of 40 stored, 2 failed',
  ],
  [
    { kind: 'batch', state: 'failed', failure: 'GenerationFailed', endedAt: '2026-11-16T11:59:00Z' },
    'batch: GenerationFailed',
  ],
])('the phase of %j is %j', (more, text) => {
  expect(phaseText(row(more), NOW)).toBe(text);
});

describe('on a screen', () => {
  const screen = { columns: 40, rows: 6 };
  const draw = (terminal: FakeTerminal, rows: JobRow[]) =>
    tableLines(jobColumns(NOW), rows, (terminal.outScreen()?.columns ?? 0) - 1);
  const plain = (text: string) => text.replace(/\p{Cc}\[\d+m/gu, '').replaceAll('\u001b[2K', '\u001b[K');

  test('a table is drawn over the one before, and other lines come above it', () => {
    const terminal = new FakeTerminal({}, undefined, undefined, screen);
    const live = new LiveTable(terminal);
    live.draw(draw(terminal, ROWS));
    live.draw(draw(terminal, ROWS.slice(0, 2)));
    live.clear();
    terminal.out('a note');
    live.draw(draw(terminal, ROWS.slice(0, 1)));
    expect(screenOf(plain(terminal.stdout), screen.columns)).toEqual([
      'a note',
      'NAME   STATE    AGE   PHASE    TASK',
      'fox-1  running  90 s  waiting  task_0a…',
    ]);
  });

  test('a table that is longer than the screen is cut', () => {
    const terminal = new FakeTerminal({}, undefined, undefined, screen);
    const live = new LiveTable(terminal);
    const many = Array.from({ length: 20 }, (_, index) => row({ workflowId: `fox-${index}` }));
    live.draw(draw(terminal, many));
    live.draw(draw(terminal, many));
    expect(screenOf(plain(terminal.stdout), screen.columns)).toHaveLength(screen.rows - 1);
  });

  test.each<[Terminal['env'], boolean]>([
    [{}, true],
    [{ NO_COLOR: '' }, true],
    [{ NO_COLOR: '1' }, false],
    [{ TERM: 'dumb' }, false],
  ])('with %j, colours are used: %p', (env, isUsed) => {
    const terminal = new FakeTerminal(env, undefined, undefined, screen);
    new LiveTable(terminal).draw(draw(terminal, ROWS));
    expect(usesColours(terminal)).toBe(isUsed);
    expect(terminal.stdout.includes('\u001b[31mfailed\u001b[0m')).toBe(isUsed);
  });

  test('a pipe gets none', () => {
    expect(usesColours(new FakeTerminal())).toBe(false);
  });
});
