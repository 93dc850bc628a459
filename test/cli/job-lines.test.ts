import { summaryLines } from '../../src/cli/batch';
import {
  ageText,
  type JobRow,
  jobTable,
  liveLine,
  phaseText,
  progressLine,
  storedLines,
} from '../../src/cli/job-lines';
import type { BatchProgress, ItemProgress } from '../../src/contract/batch';
import type { JobProgress, JobResult } from '../../src/contract/job';
import type { JobCost } from '../../src/contract/job-cost';
import { STEERING } from '../support/hostile-text';
import { fc } from '../support/properties';

const START = Date.parse('2026-01-01T00:00:00Z');
const at45s = START + 45_000;
const startedAt = new Date(START).toISOString();
const usd = (amount: number) => ({ amount, currency: 'USD' });

const progress: JobProgress = {
  phase: 'waiting',
  taskId: 'task_1234',
  task: { state: 'running', word: 'rendering', percent: 27.4 },
  polls: 3,
  startedAt,
  deadlineAt: startedAt,
  nextPollAt: new Date(START + 50_000).toISOString(),
};
const problem: JobProgress['problem'] = { type: 'RateLimited', message: 'HTTP 429 slow down', count: 2 };
const downloading: JobProgress = {
  ...progress,
  phase: 'downloading',
  task: { state: 'succeeded', word: 'done', percent: 100 },
  nextPollAt: undefined,
};
const item = (number: number): ItemProgress => ({ item: number, name: `foxes-${number}` });
const batch = (more: Partial<BatchProgress> = {}): BatchProgress => ({
  items: 40,
  succeeded: 0,
  failed: 0,
  running: [],
  ...more,
});
const items = (count: number) => Array.from({ length: count }, (_, index) => item(index + 8));
const row = (more: Partial<JobRow>): JobRow => ({
  workflowId: 'fox-1',
  runId: 'run',
  kind: 'job',
  state: 'running',
  phase: 'waiting',
  startedAt,
  taskQueue: 'films',
  ...more,
});
const live = (shown: JobRow['progress'], nowMs = at45s) => liveLine(row({ progress: shown }), nowMs);

test.each<[JobProgress | BatchProgress, string]>([
  [progress, 'waiting 27 %, the service says rendering, task task_1234'],
  [
    { ...progress, problem },
    'waiting 27 %, problem, 2 in a row: HTTP 429 slow down, the service says rendering, task task_1234',
  ],
  [
    { ...progress, task: { state: 'unknown', word: '' } },
    'waiting, the service says unknown, task task_1234',
  ],
  [downloading, 'downloading, the service says done, task task_1234'],
  [
    { ...progress, cost: { estimated: usd(0.5) }, task: undefined },
    'waiting, cost 0.50 USD estimated, task task_1234',
  ],
  [batch({ items: undefined }), '0 of ? stored'],
  [batch({ succeeded: 12, failed: 1, running: items(20) }), '12 of 40 stored, 1 failed, 20 under way'],
  [
    batch({ failed: 1, stopping: 'item 3 failed' }),
    '0 of 40 stored, 1 failed, no new items start: item 3 failed',
  ],
])('the line of %j for a pipe is %s', (given, line) => {
  expect(progressLine(given)).toBe(line);
});

test('the live line of a job has its most important parts first', () => {
  const all =
    '███░░░░░░░  45 s  waiting 27 %, next poll in 5 s, problem, 2 in a row: HTTP 429 slow down, the service says rendering, task task_1234';
  expect(live({ ...progress, problem })).toBe(all);
  expect(live(downloading)).toBe('45 s  downloading, the service says done, task task_1234');
  expect(live(undefined)).toBe('45 s  waiting');
  // The clocks of worker and caller differ.
  expect(live(progress, START - 5_000)).toContain('  0 s  ');
});

test('the live line of a batch says how many of its items are stored', () => {
  expect(live(batch({ succeeded: 6, failed: 4, running: items(3) }))).toBe(
    '███░░░░░░░  45 s  6 of 40 stored, 4 failed, 3 under way',
  );
  // Not 100 before all items have ended.
  expect(live(batch({ items: 1_000, succeeded: 940 }))).toContain('█████████░  ');
});

test('a line is one line without control characters, whatever is in it', () => {
  const any = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(any, any, (name, word) => {
      const named: JobProgress = { ...progress, taskId: word, task: { state: 'running', word } };
      const table = [row({ workflowId: name, taskId: word }), row({ workflowId: word, service: name })];
      const lines = [
        live(named),
        live(batch({ running: items(9), stopping: word })),
        liveLine(row({ phase: undefined, workflowId: name }), at45s),
        ...jobTable(table, at45s),
      ];
      for (const line of lines) {
        expect(line).not.toContain('\n');
        expect(line).not.toMatch(STEERING);
      }
    }),
    { numRuns: 60 },
  );
});

const ROWS = [
  row({ taskId: 'task_0a285c4d' }),
  row({ workflowId: 'a job with a rather long name', state: 'failed', failure: 'GenerationFailed' }),
  row({ workflowId: '雪の中の狐', state: 'succeeded', endedAt: startedAt }),
];

test('a table has aligned columns, and a very long name shifts its own line alone', () => {
  expect(jobTable(ROWS, START + 90_000)).toEqual([
    'NAME                           STATE      AGE   PHASE             TASK',
    'fox-1                          running    90 s  waiting           task_0a285c4d',
    'a job with a rather long name  failed     90 s  GenerationFailed',
    '雪の中の狐                     succeeded  90 s',
  ]);
  const long = [row({ workflowId: 'x'.repeat(300) }), row({})];
  expect(jobTable(long, START + 90_000).slice(1)).toEqual([
    `${'x'.repeat(300)}  running  90 s  waiting`,
    `${'fox-1'.padEnd(48)}  running  90 s  waiting`,
  ]);
});

test('a table shows one cost: what was charged, or else the estimate', () => {
  const costs: (JobCost | undefined)[] = [
    { estimated: usd(0.5), charged: usd(0.45) },
    { estimated: usd(0.5) },
    { unknown: 'the request has no duration' },
    undefined,
  ];
  const rows = costs.map((cost) => row({ cost, state: 'succeeded', endedAt: startedAt }));
  const lines = jobTable(rows, START);
  expect(lines.map((line) => line.slice(23).trim())).toEqual(['COST', '0.45 USD', '0.50 USD', '', '']);
});

test.each<[Partial<JobRow>, string]>([
  [{ isCancelling: true }, 'cancelling'],
  [
    { phase: 'submitting', retrying: { activity: 'submitVideo', attempt: 4, message: 'HTTP 429' } },
    'submitting, attempt 4: HTTP 429',
  ],
  [{ state: 'failed', endedAt: startedAt }, 'not known'],
  [{ kind: 'batch' }, 'batch'],
  [
    { kind: 'batch', state: 'failed', counts: { items: 40, succeeded: 38, failed: 2 } },
    '38 of 40 stored, 2 failed',
  ],
])('the phase of %j is %j', (more, text) => {
  expect(phaseText(row(more))).toBe(text);
});

test.each([
  [-5, '0 s'],
  [119_999, '119 s'],
  [120_000, '2 min'],
  [7_200_000, '2 h'],
  [172_800_000, '2 d'],
])('%d ms are %s', (ms, text) => {
  expect(ageText(ms)).toBe(text);
});

test.each([
  ['fox', 3],
  ['狐狸', 4],
  ['여우', 4],
  ['Ｆｏｘ', 6],
  ['e\u0301', 1],
  ['🦊', 2],
  ['…░█', 3],
])('%j takes %d columns of a table', (name, width) => {
  const [, line] = jobTable([row({ workflowId: name }), row({ workflowId: 'a long name' })], START);
  expect(line).toBe(`${name}${' '.repeat('a long name'.length - width)}  running  0 s  waiting`);
});

test('a stored video is described with its format, task, polls, location, cost and warnings', async () => {
  const stored: JobResult = {
    taskId: 'task_1',
    video: {
      uri: 'file:///videos/fox.mp4',
      bytes: 1_948_997,
      sha256: 'abc',
      contentType: 'video/mp4',
      width: 1280,
      height: 720,
      durationSeconds: 5,
      codec: 'avc',
    },
    polls: 4,
    waitedMs: 60_000,
    warnings: ['720p was asked for, it is 640x360'],
    cost: { estimated: usd(0.5), charged: usd(0.45) },
  };
  expect(storedLines(stored, '/copies/fox.mp4')).toEqual([
    'Stored 1280x720, 5 s, avc, video/mp4, 1948997 bytes, SHA-256 abc, of task task_1 after 4 polls.',
    'It is at file:///videos/fox.mp4, copied to /copies/fox.mp4.',
    'Cost: 0.45 USD charged (estimated 0.50 USD).',
    'Note: 720p was asked for, it is 640x360.',
  ]);
  const spent = { estimated: { sums: [usd(1.5)], unknown: 0 }, spent: { sums: [usd(0.9)], unknown: 1 } };
  const ended = { items: 2, succeeded: 2, failed: 0, results: { key: '', uri: '' }, cost: spent };
  expect((await summaryLines(ended, {}))[1]).toBe('Cost: 0.90 USD + 1 of unknown cost (estimated 1.50 USD).');
});
