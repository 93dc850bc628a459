/**
 * Measures workers on the server that people deploy, Temporal on PostgreSQL: `npm run bench:cluster`, about 8 min. For 1, 2 and 4
 * worker processes: one-second jobs a second, and the memory of a worker with jobs that wait. Everything runs on this machine,
 * so more workers share its cores with the server, the database and the emulator. `--page` writes the table into
 * docs/deployment.md, `--quick` takes samples that are too small to mean anything. Needs PostgreSQL, and Go for the first run.
 */
const { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const { describeMachine, sharedVersions } = require('./support/machine.cjs');
const { replacePart } = require('./support/page.cjs');
const { cpuSeconds, machineCpuSeconds, memoryMb, ownCpuSeconds } = require('./support/processes.cjs');
const { describeRun, markdownRows, terminalTable } = require('./support/tables.cjs');
const { median } = require('./support/values.cjs');

const PAGE = join(__dirname, '../docs/deployment.md');
/** What the page's table was written from. */
const REPORT = join(__dirname, 'cluster-report.json');
const PART = 'cluster';

const FULL = { workers: [1, 2, 4], jobs: 150, rounds: 2, waiting: 600, giveUpSeconds: 120, settleMs: 5_000 };
const QUICK = { workers: [1, 2], jobs: 10, rounds: 1, waiting: 20, giveUpSeconds: 20, settleMs: 1_000 };
const JOB_TIME_MS = 1_000;
const VIDEO_BYTES = 10_000;
const WARM_UP_JOBS = 20;
const POLLING = { min: '1s', max: '1s' };
const DAY = '24h';
/** What a system needs for itself, and the workers' inspectors of videos. */
const QUIET_SHARE = 0.15;

const say = (line) => process.stderr.write(`${line}\n`);
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

async function runJobs(videos, name, count) {
  const jobs = await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const request = { prompt: `Fox ${name} ${index}` };
      // Where the machine is slow, a submit may time out before it reaches the worker.
      const input = { request, polling: POLLING, onLostSubmit: 'resubmit' };
      return videos.start(input, { workflowId: `${name}-${index}` });
    }),
  );
  await Promise.all(jobs.map((job) => job.result()));
}

/** Jobs a second, and milliseconds of processor time that a job costs each process. */
async function measureJobs({ videos, cluster, workers }, name, { jobs, rounds }) {
  const cpu = () => ({
    worker: workers.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
    server: cpuSeconds(cluster.pids.server),
    database: cpuSeconds(cluster.pids.database),
    client: ownCpuSeconds(),
    all: machineCpuSeconds(),
  });
  await runJobs(videos, `warm-up-${name}`, WARM_UP_JOBS);
  const measured = [];
  for (let round = 1; round <= rounds; round++) {
    const before = cpu();
    const startedAt = performance.now();
    await runJobs(videos, `${name}-${round}`, jobs);
    const seconds = (performance.now() - startedAt) / 1_000;
    const after = cpu();
    const costMs = (of) => (1_000 * (after[of] - before[of])) / jobs;
    measured.push({
      jobsPerSecond: jobs / seconds,
      workerMs: costMs('worker'),
      serverMs: costMs('server'),
      databaseMs: costMs('database'),
      othersShare:
        (costMs('all') -
          ['worker', 'server', 'database', 'client'].reduce((sum, of) => sum + costMs(of), 0)) /
        costMs('all'),
    });
  }
  const names = Object.keys(measured[0]);
  return Object.fromEntries(names.map((key) => [key, median(measured.map((one) => one[key]))]));
}

async function measureWorkers(count, { cluster, emulator, folder, sizes }) {
  const { createVideoClient } = require('../dist/src/client/video-client');
  const { startWaitingJobs } = require('./support/waiting-jobs.cjs');
  const { startWorkerProcess } = require('./support/worker-process.cjs');
  const taskQueue = `cluster-${count}`;
  const storage = join(folder, taskQueue);
  mkdirSync(storage);
  const workers = [];
  try {
    for (let number = 1; number <= count; number++) {
      workers.push(await startWorkerProcess({ address: cluster.address, emulator, taskQueue, storage }));
    }
    const videos = await createVideoClient({ env: {}, client: cluster.client, taskQueue });
    await sleep(sizes.settleMs);
    const memory = () => mean(workers.map(({ pid }) => memoryMb(pid).rss));
    const idleMb = memory();
    const { othersShare, ...jobs } = await measureJobs({ videos, cluster, workers }, taskQueue, sizes);
    const others = emulator.generations().length;
    const startedAt = performance.now();
    const givesUpAt = Date.now() + sizes.giveUpSeconds * 1_000;
    const reached = await startWaitingJobs({ videos, emulator }, others + sizes.waiting, {
      every: DAY,
      givesUpAt,
    });
    const waiting = reached - others;
    say(`  ${waiting} waiting jobs started in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
    const { jobsPerSecond, ...cost } = jobs;
    return {
      othersShare,
      name: `${count} worker${count === 1 ? '' : 's'}`,
      values: { jobsPerSecond, ...cost, idleMb, waitingJobs: waiting, memoryWithThemMb: memory() },
    };
  } finally {
    for (const worker of workers) await worker.stop();
  }
}

/** Jobs a second mean little on a machine that does something else; processor time still does. */
const otherWork = (share) =>
  `Other work took up to ${(100 * share).toFixed(0)} % of the used processor time: compare the processor times, not the jobs a second.`;

async function measure(sizes) {
  const { startEmulator } = require('../dist/src/testing/emulator');
  const { startCluster } = require('./support/cluster.cjs');
  const startedAt = performance.now();
  const cluster = await startCluster(say);
  const emulator = await startEmulator({ jobTimeMs: JOB_TIME_MS, videoBytes: VIDEO_BYTES });
  const folder = mkdtempSync(join(tmpdir(), 'videogen-bench-'));
  try {
    const rows = [];
    for (const count of sizes.workers) {
      say(`${count} of ${sizes.workers.at(-1)} worker processes ...`);
      rows.push(await measureWorkers(count, { cluster, emulator, folder, sizes }));
    }
    const base = rows[0].values.jobsPerSecond;
    const mostOthers = Math.max(...rows.map(({ othersShare }) => othersShare));
    const isQuiet = mostOthers < QUIET_SHARE;
    return {
      measuredOn: new Date().toISOString().slice(0, 10),
      machine: describeMachine(),
      versions: { ...sharedVersions(), ...cluster.versions },
      seconds: Math.round((performance.now() - startedAt) / 1_000),
      section: {
        section: 'cluster',
        title: 'Workers on Temporal and PostgreSQL',
        ...(isQuiet && { ratioOf: 'jobs/s to one worker', better: 'more' }),
        rows: rows.map(({ name, values }) => ({
          name,
          values,
          ...(isQuiet && { ratio: values.jobsPerSecond / base }),
        })),
        notes: [
          `${sizes.jobs} jobs of 1 s at once, medians of ${sizes.rounds} rounds. Worker, server and database: processor time for each job.`,
          'Memory of each worker: idle, and with its share of the waiting jobs.',
          'Callers and emulator ran on the same cores.',
          ...(isQuiet ? [] : [otherWork(mostOthers)]),
        ],
      },
    };
  } finally {
    await emulator.close();
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The part of the page that the command writes. */
const partOf = (report) => [describeRun(report), markdownRows(report.section)].join('\n\n');

async function main() {
  const { values } = parseArgs({ options: { page: { type: 'boolean' }, quick: { type: 'boolean' } } });
  const report = await measure(values.quick ? QUICK : FULL);
  process.stdout.write(`${terminalTable(report.section)}\n${describeRun(report)}\n`);
  if (values.page) {
    writeFileSync(REPORT, `${JSON.stringify(report, null, 2)}\n`);
    writeFileSync(PAGE, replacePart(readFileSync(PAGE, 'utf8'), partOf(report), PART));
  }
}

module.exports = { PART, partOf, REPORT };

if (require.main === module) {
  main().then(
    () => process.exit(0),
    (error) => {
      say(error.stack);
      process.exit(1);
    },
  );
}
