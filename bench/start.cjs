/**
 * Measures how soon a worker is up and what it holds: `npm run bench -- --only f`, about 90 s. Starts `videogen worker` and a bare
 * worker of Temporal's SDK (`bare-worker.cjs`) in turn. For each it prints the time from the start of the process to the first
 * poll that the Temporal server saw, the processor time until then, and the resident memory after 10 s without work; then how long
 * `videogen --help` takes, beside `node -e 0`. Medians. Set `RUNS`; `--json FILE` writes the numbers too.
 */
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { argument, memoryMb, processorMs } = require('./support/processes.cjs');
const { median } = require('./support/values.cjs');

const COMMAND = join(__dirname, '../dist/src/cli/main.js');
const RUNS = Number(process.env.RUNS ?? 5);
const IDLE_MS = 10_000;
const LONGEST_START_MS = 60_000;
/** With one partition, DescribeTaskQueue lists every poller. */
const ONE_PARTITION = {
  'matching.numTaskqueueReadPartitions': '1',
  'matching.numTaskqueueWritePartitions': '1',
};

/** Resolves with the time of the first poll of a queue, by the server's clock, which is this machine's. */
async function firstPollMs(connection, taskQueue, child) {
  const givesUpAt = Date.now() + LONGEST_START_MS;
  while (Date.now() < givesUpAt && child.exitCode === null) {
    const { pollers } = await connection.workflowService.describeTaskQueue({
      namespace: 'default',
      taskQueue: { name: taskQueue },
      taskQueueType: 1,
    });
    if (pollers.length > 0) {
      const { seconds, nanos } = pollers[0].lastAccessTime;
      return Number(seconds) * 1_000 + nanos / 1e6;
    }
    await sleep(10);
  }
  throw new Error(`No worker polls ${taskQueue}.`);
}

/** Starts a worker and waits for its first poll. */
async function startWorker(args, { connection, address, folder, taskQueue }) {
  const { endWithParent } = require('../dist/src/temporal-server/child-process');
  const startedAt = Date.now();
  const child = spawn(process.execPath, args, {
    stdio: 'ignore',
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TEMPORAL_ADDRESS: address,
      VIDEOGEN_TASK_QUEUE: taskQueue,
      VIDEOGEN_STORAGE: join(folder, 'videos'),
      VIDEO_API_BASE_URL: 'http://127.0.0.1:1',
      VIDEO_API_KEY: 'unused',
    },
  });
  endWithParent(child);
  const polledAt = await firstPollMs(connection, taskQueue, child);
  return { child, firstPollMs: polledAt - startedAt, processorMs: processorMs(child.pid) };
}

async function measureWorker(args, world) {
  const { child, ...started } = await startWorker(args, world);
  try {
    await sleep(IDLE_MS);
    const { rss, pss } = memoryMb(child.pid);
    return { ...started, rssMb: rss, pssMb: pss };
  } finally {
    // Ended as by a supervisor: Node then keeps its cache of compiled code, from Node 22 on.
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
}

async function measureCommand(args) {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  await once(child, 'exit');
  return { ms: performance.now() - startedAt };
}

const mediansOf = (samples) =>
  Object.fromEntries(
    Object.keys(samples[0]).map((key) => [key, median(samples.map((sample) => sample[key]))]),
  );

async function writeEmptyBundle(folder) {
  const { bundleWorkflowCode, DefaultLogger } = require('@temporalio/worker');
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(__dirname, 'empty-workflow.cjs'),
    logger: new DefaultLogger('WARN'),
  });
  const file = join(folder, 'bundle.js');
  writeFileSync(file, code);
  return file;
}

/** Resolves with the medians of `worker`, `bare`, `help` and `node`. */
async function measureStart({ runs = RUNS } = {}) {
  const { Connection } = require('@temporalio/client');
  const { readServerOptions } = require('../dist/src/config/temporal-config');
  const { findDevServer, startDevServer } = require('../dist/src/temporal-server');
  const folder = mkdtempSync(join(tmpdir(), 'videogen-bench-'));
  const server = await startDevServer({
    executable: await findDevServer(readServerOptions()),
    headless: true,
    dynamicConfig: ONE_PARTITION,
  });
  const connection = await Connection.connect({ address: server.address });
  try {
    const bareBundle = await writeEmptyBundle(folder);
    const samples = { worker: [], bare: [], help: [], node: [] };
    // The first run of each fills the file cache and is not counted.
    for (let run = 0; run <= runs; run++) {
      const world = (name) => ({ connection, address: server.address, folder, taskQueue: `${name}-${run}` });
      const bare = await measureWorker([join(__dirname, 'bare-worker.cjs'), bareBundle], world('bare'));
      const worker = await measureWorker([COMMAND, 'worker'], world('worker'));
      const help = await measureCommand([COMMAND, '--help']);
      const node = await measureCommand(['-e', '0']);
      if (run === 0) continue;
      for (const [name, sample] of Object.entries({ worker, bare, help, node })) samples[name].push(sample);
    }
    return Object.fromEntries(Object.entries(samples).map(([name, each]) => [name, mediansOf(each)]));
  } finally {
    await connection.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function describe({ worker, bare, help, node }) {
  const row = (name, { firstPollMs, processorMs, rssMb, pssMb }) =>
    `${name.padEnd(32)} first poll after ${firstPollMs.toFixed(0)} ms, ${processorMs.toFixed(0)} ms of processor time; ` +
    `idle ${rssMb.toFixed(0)} MB (${pssMb.toFixed(0)} MB proportional)\n`;
  const ratio = (key) => (worker[key] / bare[key]).toFixed(2);
  return [
    row('videogen worker', worker),
    row("a bare worker of Temporal's SDK", bare),
    `${'ratio'.padEnd(32)} first poll ${ratio('firstPollMs')}, processor time ${ratio('processorMs')}, idle ${ratio('rssMb')}\n`,
    `${'videogen --help'.padEnd(32)} ${help.ms.toFixed(0)} ms; node -e 0: ${node.ms.toFixed(0)} ms\n`,
  ].join('');
}

async function main() {
  const measured = await measureStart();
  process.stdout.write(describe(measured));
  const file = argument('json');
  if (file !== undefined) writeFileSync(file, `${JSON.stringify(measured, null, 2)}\n`);
}

module.exports = { describe, measureStart };

if (require.main === module) {
  main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  });
}
