import { fittingLines, jobLines } from '../../src/cli/list';
import { LiveLines } from '../../src/cli/live-view';
import { ageText, type JobRow, phaseText } from '../../src/cli/progress-lines';
import type { Terminal } from '../../src/cli/terminal';
import { cutToWidth, widthOf, wrapText } from '../../src/cli/text-columns';
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
  jobLines(rows, columns, NOW).map((pieces) => pieces.map(({ text }) => text).join(''));

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
  const terminalWith = (env: Terminal['env'] = { NO_COLOR: '1' }) =>
    new FakeTerminal(env, screen.columns, screen.rows, screen);
  const table = (rows: JobRow[]) => jobLines(rows, screen.columns - 1, NOW);

  test('a table is drawn over the one before, and other lines come above it', () => {
    const terminal = terminalWith();
    const live = new LiveLines(terminal);
    live.draw(table(ROWS));
    live.draw(table(ROWS.slice(0, 2)));
    live.print('a note');
    live.draw(table(ROWS.slice(0, 1)));
    live.keep();
    terminal.err('the end\n');
    expect(screenOf(terminal.stderr, screen.columns)).toEqual([
      'a note',
      'NAME   STATE    AGE   PHASE    TASK',
      'fox-1  running  90 s  waiting  task_0a…',
      'the end',
    ]);
  });

  test('a table that is longer than the screen is cut, and those that run come first', () => {
    const many = Array.from({ length: 20 }, (_, index) =>
      row({ workflowId: `fox-${index}`, ...(index < 18 && { endedAt: '2026-11-16T11:59:00Z' }) }),
    );
    const terminal = terminalWith();
    const live = new LiveLines(terminal);
    live.draw(table(many));
    live.draw(table(many));
    expect(screenOf(terminal.stderr, screen.columns)).toHaveLength(screen.rows - 1);
    live.draw(fittingLines(many, { columns: 39, rows: screen.rows - 1 }));
    expect(screenOf(terminal.stderr, screen.columns).map((line) => line.slice(0, 6))).toEqual([
      'NAME  ',
      'fox-18',
      'fox-19',
      'fox-0 ',
      'and 17',
    ]);
  });

  test.each<[Terminal['env'], boolean]>([
    [{}, true],
    [{ NO_COLOR: '' }, true],
    [{ NO_COLOR: '1' }, false],
    [{ TERM: 'dumb' }, false],
  ])('with %j, colours are used: %p', (env, isUsed) => {
    const terminal = terminalWith(env);
    new LiveLines(terminal).draw(table(ROWS));
    for (const line of table(ROWS)) terminal.outLine(line);
    for (const text of [terminal.stdout, terminal.stderr])
      expect(text.includes('\u001b[31mfailed\u001b[0m')).toBe(isUsed);
  });

  test('a pipe gets none', () => {
    const terminal = new FakeTerminal();
    for (const line of table(ROWS)) terminal.outLine(line);
    expect(terminal.stdout).not.toContain('\u001b');
  });
});

test.each<[string, number]>([
  ['', 0],
  ['fox', 3],
  ['狐狸', 4],
  ['여우', 4],
  ['ﾌｫｯｸｽ', 5],
  ['Ｆｏｘ', 6],
  ['e\u0301', 1],
  ['🦊', 2],
  ['❤\ufe0f', 2],
  ['…░█', 3],
])('%j takes %d columns', (text, columns) => {
  expect(widthOf(text)).toBe(columns);
});

test('a text that fits stays as it is, and a longer one ends with an ellipsis', () => {
  expect(cutToWidth('fox', 3)).toBe('fox');
  expect(cutToWidth('foxes', 3)).toBe('fo…');
  expect(cutToWidth('fox', 0)).toBe('');
  // Half of a wide character is not shown.
  expect(cutToWidth('狐狸狐', 4)).toBe('狐…');
});

const anyText = fc.string({ unit: 'binary', maxLength: 40 });

test('no text is wider than it may be, whatever is in it', () => {
  fc.assert(
    fc.property(anyText, fc.nat({ max: 30 }), (text, columns) => {
      expect(widthOf(cutToWidth(text, columns))).toBeLessThanOrEqual(columns);
    }),
  );
});

test('lines are broken between words', () => {
  expect(wrapText('the quick red fox', 9)).toEqual(['the quick', 'red fox']);
  expect(wrapText('a 狐狸狐狸狐狸 b', 5)).toEqual(['a', '狐狸狐狸狐狸', 'b']);
  expect(wrapText('', 5)).toEqual(['']);
});
