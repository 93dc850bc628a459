/** Turns what the scripts with a command of their own write to `--json` into rows of a section. */

/** `bench/polls.cjs`: polls and lag, with their cost beside that of the best possible schedule. */
exports.readPolls = ({ polls }) => ({
  title: 'Polls and lag',
  ratioOf: 'cost to the optimum',
  better: 'less',
  rows: polls.map(({ name, polls, lagSeconds, costToOptimum }) => ({
    name,
    ours: name.startsWith('ours'),
    values: { polls, lagSeconds },
    ratio: costToOptimum,
  })),
  notes: [
    'Simulated jobs of 75 s + lognormal(30 s, 0.9). The cost adds up polls and lag, weighed as by default.',
  ],
});

/** `bench/throughput.cjs`: jobs of one second, beside bare workflows. */
exports.readThroughput = ({ results }) => {
  const each = Object.entries(results).map(([kind, { label, jobs, perSecond }]) => ({
    name: /\d/.test(label) ? label : `${label}, ${jobs} at once`,
    ours: kind.startsWith('ours'),
    kind,
    values: { jobsPerSecond: perSecond },
  }));
  const bare = each.find(({ kind }) => kind === 'bare');
  return {
    title: 'Jobs of one second',
    ratioOf: 'jobs/s to the bare workflow',
    better: 'more',
    ratioTo: bare && { row: bare.name, value: 'jobsPerSecond' },
    rows: each.map(({ kind, ...row }) => row),
    notes: ['The bare workflow submits, polls and downloads without any safety. Medians.'],
  };
};

/** `bench/start.cjs`: how soon a worker polls and what it holds, beside a bare worker of the SDK. */
exports.readStart = ({ worker, bare, help, node }) => ({
  title: 'Start and idle memory',
  ratioOf: 'time to its peer',
  better: 'less',
  rows: [
    workerRow("a bare worker of Temporal's SDK", bare, bare),
    { ...workerRow('ours: videogen worker', worker, bare), ours: true },
    { name: 'node -e 0', values: { readyMs: node.ms }, ratio: 1 },
    { name: 'ours: videogen --help', ours: true, values: { readyMs: help.ms }, ratio: help.ms / node.ms },
  ],
  notes: [
    'Ready: the first poll that the server saw, or the end of the command. Idle: after 10 s without work.',
  ],
});

const workerRow = (name, { firstPollMs, rssMb }, bare) => ({
  name,
  values: { readyMs: firstPollMs, idleMb: rssMb },
  ratio: firstPollMs / bare.firstPollMs,
});

/** `bench/waiting-jobs.cjs`: the memory of a worker with waiting jobs, and a poll of a job in memory beside a replayed one. */
exports.readWaitingJobs = ({ memory, cached, evicted }) => ({
  title: 'Waiting jobs in one worker',
  ratioOf: 'memory to an idle worker, processor time to a poll in memory',
  better: 'less',
  rows: [
    { name: 'no jobs', values: { memoryMb: memory.idleMb }, ratio: 1 },
    ...memory.rows.map(({ jobs, rssMb, kbAJob }) => ({
      name: `${jobs.toLocaleString('en')} waiting jobs`,
      ours: true,
      values: { memoryMb: rssMb, perJobKb: kbAJob },
      ratio: rssMb / memory.idleMb,
    })),
    { name: 'a poll of a job in memory', values: { processorMs: cached.workerMs }, ratio: 1 },
    {
      name: 'a poll of a job that is replayed',
      ours: true,
      values: { processorMs: evicted.workerMs },
      ratio: evicted.workerMs / cached.workerMs,
    },
  ],
  notes: [],
});

const SHOWN_JOB_TIME = '2 min';
const LONG_JOB_TIME = '1 h';

/** `bench/polls-cost.cjs`: what the ways to poll a task of two minutes cost Temporal. */
exports.readPollsCost = ({ jobs }) => {
  const shown = jobs.filter(({ jobTime }) => jobTime === SHOWN_JOB_TIME);
  const isOurs = ({ way }) => way.startsWith('our');
  const base = shown.find((row) => !isOurs(row));
  const [two, hour] = [SHOWN_JOB_TIME, LONG_JOB_TIME].map((time) =>
    jobs.find((row) => row.jobTime === time && isOurs(row)),
  );
  const perPoll = two && hour ? (hour.events - two.events) / (hour.polls - two.polls) : undefined;
  return {
    title: `Events, Actions and bytes of a job of ${SHOWN_JOB_TIME}`,
    ratioOf: `events to “${base.way}”`,
    better: 'less',
    rows: shown.map((row) => ({
      name: row.way,
      ours: isOurs(row),
      values: {
        events: row.events,
        polls: row.polls,
        workflowTasks: row.workflowTasks,
        actions: row.actions,
        historyBytes: row.bytes,
      },
      ratio: row.events / base.events,
    })),
    notes: [
      'Our job includes its submit and its download; the others only poll.',
      ...(perPoll === undefined ? [] : [`Each further poll of ours adds ${perPoll.toFixed(1)} events.`]),
    ],
  };
};
