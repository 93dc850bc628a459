import { summaryLines } from '../../src/cli/batch';
import { jobLines } from '../../src/cli/list';
import { plainLine, screenLines, storedLines } from '../../src/cli/progress-lines';
import { reportLines, type StatusReport } from '../../src/cli/status';
import type { JobProgress, JobResult } from '../../src/contract/job';
import type { BatchCost, JobCost } from '../../src/contract/job-cost';

const NOW = Date.parse('2026-11-16T12:00:00Z');
const usd = (amount: number) => ({ amount, currency: 'USD' });
const cost: JobCost = { estimated: usd(0.5), charged: usd(0.45) };
const CHARGED = '0.45 USD charged (estimated 0.50 USD)';
const UNKNOWN: JobCost = { unknown: 'the request has no duration' };
const batchCost: BatchCost = {
  estimated: { sums: [usd(1.5)], unknown: 0 },
  spent: { sums: [usd(0.9)], unknown: 1 },
};
const SPENT = '0.90 USD + 1 of unknown cost of estimated 1.50 USD';

const progress = (more: Partial<JobProgress>): JobProgress => ({
  phase: 'submitting',
  polls: 0,
  startedAt: new Date(NOW).toISOString(),
  deadlineAt: new Date(NOW).toISOString(),
  ...more,
});
const result = (more: Partial<JobResult>): JobResult => ({
  taskId: 'task_1',
  video: { uri: 'file:///fox.mp4', bytes: 1, sha256: '', contentType: 'video/mp4' },
  polls: 1,
  waitedMs: 1,
  warnings: [],
  ...more,
});
const overview = (more: Partial<StatusReport>): StatusReport => ({
  workflowId: 'fox-1',
  runId: 'run',
  kind: 'job',
  state: 'succeeded',
  startedAt: new Date(NOW).toISOString(),
  taskQueue: 'films',
  commands: [],
  ...more,
});
const costLineOf = (more: Partial<StatusReport>) =>
  reportLines(overview(more), 80, NOW)
    .find((line) => line.startsWith('cost'))
    ?.slice(10);

test('the progress shows the estimate while the job submits, and says what is unknown', () => {
  const submitting = progress({ cost: { estimated: usd(0.5) } });
  expect(plainLine(submitting)).toBe('submitting, cost 0.50 USD estimated');
  expect(screenLines(submitting, NOW, 80, 24)).toEqual(['submitting   0 s  0.50 USD estimated']);
  expect(plainLine(progress({ cost: UNKNOWN }))).toContain('cost unknown: the request has no duration');
  expect(plainLine(progress({}))).toBe('submitting');
});

test('a stored video and an ended batch have a line about their cost, if something is known', async () => {
  expect(storedLines(result({ cost }))).toContain(`Cost: ${CHARGED}.`);
  expect(storedLines(result({})).join()).not.toContain('Cost');
  const ended = { items: 2, succeeded: 2, failed: 0, results: { key: '', uri: '' } };
  expect(await summaryLines({ ...ended, cost: batchCost }, {})).toEqual([
    'Stored 2 of 2 videos.',
    `Cost: ${SPENT}.`,
  ]);
  expect(plainLine({ ...ended, running: [], cost: batchCost })).toBe(`2 of 2 stored, cost ${SPENT}`);
});

test.each<[what: string, report: Partial<StatusReport>, line: string | undefined]>([
  ['a stored job', { result: result({ cost }) }, CHARGED],
  ['a failed job, by its memo', { state: 'failed', cost }, CHARGED],
  ['a running job', { progress: progress({ cost: UNKNOWN }) }, 'unknown: the request has no duration'],
  [
    'a batch',
    {
      kind: 'batch',
      result: { items: 1, succeeded: 1, failed: 0, results: { key: '', uri: '' }, cost: batchCost },
    },
    SPENT,
  ],
  ['a job without prices', {}, undefined],
])('status shows the cost of %s', (_what, report, line) => {
  expect(costLineOf(report)).toBe(line);
});

test('a list shows one number: what was charged, or else the estimate', () => {
  const costs = [cost, { estimated: usd(0.5) }, UNKNOWN, undefined];
  const rows = costs.map((known) => ({ ...overview({ cost: known }), progress: undefined }));
  const lines = jobLines(rows, 80, NOW).map((pieces) => pieces.map(({ text }) => text).join(''));
  expect(lines.map((line) => line.slice(23).trim())).toEqual(['COST', '0.45 USD', '0.50 USD', '', '']);
});
