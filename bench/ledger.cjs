/**
 * How many reservations the ledger of the caps takes a second, and how long one waits for it: with one and with two worker
 * processes' worth of writers, each with so many submits at a time, beside one submit alone.
 */
const { randomUUID } = require('node:crypto');
const { Client, Connection } = require('@temporalio/client');
const { ledgersInTemporal } = require('../dist/activities/ledger-client');
const { createVideoService } = require('../dist/src/service');
const { createFileStorage } = require('../dist/src/storage');
const { createVideoWorker } = require('../dist/src/worker/video-worker');
const { inFolder, withDevServer } = require('./support/temporal.cjs');

const SECONDS = Number(process.env.BENCH_SECONDS ?? 10);
const AT_A_TIME = 50;
const LIMITS = [{ unit: 'videos', limit: 1_000_000_000 }];

const entry = () => ({
  id: randomUUID(),
  accounts: [
    { scope: 'key', name: 'bench', limits: LIMITS },
    { scope: 'day', limits: LIMITS },
  ],
});

/** The latencies of all reservations that so many submits at a time made, in milliseconds. */
async function reserveFor(seconds, writers, atATime, taskQueue) {
  const untilMs = performance.now() + seconds * 1_000;
  const latencies = [];
  const reserve = async (writer) => {
    while (performance.now() < untilMs) {
      const startedAtMs = performance.now();
      const line = entry();
      await writer.write(taskQueue, line);
      latencies.push(performance.now() - startedAtMs);
      void writer.write(taskQueue, { id: line.id, cost: 'estimate' });
    }
  };
  await Promise.all(writers.flatMap((writer) => Array.from({ length: atATime }, () => reserve(writer))));
  return latencies.sort((a, b) => a - b);
}

const at = (sorted, share) => sorted[Math.floor(sorted.length * share)].toFixed(0);

async function main() {
  await inFolder(async (folder) => {
    await withDevServer(async ({ server, connection, version }) => {
      const taskQueue = 'bench-ledger';
      const service = createVideoService({ baseUrl: 'http://127.0.0.1:1', apiKey: () => 'none' });
      const worker = await createVideoWorker({
        connection,
        taskQueue,
        service,
        storage: createFileStorage(folder),
        env: {},
      });
      const connections = [];
      const writer = async () => {
        const own = await Connection.connect({ address: server.address });
        connections.push(own);
        const client = new Client({ connection: own });
        return ledgersInTemporal(() => client);
      };
      await worker.runUntil(async () => {
        const [first, second] = [await writer(), await writer()];
        await reserveFor(1, [first], 1, taskQueue);
        process.stdout.write(`Temporal ${version}, ${SECONDS} s each\n`);
        for (const [title, writers, atATime] of [
          ['one submit at a time', [first], 1],
          [`one worker, ${AT_A_TIME} submits at a time`, [first], AT_A_TIME],
          [`two workers, ${AT_A_TIME} submits at a time each`, [first, second], AT_A_TIME],
        ]) {
          const latencies = await reserveFor(SECONDS, writers, atATime, taskQueue);
          const perSecond = (latencies.length / SECONDS).toFixed(0);
          process.stdout.write(
            `${title}: ${perSecond} reservations a second, ${at(latencies, 0.5)} ms (median), ${at(latencies, 0.99)} ms (99 %)\n`,
          );
        }
      });
      await service.close();
      for (const own of connections) await own.close();
    });
  });
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
