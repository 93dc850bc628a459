import {
  type Part,
  readPolls,
  readPollsCost,
  readStart,
  readThroughput,
  readWaitingJobs,
} from '../../bench/readings.cjs';

const ratios = ({ rows }: Part) => Object.fromEntries(rows.map(({ name, ratio }) => [name, ratio]));
const oursIn = ({ rows }: Part) => rows.filter(({ ours }) => ours).map(({ name }) => name);

test('polls and lag are shown as a cost beside the optimum', () => {
  const part = readPolls({
    polls: [
      { name: 'ours, after 50 jobs', polls: 9, lagSeconds: 2.8, costToOptimum: 1.08 },
      { name: 'fixed 5 s', polls: 24, lagSeconds: 2.5, costToOptimum: 1.84 },
    ],
  });
  expect(ratios(part)).toEqual({ 'ours, after 50 jobs': 1.08, 'fixed 5 s': 1.84 });
  expect(oursIn(part)).toEqual(['ours, after 50 jobs']);
});

test('jobs a second are ratios to the bare workflow, with their number where the name has none', () => {
  const { rows, ratioTo } = readThroughput({
    results: {
      bare: { label: 'bare, a workflow each', jobs: 200, perSecond: 20 },
      oursBatch: { label: 'ours, 200 in a batch', jobs: 600, perSecond: 40 },
    },
  });
  expect(ratioTo).toEqual({ row: 'bare, a workflow each, 200 at once', value: 'jobsPerSecond' });
  expect(rows).toMatchObject([
    { name: 'bare, a workflow each, 200 at once', ours: false, values: { jobsPerSecond: 20 } },
    { name: 'ours, 200 in a batch', ours: true, values: { jobsPerSecond: 40 } },
  ]);
});

test('a start is a ratio to that of a bare worker, and --help to that of Node', () => {
  const worker = { firstPollMs: 900, rssMb: 170 };
  const part = readStart({
    worker,
    bare: { firstPollMs: 600, rssMb: 150 },
    help: { ms: 120 },
    node: { ms: 40 },
  });
  expect(Object.values(ratios(part))).toEqual([1, 1.5, 1, 3]);
});

test('the memory of waiting jobs is a ratio to an idle worker, a replayed poll to one in memory', () => {
  const rows = [{ jobs: 10_000, rssMb: 600, kbAJob: 40 }];
  const part = readWaitingJobs({
    memory: { idleMb: 200, rows },
    cached: { workerMs: 4 },
    evicted: { workerMs: 10 },
  });
  expect(ratios(part)).toMatchObject({ '10,000 waiting jobs': 3, 'a poll of a job that is replayed': 2.5 });
});

test('events are those of a job of two minutes, and the note says what a further poll adds', () => {
  const cost = { workflowTasks: 3, actions: 4, bytes: 5_000 };
  const part = readPollsCost({
    jobs: [
      { jobTime: '2 min', way: 'timer, regular activity', polls: 8, events: 50, ...cost },
      { jobTime: '2 min', way: 'our job, with submit and download', polls: 8, events: 60, ...cost },
      { jobTime: '1 h', way: 'our job, with submit and download', polls: 108, events: 660, ...cost },
    ],
  });
  expect(ratios(part)).toEqual({ 'timer, regular activity': 1, 'our job, with submit and download': 1.2 });
  expect(part.notes).toContain('Each further poll of ours adds 6.0 events.');
});
