/**
 * Runs a long file of requests as one batch: `VIDEOS=10000 WINDOW=200 npm run bench:batch`. A generation takes a second. The
 * Temporal server, one worker and the emulator share the machine. Prints videos per second, the server's CPU time per video,
 * how many runs the batch needed, and whether each video is stored and paid for once. Section (c) of `npm run bench` has its peers.
 */
const { readdir } = require('node:fs/promises');
const { createVideoClient } = require('../dist/src/client/video-client');
const { createVideoService } = require('../dist/src/service');
const { createFileStorage } = require('../dist/src/storage');
const { createVideoWorker } = require('../dist/src/worker/video-worker');
const { startEmulatorProcess } = require('./support/emulator-process.cjs');
const { processorMs } = require('./support/processes.cjs');
const { inFolder, withDevServer } = require('./support/temporal.cjs');

const setting = (name, defaultValue) => Number(process.env[name] ?? defaultValue);
const VIDEOS = setting('VIDEOS', 1_000);
const WINDOW = setting('WINDOW', 100);
const POLLING = { min: '1s', max: '1s' };
const TASK_QUEUE = 'video-generation';

async function countRuns(client, workflowId) {
  let runs = 0;
  for await (const _ of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) runs++;
  return runs;
}

async function measure(folder, { server, client, connection }) {
  const emulator = await startEmulatorProcess({ jobTimeMs: 1_000, videoBytes: 10_000 });
  const service = createVideoService({ baseUrl: emulator.url, apiKey: () => emulator.apiKey });
  const storage = createFileStorage(folder);
  const worker = await createVideoWorker({ env: {}, connection, taskQueue: TASK_QUEUE, service, storage });
  const videos = await createVideoClient({ env: {}, client, taskQueue: TASK_QUEUE });
  await worker.runUntil(async () => {
    const lines = Array.from({ length: VIDEOS }, (_, index) => `{"prompt":"Fox ${index + 1}"}\n`);
    await storage.write('foxes.jsonl', lines.join(''), 'application/x-ndjson');
    const [startedAt, cpuBefore] = [Date.now(), processorMs(server.pid)];
    const input = { requestsFrom: 'foxes.jsonl', window: WINDOW, polling: POLLING };
    const { succeeded, failed } = await (await videos.startBatch(input, { workflowId: 'foxes' })).result();
    const seconds = (Date.now() - startedAt) / 1_000;
    const serverMs = (processorMs(server.pid) - cpuBefore) / VIDEOS;
    const files = (await readdir(folder)).filter((name) => name.endsWith('.mp4')).length;
    const { tasks } = await emulator.report();
    process.stdout.write(
      `${VIDEOS} lines, window ${WINDOW}: ${(VIDEOS / seconds).toFixed(1)} videos/s, ` +
        `${serverMs.toFixed(1)} ms of the server's CPU per video, ${seconds.toFixed(0)} s; ` +
        `${succeeded} stored, ${failed} failed, ${files} files, ${tasks.length} paid, ` +
        `${await countRuns(client, 'foxes')} runs\n`,
    );
  });
  await service.close();
  await emulator.close();
}

inFolder((folder) => withDevServer((temporal) => measure(folder, temporal))).catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
