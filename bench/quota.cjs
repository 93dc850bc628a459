/**
 * Section (b): how well jobs use a service that limits them, ours beside a bare workflow with Temporal's own retries, which
 * back off exponentially. One service runs 5 tasks at a time, the other accepts 120 submits a minute; neither sends
 * Retry-After. All four run side by side, always with more jobs than the service has room for, for the same time.
 */
const { Worker } = require('@temporalio/worker');
const { createVideoClient } = require('../dist/src/client/video-client');
const { createVideoService } = require('../dist/src/service');
const { createFileStorage } = require('../dist/src/storage');
const { createVideoWorker } = require('../dist/src/worker/video-worker');
const { bareActivities } = require('./bare/activities.cjs');
const { startEmulatorProcess } = require('./support/emulator-process.cjs');
const { runSection } = require('./support/section.cjs');
const { inFolder, withDevServer } = require('./support/temporal.cjs');

const PLACES = 5;
const RATE = { perSecond: 2, burst: 5 };
const VIDEO_BYTES = 10_000;
/** Long enough for the refusals at the start to count as little as in a day, with tasks as short as real ones get. */
const FULL = { windowMs: 600_000, jobTimeMs: 30_000, jobs: 150 };
const QUICK = { windowMs: 8_000, jobTimeMs: 1_000, jobs: 30 };

const LIMITS = {
  places: { emulator: { concurrentTasks: PLACES }, title: `${PLACES} places` },
  rate: {
    emulator: { submitLimit: RATE, jobTimeMs: 1_000 },
    title: `${60 * RATE.perSecond} submits a minute`,
  },
};

/** How busy the places were, from the first submit to the end of the window. */
function placesBusy({ tasks }, fromMs, toMs) {
  const worked = tasks.map(({ submittedAtMs, endsAtMs }) =>
    Math.max(0, Math.min(endsAtMs, toMs) - submittedAtMs),
  );
  return worked.reduce((sum, ms) => sum + ms, 0) / (PLACES * (toMs - fromMs));
}

/** How much of what the rate allowed was submitted, the burst included. */
function rateUsed(accepted, fromMs, toMs) {
  return accepted / (RATE.burst + (RATE.perSecond * (toMs - fromMs)) / 1_000);
}

function rowOf(limit, who, report, windowMs) {
  const fromMs = Math.min(...report.submits.map(({ atMs }) => atMs));
  const toMs = Math.min(fromMs + windowMs, report.nowMs);
  const submits = report.submits.filter(({ atMs }) => atMs <= toMs);
  const refused = submits.filter(({ status }) => status === 429).length;
  const usedShare =
    limit === 'places'
      ? placesBusy(report, fromMs, toMs)
      : Math.min(1, rateUsed(submits.length - refused, fromMs, toMs));
  return {
    name: `${who}, ${LIMITS[limit].title}`,
    ours: who === 'ours',
    values: { usedShare, refusedShare: refused / submits.length, submits: submits.length },
  };
}

/** Submits wait for a worker here, so that the backlog is complete before the first of them. */
async function startOurs({ connection, client }, emulator, { folder, taskQueue, jobs }) {
  const videos = await createVideoClient({ env: {}, client, taskQueue });
  const polling = { min: '1s', max: '5s' };
  await startAll(jobs, (index) => videos.start({ request: { prompt: `Fox ${index}` }, polling }));
  const service = createVideoService({ baseUrl: emulator.url, apiKey: () => emulator.apiKey });
  const storage = createFileStorage(folder);
  return createVideoWorker({ env: {}, connection, taskQueue, service, storage });
}

async function startPlain({ connection, client }, { url, apiKey }, { folder, taskQueue, jobs }) {
  await startAll(jobs, (index) => {
    const args = [`Fox ${index}`, `${taskQueue}-${index}`];
    return client.workflow.start('bareVideo', { taskQueue, workflowId: `${taskQueue}-${index}`, args });
  });
  const activities = bareActivities({ url, apiKey, folder });
  const workflowsPath = require.resolve('./bare/workflows.cjs');
  return Worker.create({ connection, taskQueue, workflowsPath, activities });
}

const startAll = (jobs, start) => Promise.all(Array.from({ length: jobs }, (_, index) => start(index)));

const CLIENTS = { ours: startOurs, 'plain backoff': startPlain };

/** Ends what still waits, so that the workers drain soon. */
async function endJobs(client) {
  const open = [];
  for await (const { workflowId } of client.workflow.list({ query: `ExecutionStatus = 'Running'` }))
    open.push(
      client.workflow
        .getHandle(workflowId)
        .terminate()
        .catch(() => undefined),
    );
  await Promise.all(open);
}

async function measure({ quick }) {
  const { windowMs, jobTimeMs, jobs } = quick ? QUICK : FULL;
  return inFolder((folder) =>
    withDevServer(async (temporal) => {
      const pairs = Object.keys(LIMITS).flatMap((limit) => Object.keys(CLIENTS).map((who) => [limit, who]));
      const runs = await Promise.all(
        pairs.map(async ([limit, who], index) => {
          const emulator = await startEmulatorProcess({
            jobTimeMs,
            videoBytes: VIDEO_BYTES,
            ...LIMITS[limit].emulator,
          });
          const demand = limit === 'rate' ? (RATE.perSecond * windowMs) / 1_000 + 4 * RATE.burst : jobs;
          const options = { folder, taskQueue: `bench-${index}`, jobs: demand };
          const worker = await CLIENTS[who](temporal, emulator, options);
          return { limit, who, emulator, worker };
        }),
      );
      const running = runs.map(({ worker }) => worker.run());
      await new Promise((resolve) => setTimeout(resolve, windowMs));
      const rows = [];
      for (const { limit, who, emulator } of runs)
        rows.push(rowOf(limit, who, await emulator.report(), windowMs));
      await endJobs(temporal.client);
      for (const { worker } of runs) worker.shutdown();
      await Promise.all(running);
      await Promise.all(runs.map(({ emulator }) => emulator.close()));
      return sectionOf(rows, { windowMs, jobTimeMs, version: temporal.version });
    }),
  );
}

/** Each row beside the plain one of its limit. */
function sectionOf(rows, { windowMs, jobTimeMs, version }) {
  const plain = (name) => rows.find((row) => !row.ours && row.name.split(', ')[1] === name.split(', ')[1]);
  return {
    section: 'b',
    title: 'Use of a quota',
    ratioOf: 'use to plain backoff',
    better: 'more',
    rows: rows.map((row) => ({ ...row, ratio: row.values.usedShare / plain(row.name).values.usedShare })),
    notes: [
      `Runs of ${windowMs / 1_000} s, always with more jobs than the limit allows: tasks of ${jobTimeMs / 1_000} s at a service with ${PLACES} places, of 1 s at one with a rate limit (a bucket of ${RATE.burst}).`,
      'Neither sends Retry-After. Used: the share of places that had a task, or of allowed submits that were made.',
    ],
    versions: { 'Temporal server': version },
  };
}

module.exports = { measure, placesBusy, rateUsed };
if (require.main === module) void runSection(measure);
