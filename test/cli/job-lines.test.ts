import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { summaryLines } from '../../src/cli/batch';
import { ageText, type JobRow, jobTable, liveLine, progressLine, storedLines } from '../../src/cli/job-lines';
import { reportLines, type StatusReport } from '../../src/cli/status';
import type { BatchProgress, BatchResult, ItemProgress, ItemResult } from '../../src/contract/batch';
import type { FailureType } from '../../src/contract/failure-table';
import type { JobProgress, JobResult } from '../../src/contract/job';
import type { JobCost } from '../../src/contract/job-cost';
import { STEERING } from '../support/hostile-text';
import { stored } from '../support/item-results';
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
const items = (count: number): ItemProgress[] =>
  Array.from({ length: count }, (_, index) => ({ item: index + 8, name: `foxes-${index + 8}` }));
const batch = (more: Partial<BatchProgress> = {}): BatchProgress => ({
  items: 40,
  succeeded: 0,
  failed: 0,
  running: [],
  ...more,
});
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
  [
    batch({ succeeded: 12, failed: 1, running: items(20), stopping: 'item 3 failed' }),
    '12 of 40 stored, 1 failed, 20 under way, no new items start: item 3 failed',
  ],
])('the line of %j for a pipe is %s', (given, line) => {
  expect(progressLine(given)).toBe(line);
});

test('the live line has a bar, the age, and the most important parts first', () => {
  expect(live({ ...progress, problem })).toBe(
    '███░░░░░░░  45 s  waiting 27 %, next poll in 5 s, problem, 2 in a row: HTTP 429 slow down, the service says rendering, task task_1234',
  );
  expect(live(downloading)).toBe('45 s  downloading, the service says done, task task_1234');
  expect(live(undefined)).toBe('45 s  waiting');
  // The clocks of worker and caller differ.
  expect(live(progress, START - 5_000)).toContain('  0 s  ');
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
      const hostile = { workflowId: name, taskId: word, taskQueue: name, service: word };
      const lines = [
        live(named),
        live(batch({ running: items(9), stopping: word })),
        liveLine(row({ phase: undefined, workflowId: name }), at45s),
        ...jobTable(table, at45s),
        ...reportLines(report(hostile), at45s),
      ];
      for (const line of lines) {
        expect(line).not.toContain('\n');
        expect(line).not.toMatch(STEERING);
      }
    }),
    { numRuns: 60 },
  );
});

test('a table has aligned columns, and a very long name shifts its own line alone', () => {
  const rows = [
    row({ taskId: 'task_0a285c4d' }),
    row({ workflowId: 'a job with a rather long name', state: 'failed', failure: 'GenerationFailed' }),
    row({ workflowId: '雪の中の狐', state: 'succeeded', endedAt: startedAt }),
  ];
  expect(jobTable(rows, START + 90_000)).toEqual([
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
  [{ isCancelling: true }, '  cancelling'],
  [
    { phase: 'submitting', retrying: { activity: 'submitVideo', attempt: 4, message: 'HTTP 429' } },
    '  submitting, attempt 4: HTTP 429',
  ],
  [{ state: 'failed', endedAt: startedAt }, '  not known'],
  [{ kind: 'batch' }, '  batch'],
  [
    { kind: 'batch', state: 'failed', counts: { items: 40, succeeded: 38, failed: 2 } },
    '  38 of 40 stored, 2 failed',
  ],
])('the phase of %j in a table is %j', (more, text) => {
  expect(jobTable([row(more)], START)[1]?.endsWith(text)).toBe(true);
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

test('a stored video is described with its format, task, polls, location, cost and warnings', () => {
  const result: JobResult = {
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
  expect(storedLines(result, '/copies/fox.mp4')).toEqual([
    'Stored 1280x720, 5 s, avc, video/mp4, 1948997 bytes, SHA-256 abc, of task task_1 after 4 polls.',
    'It is at file:///videos/fox.mp4, copied to /copies/fox.mp4.',
    'Cost: 0.45 USD charged (estimated 0.50 USD).',
    'Note: 720p was asked for, it is 640x360.',
  ]);
});

describe('the summary of a batch', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'videogen-summary-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const failed = (item: number, failure: FailureType = 'GenerationFailed'): ItemResult => ({
    item,
    name: `foxes-${item}`,
    outcome: 'failed',
    failure,
    message: `No fox ${item}.`,
    details: {},
  });
  const write = (results: ItemResult[]) =>
    writeFileSync(join(folder, 'results.jsonl'), results.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const summary = (counts: Omit<BatchResult, 'results'>, uri?: string) => {
    const results = { key: 'results.jsonl', uri: uri ?? pathToFileURL(join(folder, 'results.jsonl')).href };
    return summaryLines({ ...counts, results }, {});
  };

  it('without failures is one sentence and the cost, and the results are not read', async () => {
    expect(await summary({ items: 3, succeeded: 3, failed: 0 })).toEqual(['Stored 3 of 3 videos.']);
    const cost = { estimated: { sums: [usd(1.5)], unknown: 0 }, spent: { sums: [usd(0.9)], unknown: 1 } };
    expect((await summary({ items: 2, succeeded: 2, failed: 0, cost }))[1]).toBe(
      'Cost: 0.90 USD + 1 of unknown cost (estimated 1.50 USD).',
    );
  });

  it('has a line with the number of each failed item, and says whether to run the batch again', async () => {
    write([stored(1), failed(2), stored(3), failed(10)]);
    const lines = ['Stored 2 of 10 videos, 2 failed:', '  2: No fox 2.', '  10: No fox 10.'];
    expect(await summary({ items: 10, succeeded: 2, failed: 2 })).toEqual(lines);
    write([stored(1), failed(2), stored(3), failed(10, 'Unauthorized')]);
    const again = 'Run the batch again to retry 1 of them.';
    expect(await summary({ items: 10, succeeded: 2, failed: 2 })).toEqual([...lines, again]);
  });

  it.each([
    [10, []],
    [11, ['  and 1 more, listed in the results']],
  ])('of %d failures shows ten', async (count, rest) => {
    write(Array.from({ length: count }, (_, index) => failed(index + 1)));
    const lines = await summary({ items: count, succeeded: 0, failed: count });
    expect(lines[10]).toBe('  10: No fox 10.');
    expect(lines.slice(11)).toEqual(rest);
  });

  it('has only the numbers if the results are malformed, or in another storage', async () => {
    writeFileSync(join(folder, 'results.jsonl'), '{"item":1\n');
    for (const uri of [undefined, 'memory:///results.jsonl'])
      expect(await summary({ items: 3, succeeded: 1, failed: 2 }, uri)).toEqual([
        'Stored 1 of 3 videos, 2 failed.',
      ]);
  });
});

const NOW = Date.parse('2026-11-16T12:00:00Z');
const report = (more: Partial<StatusReport>): StatusReport => ({
  ...row({ state: 'failed', phase: 'failed', failure: 'DeadlineExceeded', taskId: 'task_1' }),
  startedAt: '2026-11-16T11:00:00.000Z',
  endedAt: '2026-11-16T11:10:00.000Z',
  commands: ['videogen retry fox-1'],
  ...more,
});
const running = (more: Partial<StatusReport>) =>
  report({ state: 'running', failure: undefined, endedAt: undefined, taskId: undefined, ...more });

test('the status of a failed job shows what happened, what to do, and the command', () => {
  const error = {
    type: 'DeadlineExceeded',
    message: 'It took too long.',
    taskId: 'task_1',
    advice: 'Try again.',
  };
  expect(reportLines(report({ error, summary: 'text to video: "A fox"' }), NOW)).toEqual([
    'job       fox-1',
    'request   text to video: "A fox"',
    'state     failed: DeadlineExceeded',
    'task      task_1',
    'problem   It took too long.',
    'started   2026-11-16T11:00:00.000Z, 60 min ago',
    'ended     2026-11-16T11:10:00.000Z, after 10 min',
    'queue     films',
    'advice    Try again.',
    '  videogen retry fox-1',
  ]);
});

const progressOf = (more: Partial<JobProgress>): JobProgress => ({
  phase: 'waiting',
  polls: 0,
  startedAt: '',
  deadlineAt: '',
  ...more,
});
const refusedBy = [{ service: 'fal', failure: 'Unauthorized' as const, message: 'HTTP 401.' }];
const hold = { since: '', until: '2026-11-17T11:00:00.000Z', message: 'A paid task may exist.' };

test.each<[string, StatusReport, string[]]>([
  [
    'of several services shows which of them made no task, and why',
    report({ service: 'veo', progress: progressOf({ refusedBy }) }),
    ['service   veo', 'refused   fal: HTTP 401.'],
  ],
  [
    'that runs without a worker shows what Temporal knows',
    running({
      phase: 'submitting',
      isCancelling: true,
      retrying: { activity: 'submitVideo', attempt: 3, message: 'HTTP 429' },
      note: 'No worker answers, so this is what Temporal knows.',
    }),
    [
      'state     running: cancellation requested',
      'phase     submitting',
      'retry     attempt 3 of submitVideo: HTTP 429',
      'note      No worker answers, so this is what Temporal knows.',
    ],
  ],
  [
    'that is held shows until when somebody has to decide',
    running({ state: 'needs-decision', progress: progressOf({ phase: 'needs-decision', hold }) }),
    ['problem   A paid task may exist.', 'decide by 2026-11-17T11:00:00.000Z, in 23 h'],
  ],
])('the status of a job %s', (_what, given, lines) => {
  expect(reportLines(given, NOW)).toEqual(expect.arrayContaining(lines));
});
