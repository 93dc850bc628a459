/**
 * Section (d): what the engine costs one job, beside a bare loop in the same process that submits, polls and downloads without
 * an engine, and beside a bare workflow that does the same on Temporal; neither has any safety. All poll one second after the
 * submit, when the task of one second has just ended, so that they wait the same. They take turns, one job at a time. Times are
 * medians: from the call to the file without the second that the task takes, and from the end of the task to the file on the disk.
 */
const { readdirSync, statSync } = require('node:fs');
const { mkdir } = require('node:fs/promises');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { Worker } = require('@temporalio/worker');
const { createVideoClient } = require('../dist/src/client/video-client');
const { createVideoService } = require('../dist/src/service');
const { createFileStorage } = require('../dist/src/storage');
const { createVideoWorker } = require('../dist/src/worker/video-worker');
const { bareActivities } = require('./bare/activities.cjs');
const { startEmulatorProcess } = require('./support/emulator-process.cjs');
const { runSection } = require('./support/section.cjs');
const { inFolder, withDevServer } = require('./support/temporal.cjs');
const { median } = require('./support/values.cjs');

const TASK_MS = 1_000;
const POLL_EVERY_MS = 1_000;
const VIDEO_BYTES = 100_000;
const TASK_QUEUE = 'bench';
const BARE_QUEUE = 'bare';
const WARM_UP = 3;

/** The job without an engine. */
async function bareLoop({ submit, poll, download }, prompt) {
  const taskId = await submit(prompt);
  for (;;) {
    await sleep(POLL_EVERY_MS);
    const { status, link } = await poll(taskId);
    if (status === 'succeeded') return download(link, prompt);
  }
}

/** When the newest video in a folder came to be there under its name. */
function newestVideoMs(folder) {
  const videos = readdirSync(folder).filter((name) => name.endsWith('.mp4'));
  return Math.max(...videos.map((name) => statSync(join(folder, name)).ctimeMs));
}

async function measureJob(run, { prompt, folder, emulator }) {
  const startedAt = performance.now();
  await run(prompt);
  const tookMs = performance.now() - startedAt;
  const { tasks } = await emulator.report();
  const { endsAtMs } = tasks.find((task) => task.prompt === prompt);
  return { beyondTaskMs: tookMs - TASK_MS, endToFileMs: newestVideoMs(folder) - endsAtMs };
}

const medians = (samples) =>
  Object.fromEntries(
    Object.keys(samples[0]).map((key) => [key, median(samples.map((sample) => sample[key]))]),
  );

async function measure({ quick }) {
  const rounds = quick ? 1 : 15;
  return inFolder((folder) =>
    withDevServer(async ({ client, connection, version }) => {
      const folders = Object.fromEntries(['bare', 'workflow', 'ours'].map((who) => [who, join(folder, who)]));
      await Promise.all(Object.values(folders).map((each) => mkdir(each)));
      const emulator = await startEmulatorProcess({ jobTimeMs: TASK_MS, videoBytes: VIDEO_BYTES });
      const { url, apiKey } = emulator;
      const activities = bareActivities({ url, apiKey, folder: folders.bare });
      const bareWorker = await Worker.create({
        connection,
        taskQueue: BARE_QUEUE,
        workflowsPath: require.resolve('./bare/workflows.cjs'),
        activities: bareActivities({ url, apiKey, folder: folders.workflow }),
      });
      const worker = await createVideoWorker({
        env: {},
        connection,
        taskQueue: TASK_QUEUE,
        service: createVideoService({ baseUrl: url, apiKey: () => apiKey }),
        storage: createFileStorage(folders.ours),
      });
      const videos = await createVideoClient({ env: {}, client, taskQueue: TASK_QUEUE });
      const polling = { min: POLL_EVERY_MS, max: POLL_EVERY_MS };
      const runs = {
        bare: (prompt) => bareLoop(activities, prompt),
        workflow: (prompt) =>
          client.workflow.execute('bareVideo', {
            taskQueue: BARE_QUEUE,
            workflowId: prompt,
            args: [prompt, prompt],
          }),
        ours: (prompt) => videos.execute({ request: { prompt }, polling }),
      };
      const samples = { bare: [], workflow: [], ours: [] };
      const takeTurns = async () => {
        for (let round = -WARM_UP; round < rounds; round++) {
          for (const [who, run] of Object.entries(runs)) {
            const prompt = `${who} fox ${round + WARM_UP}`;
            const sample = await measureJob(run, { prompt, folder: folders[who], emulator });
            if (round >= 0) samples[who].push(sample);
          }
        }
      };
      await worker.runUntil(() => bareWorker.runUntil(takeTurns));
      await emulator.close();
      const found = Object.fromEntries(Object.entries(samples).map(([who, of]) => [who, medians(of)]));
      return sectionOf(found, { rounds, version });
    }),
  );
}

function sectionOf({ bare, workflow, ours }, { rounds, version }) {
  const beyond = (one) => Object.fromEntries(Object.keys(ours).map((key) => [key, ours[key] - one[key]]));
  const ratioOf = ({ beyondTaskMs }) => beyondTaskMs / bare.beyondTaskMs;
  return {
    section: 'd',
    title: 'Overhead of one job',
    ratioOf: 'time without the task to a bare loop',
    better: 'less',
    rows: [
      { name: 'bare loop without an engine', values: bare, ratio: 1 },
      { name: 'bare workflow', values: workflow, ratio: ratioOf(workflow) },
      { name: 'ours', ours: true, values: ours, ratio: ratioOf(ours) },
      { name: 'ours beyond the bare loop', values: beyond(bare) },
      { name: 'ours beyond the bare workflow', values: beyond(workflow) },
    ],
    notes: [
      `Tasks of ${TASK_MS / 1_000} s, one job at a time, medians of ${rounds}. Beyond task: from the call to the result, without the second of the task. End to file: from the end of the task to the file on the disk.`,
    ],
    versions: { 'Temporal server': version },
  };
}

module.exports = { measure, sectionOf };
if (require.main === module) void runSection(measure);
