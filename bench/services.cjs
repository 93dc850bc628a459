/**
 * Two services in one worker: how long the jobs of one take, alone and while the other answers 429 to everything for a minute
 * and has a backlog of its own. `npm run bench:services` prints the two medians; `-- --quick` takes seconds.
 */
const { once } = require('node:events');
const { createServer } = require('node:http');
const { parseArgs } = require('node:util');
const { createVideoClient } = require('../dist/src/client/video-client');
const { createVideoService } = require('../dist/src/service');
const { createFileStorage } = require('../dist/src/storage');
const { createVideoWorker } = require('../dist/src/worker/video-worker');
const { startEmulatorProcess } = require('./support/emulator-process.cjs');
const { inFolder, withDevServer } = require('./support/temporal.cjs');

const JOB_TIME_MS = 2_000;
const AT_A_TIME = 5;
/** As often as that: what the worker learns about the times of tasks is measured elsewhere. */
const POLLING = { min: '500ms', max: '500ms' };
const BACKLOG = 100;
const FULL = { windowMs: 60_000 };
const QUICK = { windowMs: 8_000 };

/** Refuses everything, and asks to come again in a second: the worker keeps trying for as long as the window lasts. */
async function startLimitedService() {
  let refused = 0;
  const server = createServer((request, response) => {
    refused += 1;
    request.resume();
    response.writeHead(429, { 'retry-after': '1', 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    refused: () => refused,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Jobs of the good service, a few at a time, for the length of the window. Returns how long each took. */
async function jobsFor(videos, windowMs) {
  const endAtMs = performance.now() + windowMs;
  const times = [];
  const oneAfterTheOther = async () => {
    while (performance.now() < endAtMs) {
      const beganMs = performance.now();
      await videos.execute({
        request: { prompt: 'A red fox in the snow' },
        service: 'good',
        polling: POLLING,
      });
      times.push(performance.now() - beganMs);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, oneAfterTheOther));
  return times;
}

/** To start a hundred jobs is work too, which has nothing to do with the 429. */
async function untilSubmitting(client, workflowId) {
  for (;;) {
    const { raw } = await client.workflow.getHandle(workflowId).describe();
    if ((raw.pendingActivities ?? []).length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function medianOf(times) {
  const sorted = [...times].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}

async function measure(windowMs) {
  return inFolder((folder) =>
    withDevServer(async ({ client, connection }) => {
      const emulator = await startEmulatorProcess({ jobTimeMs: JOB_TIME_MS, videoBytes: 10_000 });
      const limited = await startLimitedService();
      const taskQueue = 'bench-services';
      const service = ({ url, apiKey = 'none' }) =>
        createVideoService({ baseUrl: url, apiKey: () => apiKey });
      const services = { good: service(emulator), limited: service(limited) };
      const storage = createFileStorage(folder);
      const worker = await createVideoWorker({ env: {}, connection, taskQueue, services, storage });
      const running = worker.run();
      const videos = await createVideoClient({
        env: {},
        client,
        taskQueue,
        services: { services: { good: {}, limited: {} } },
      });
      // Not measured: the first jobs load code and make connections.
      await jobsFor(videos, JOB_TIME_MS);
      const alone = await jobsFor(videos, windowMs);
      const request = { prompt: 'A fox that waits' };
      const waiting = await Promise.all(
        Array.from({ length: BACKLOG }, () => videos.start({ request, service: 'limited' })),
      );
      for (const { workflowId } of waiting) await untilSubmitting(client, workflowId);
      const beside = await jobsFor(videos, windowMs);
      for (const { workflowId } of waiting) await client.workflow.getHandle(workflowId).terminate();
      worker.shutdown();
      await running;
      await Promise.all([services.good.close(), services.limited.close(), emulator.close()]);
      limited.close();
      return { alone, beside, refused: limited.refused() };
    }),
  );
}

const secondsOf = (ms) => `${(ms / 1_000).toFixed(2)} s`;

async function main() {
  const { values } = parseArgs({ options: { quick: { type: 'boolean' } } });
  const { windowMs } = values.quick ? QUICK : FULL;
  const { alone, beside, refused } = await measure(windowMs);
  const line = (name, times) => `${name}: median ${secondsOf(medianOf(times))} of ${times.length} jobs`;
  process.stdout.write(
    `${[
      line('alone', alone),
      line(`beside a service that answers 429 for ${windowMs / 1_000} s (${refused} calls refused)`, beside),
      `The emulator takes ${JOB_TIME_MS / 1_000} s for each video.`,
    ].join('\n')}\n`,
  );
}

if (require.main === module)
  main().then(
    () => process.exit(0),
    (error) => {
      process.stderr.write(`${error.stack}\n`);
      process.exit(1);
    },
  );
