/** The tests that hold what the model does not see: messages, refused inputs, and what the Temporal UI shows. */
const JOB = ['test/time-skipping/generate-video.test.ts', 'test/time-skipping/lost-submits.test.ts'];
const BATCH = ['test/time-skipping/generate-videos.test.ts'];
const DETAILS = ['test/workflows/current-details.test.ts', 'test/workflows/hostile-details.test.ts'];
const INPUT = ['test/contract/job-input.test.ts', 'test/contract/batch-input.test.ts'];

/** In the order in which they are run, the quick ones first. */
const TESTS = [
  {
    of: 'workflows/batch/batch-details.ts',
    tests: ['test/workflows/batch/batch-details.test.ts', ...DETAILS],
  },
  {
    of: 'workflows/batch/batch-state.ts',
    tests: ['test/workflows/batch/carried-items.test.ts', ...BATCH],
  },
  {
    of: 'workflows/batch/batch-messages.ts',
    tests: [...BATCH, 'test/real-server/one-batch.test.ts'],
  },
  { of: 'workflows/batch/', tests: BATCH },
  { of: 'workflows/ui-details.ts', tests: [...DETAILS, 'test/real-server/search-attributes.test.ts'] },
  { of: 'workflows/poll-schedule.ts', tests: ['test/workflows/poll-schedule.test.ts'] },
  { of: 'workflows/input.ts', tests: [...INPUT, ...JOB, ...BATCH] },
  { of: 'workflows/messages.ts', tests: [...JOB, 'test/real-server/one-job.test.ts'] },
  { of: 'workflows/decisions.ts', tests: [...JOB, 'test/real-server/decisions.test.ts'] },
  { of: 'workflows/runs.ts', tests: ['test/real-server/resets.test.ts'] },
  { of: 'workflows/', tests: JOB },
];

function testsOf(file) {
  return TESTS.find(({ of }) => file.startsWith(of))?.tests ?? [];
}

module.exports = { testsOf };
