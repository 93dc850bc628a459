/**
 * Compares many videos in one workflow with a workflow for each: `npm run bench:batch`. A generation takes a second. The
 * Temporal server, one worker and the emulator share the machine. Prints videos per second and the server's CPU time per
 * video. Set `VIDEOS` (in the batch; 10000 for a long file), `JOBS` (single workflows; 0 for none) and `WINDOW`.
 */
const { readFileSync } = require('node:fs');
const { Client, Connection } = require('@temporalio/client');
const { DefaultLogger, NativeConnection, Runtime } = require('@temporalio/worker');
const { mkdtemp, readdir, rm } = require('node:fs/promises');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { createVideoClient } = require('../dist/src/client/video-client');
const { readServerOptions } = require('../dist/src/config/temporal-config');
const { startEmulator } = require('../dist/src/emulator');
const { findDevServer, startDevServer } = require('../dist/src/temporal-server');
const { createVideoService } = require('../dist/src/service');
const { createFileStorage } = require('../dist/src/storage');
const { createVideoWorker } = require('../dist/src/worker/video-worker');

const setting = (name, defaultValue) => Number(process.env[name] ?? defaultValue);
const VIDEOS = setting('VIDEOS', 1_000);
const JOBS = setting('JOBS', 200);
const WINDOW = setting('WINDOW', 100);
const POLLING = { min: '1s', max: '1s' };
const TASK_QUEUE = 'video-generation';
const TICKS_PER_SECOND = 100;

/** CPU seconds that a process has used, from Linux. */
function cpuSeconds(pid) {
  const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(afterName[11]) + Number(afterName[12])) / TICKS_PER_SECOND;
}

async function measure(server, count, work) {
  const [startedAt, before] = [Date.now(), cpuSeconds(server.pid)];
  await work();
  const seconds = (Date.now() - startedAt) / 1_000;
  const serverMs = (1_000 * (cpuSeconds(server.pid) - before)) / count;
  return `${(count / seconds).toFixed(1)} videos/s, ${serverMs.toFixed(1)} ms of the server's CPU per video, ${seconds.toFixed(0)} s`;
}

async function countRuns(client, workflowId) {
  let runs = 0;
  for await (const _ of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) runs++;
  return runs;
}

async function main() {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const folder = await mkdtemp(join(tmpdir(), 'videogen-bench-'));
  const server = await startDevServer({
    executable: await findDevServer(readServerOptions()),
    headless: true,
  });
  const emulator = await startEmulator({ jobTimeMs: 1_000, videoBytes: 10_000 });
  const service = createVideoService({ baseUrl: emulator.url, apiKey: () => emulator.apiKey });
  const storage = createFileStorage(folder);
  const connection = await NativeConnection.connect({ address: server.address });
  const worker = await createVideoWorker({ env: {}, connection, taskQueue: TASK_QUEUE, service, storage });
  const client = new Client({ connection: await Connection.connect({ address: server.address }) });
  const videos = await createVideoClient({ env: {}, client, taskQueue: TASK_QUEUE });

  await worker.runUntil(async () => {
    const lines = Array.from({ length: VIDEOS }, (_, index) => `{"prompt":"Fox ${index + 1}"}\n`);
    await storage.write('foxes.jsonl', lines.join(''), 'application/x-ndjson');
    let result;
    const batch = await measure(server, VIDEOS, async () => {
      const input = { requestsFrom: 'foxes.jsonl', window: WINDOW, polling: POLLING };
      result = await (await videos.startBatch(input, { workflowId: 'foxes' })).result();
    });
    const files = (await readdir(folder)).filter((name) => name.endsWith('.mp4')).length;
    process.stdout.write(
      `one workflow, ${VIDEOS} lines, window ${WINDOW}: ${batch}; ` +
        `${result.succeeded} stored, ${result.failed} failed, ${files} files, ${emulator.generations().length} paid, ` +
        `${await countRuns(client, 'foxes')} runs\n`,
    );
    if (JOBS === 0) return;
    const single = await measure(server, JOBS, async () => {
      const jobs = [];
      for (let index = 0; index < JOBS; index++) {
        jobs.push(await videos.start({ request: { prompt: `Fox ${index}` }, polling: POLLING }));
      }
      await Promise.all(jobs.map((job) => job.result()));
    });
    process.stdout.write(`a workflow each, ${JOBS} at once: ${single}\n`);
  });
  await service.close();
  await emulator.close();
  await connection.close();
  await client.connection.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
