/**
 * Measures what waiting jobs cost a worker: `node bench/waiting-jobs.cjs --jobs 1000,10000`. The video service never finishes a
 * task, and no job polls within the run. Prints the memory of a `videogen worker` with each number of waiting jobs; starting
 * them takes most of the time, and after `--seconds` (150) it goes on with those that it has. Then it prints what a poll costs in
 * processor time of the worker: of a job that the worker holds in memory, and of one that it must replay. `--json FILE` writes the
 * numbers too.
 */
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { argument, memoryMb, processorMs } = require('./support/processes.cjs');
const { startWaitingJobs } = require('./support/waiting-jobs.cjs');
const { startWorkerProcess } = require('./support/worker-process.cjs');

const TASK_QUEUE = 'waiting';
const DAY = '24h';
const DAY_MS = 86_400_000;
/** How many jobs are polled for the cost of a poll, how often, and for how long. */
const POLLED = { jobs: 60, every: '2s', ms: 20_000 };
const SMALL_CACHE = join(__dirname, 'support/small-cache.cjs');

async function startWorld() {
  const { Client, Connection } = require('@temporalio/client');
  const { createVideoClient } = require('../dist/src/client/video-client');
  const { readServerOptions } = require('../dist/src/config/temporal-config');
  const { startEmulator } = require('../dist/src/testing/emulator');
  const { findDevServer, startDevServer } = require('../dist/src/temporal-server');
  const folder = mkdtempSync(join(tmpdir(), 'videogen-bench-'));
  const server = await startDevServer({
    executable: await findDevServer(readServerOptions()),
    headless: true,
  });
  const emulator = await startEmulator({ jobTimeMs: DAY_MS });
  const client = new Client({ connection: await Connection.connect({ address: server.address }) });
  const videos = await createVideoClient({ env: {}, client, taskQueue: TASK_QUEUE });
  return {
    server,
    emulator,
    videos,
    startWorker: (env) =>
      startWorkerProcess({
        address: server.address,
        emulator,
        taskQueue: TASK_QUEUE,
        storage: join(folder, 'videos'),
        env,
      }),
    async stop() {
      await client.connection.close();
      await emulator.close();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function measureMemory(counts, seconds, env) {
  const world = await startWorld();
  const worker = await world.startWorker(env);
  try {
    await sleep(5_000);
    const idle = memoryMb(worker.pid);
    const rows = [];
    const givesUpAt = Date.now() + seconds * 1_000;
    for (const count of counts) {
      const startedAt = Date.now();
      const jobs = await startWaitingJobs(world, count, { every: DAY, givesUpAt });
      const { rss, pss } = memoryMb(worker.pid);
      const kbAJob = ((rss - idle.rss) * 1_000) / jobs;
      rows.push({ jobs, rssMb: rss, pssMb: pss, kbAJob, seconds: (Date.now() - startedAt) / 1_000 });
      if (jobs < count) break;
    }
    return { idleMb: idle.rss, rows };
  } finally {
    await worker.stop();
    await world.stop();
  }
}

/** Processor time of the worker and of the server for one poll of a waiting job. */
async function measurePolls(env) {
  const world = await startWorld();
  const worker = await world.startWorker(env);
  try {
    await startWaitingJobs(world, POLLED.jobs, { every: POLLED.every, givesUpAt: Number.POSITIVE_INFINITY });
    const polls = () => world.emulator.calls.filter(({ call }) => call === 'status').length;
    const [before, workerBefore, serverBefore] = [
      polls(),
      processorMs(worker.pid),
      processorMs(world.server.pid),
    ];
    await sleep(POLLED.ms);
    const count = polls() - before;
    return {
      polls: count,
      workerMs: (processorMs(worker.pid) - workerBefore) / count,
      serverMs: (processorMs(world.server.pid) - serverBefore) / count,
    };
  } finally {
    await worker.stop();
    await world.stop();
  }
}

/** `memory` with a row for each number of jobs, `cached` and `evicted` for the cost of a poll. */
async function measureWaitingJobs({ jobs = [1_000], seconds = 150, env = {} } = {}) {
  return {
    memory: await measureMemory(jobs, seconds, env),
    cached: await measurePolls(env),
    evicted: await measurePolls({ ...env, NODE_OPTIONS: `--require ${SMALL_CACHE}` }),
  };
}

function describe({ memory, cached, evicted }) {
  const poll = ({ polls, workerMs, serverMs }) =>
    `${workerMs.toFixed(1)} ms of the worker, ${serverMs.toFixed(1)} ms of the server (${polls} polls)`;
  return [
    `no jobs: ${memory.idleMb.toFixed(0)} MB\n`,
    ...memory.rows.map(
      ({ jobs, rssMb, kbAJob, seconds }) =>
        `${jobs} waiting jobs: ${rssMb.toFixed(0)} MB, ${kbAJob.toFixed(0)} KB a job, started in ${seconds.toFixed(0)} s\n`,
    ),
    `a poll of a job in memory: ${poll(cached)}\n`,
    `a poll of a job that is replayed: ${poll(evicted)}; the worker needs ${(evicted.workerMs / cached.workerMs).toFixed(2)} times as much\n`,
  ].join('');
}

async function main() {
  const measured = await measureWaitingJobs({
    jobs: argument('jobs', '1000').split(',').map(Number),
    seconds: Number(argument('seconds', '150')),
  });
  process.stdout.write(describe(measured));
  const file = argument('json');
  if (file !== undefined) writeFileSync(file, `${JSON.stringify(measured, null, 2)}\n`);
}

module.exports = { describe, measureWaitingJobs };

if (require.main === module) {
  main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  });
}
