/**
 * How many one-second jobs a second: section (c) of `npm run bench`, about 3 min. The Temporal server, the emulator, a worker of
 * ours and a bare worker are processes of their own on this machine. The bare workflow submits, polls and downloads without
 * any safety; see `bench/bare`. The kinds take turns in each round, and the medians of the rounds are printed.
 * `--json FILE` writes them to a file. Set `ROUNDS`, `JOBS`, `BATCHES`, `ITEMS`, `KINDS` (names, with commas) and
 * `CPU_PROFILES` (a folder for the workers' profiles).
 */
const { fork } = require('node:child_process');
const { readdirSync, readFileSync } = require('node:fs');
const { mkdir, mkdtemp, readdir, rm, writeFile } = require('node:fs/promises');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { cpuSeconds, ownCpuSeconds, TICKS_PER_SECOND } = require('./support/processes.cjs');
const { median } = require('./support/values.cjs');

const setting = (name, defaultValue) => Number(process.env[name] ?? defaultValue);
const ROUNDS = setting('ROUNDS', 3);
const JOBS = setting('JOBS', 200);
const BATCHES = setting('BATCHES', 3);
const ITEMS = setting('ITEMS', 200);
const JOB_TIME_MS = 1_000;
const VIDEO_BYTES = 10_000;
const WARM_UP_JOBS = 20;
const POLLING = { min: '1s', max: '1s' };
const BARE_QUEUE = 'bare';
const OUR_QUEUE = 'ours';

/**
 * The processor seconds of a process by the names of its threads: the main thread (JavaScript of activities), the threads
 * of workflows, the native parts of the SDK (tokio) and files (libuv). `ended` are threads that live for one call.
 */
function cpuByThread(pid) {
  const seconds = {};
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      const [name, rest] = readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8').split('(')[1].split(') ');
      const fields = rest.split(' ').map(Number);
      const thread = Number(task) === pid ? 'main' : name;
      seconds[thread] = (seconds[thread] ?? 0) + (fields[11] + fields[12]) / TICKS_PER_SECOND;
    } catch {
      // It has ended meanwhile.
    }
  }
  const own = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').map(Number);
  const alive = Object.values(seconds).reduce((sum, one) => sum + one, 0);
  seconds.ended = (own[11] + own[12]) / TICKS_PER_SECOND - alive;
  seconds.children = cpuSeconds(pid) - alive - seconds.ended;
  return seconds;
}

/** The processes that serve the measured one. Each sends `ready` and ends with its parent. */
const ROLES = {
  async emulator() {
    const { startEmulator } = require('../dist/src/testing/emulator');
    const { url, apiKey } = await startEmulator({ jobTimeMs: JOB_TIME_MS, videoBytes: VIDEO_BYTES });
    return { url, apiKey };
  },

  async bare({ address, folder, emulator }) {
    const { NativeConnection, Worker } = require('@temporalio/worker');
    const { bareActivities } = require('./bare/activities.cjs');
    const worker = await Worker.create({
      connection: await NativeConnection.connect({ address }),
      taskQueue: BARE_QUEUE,
      workflowsPath: require.resolve('./bare/workflows.cjs'),
      activities: bareActivities({ ...emulator, folder }),
    });
    return { worker };
  },

  async ours({ address, folder, emulator }) {
    const { NativeConnection } = require('@temporalio/worker');
    const { createVideoService } = require('../dist/src/service');
    const { createFileStorage } = require('../dist/src/storage');
    const { createVideoWorker } = require('../dist/src/worker/video-worker');
    const worker = await createVideoWorker({
      env: {},
      connection: await NativeConnection.connect({ address }),
      taskQueue: OUR_QUEUE,
      service: createVideoService({ baseUrl: emulator.url, apiKey: () => emulator.apiKey }),
      storage: createFileStorage(folder),
    });
    return { worker };
  },
};

async function runRole(role) {
  const { DefaultLogger, Runtime } = require('@temporalio/worker');
  if (role !== 'emulator') Runtime.install({ logger: new DefaultLogger('ERROR') });
  process.once('message', async (input) => {
    const { worker, ...ready } = await ROLES[role](input);
    process.send({ ready });
    // A profile is written when the process ends by itself.
    process.once('disconnect', () => (worker ? worker.shutdown() : process.exit()));
    await worker?.run();
    if (worker) process.exit();
  });
}

function startRole(role, input = {}) {
  const folder = process.env.CPU_PROFILES;
  const execArgv = folder ? ['--cpu-prof', `--cpu-prof-dir=${join(folder, role)}`] : [];
  const child = fork(__filename, ['--role', role], { execArgv });
  child.send(input);
  return new Promise((resolve, reject) => {
    child.once('message', ({ ready }) => resolve({ ...ready, pid: child.pid, child }));
    child.once('exit', (code) => reject(new Error(`The ${role} process ended with code ${code}.`)));
  });
}

async function stopRole({ child }) {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.disconnect();
  await ended;
}

/** What is measured: each kind starts `count` jobs at once and waits for all of them. */
const KINDS = {
  nothing: { label: 'a workflow that does nothing', queue: BARE_QUEUE, count: 2 * JOBS },
  bare: { label: 'bare, a workflow each', queue: BARE_QUEUE, count: JOBS },
  ours: { label: 'ours, a workflow each', queue: OUR_QUEUE, count: JOBS },
  bareBatch: { label: `bare, ${ITEMS} in a workflow`, queue: BARE_QUEUE, count: BATCHES * ITEMS },
  oursBatch: { label: `ours, ${ITEMS} in a batch`, queue: OUR_QUEUE, count: BATCHES * ITEMS },
};

const promptsOf = (name, count) => Array.from({ length: count }, (_, index) => `Fox ${name} ${index}`);

function starters(client, videos) {
  const startBare = (type, workflowId, args) =>
    client.workflow.start(type, { taskQueue: BARE_QUEUE, workflowId, args });
  const manyOf = (name, count, start) =>
    promptsOf(name, count).map((prompt, index) => start(prompt, `${name}-${index}`));
  const batchesOf = (name, count, start) =>
    Array.from({ length: Math.ceil(count / ITEMS) }, (_, index) => {
      const workflowId = `${name}-${index}`;
      return start(promptsOf(workflowId, Math.min(ITEMS, count)), workflowId);
    });
  return {
    nothing: (name, count) => manyOf(name, count, (_, id) => startBare('nothing', id, [])),
    bare: (name, count) => manyOf(name, count, (prompt, id) => startBare('bareVideo', id, [prompt, id])),
    ours: (name, count) =>
      manyOf(name, count, (prompt, workflowId) =>
        videos.start({ request: { prompt }, polling: POLLING }, { workflowId }),
      ),
    bareBatch: (name, count) =>
      batchesOf(name, count, (prompts, id) => startBare('bareVideos', id, [prompts, id])),
    oursBatch: (name, count) =>
      batchesOf(name, count, (prompts, workflowId) => {
        const requests = prompts.map((prompt) => ({ prompt }));
        return videos.startBatch({ requests, window: ITEMS, polling: POLLING }, { workflowId });
      }),
  };
}

/** Measures all kinds in turns. Returns the medians by kind. */
async function measureThroughput({ kinds = Object.keys(KINDS), rounds = ROUNDS, onRound = () => {} } = {}) {
  const { Client, Connection } = require('@temporalio/client');
  const { createVideoClient } = require('../dist/src/client/video-client');
  const { readServerOptions } = require('../dist/src/config/temporal-config');
  const { findDevServer, startDevServer } = require('../dist/src/temporal-server');
  const folder = await mkdtemp(join(tmpdir(), 'videogen-bench-'));
  const folders = { bare: join(folder, 'bare'), ours: join(folder, 'ours') };
  await Promise.all(Object.values(folders).map((path) => mkdir(path)));
  const server = await startDevServer({
    executable: await findDevServer(readServerOptions()),
    headless: true,
  });
  const emulator = await startRole('emulator');
  const { address } = server;
  const emulated = { url: emulator.url, apiKey: emulator.apiKey };
  const workers = {
    [BARE_QUEUE]: await startRole('bare', { address, folder: folders.bare, emulator: emulated }),
    [OUR_QUEUE]: await startRole('ours', { address, folder: folders.ours, emulator: emulated }),
  };
  const client = new Client({ connection: await Connection.connect({ address }) });
  const videos = await createVideoClient({ env: {}, client, taskQueue: OUR_QUEUE });
  const start = starters(client, videos);
  const expected = { bare: 0, ours: 0 };

  const run = async (kind, name, count) => {
    const processes = { worker: workers[KINDS[kind].queue], server, service: emulator };
    const cpu = () => [...Object.values(processes).map(({ pid }) => cpuSeconds(pid)), ownCpuSeconds()];
    const worker = processes.worker.pid;
    const threadsBefore = cpuByThread(worker);
    const before = cpu();
    const startedAt = performance.now();
    const handles = await Promise.all(start[kind](name, count));
    await Promise.all(handles.map((handle) => handle.result()));
    const seconds = (performance.now() - startedAt) / 1_000;
    const used = cpu().map((after, index) => (1_000 * (after - before[index])) / count);
    if (kind !== 'nothing') expected[KINDS[kind].queue] += count;
    const names = [...Object.keys(processes), 'client'];
    const cpuMs = Object.fromEntries(names.map((name, index) => [name, used[index]]));
    const threads = Object.entries(cpuByThread(worker)).map(([name, after]) => [
      name,
      (1_000 * (after - (threadsBefore[name] ?? 0))) / count,
    ]);
    return { perSecond: count / seconds, cpuMs, workerThreadsMs: Object.fromEntries(threads) };
  };

  try {
    const measured = Object.fromEntries(kinds.map((kind) => [kind, []]));
    for (const kind of kinds) await run(kind, `warm-up-${kind}`, WARM_UP_JOBS);
    for (let round = 1; round <= rounds; round++) {
      const order = round % 2 === 1 ? kinds : [...kinds].reverse();
      for (const kind of order) {
        const result = await run(kind, `${kind}-${round}`, KINDS[kind].count);
        measured[kind].push(result);
        onRound(kind, result);
      }
    }
    for (const [owner, count] of Object.entries(expected)) {
      const stored = (await readdir(folders[owner])).filter((name) => name.endsWith('.mp4')).length;
      if (stored !== count) throw new Error(`${owner} stored ${stored} videos of ${count}.`);
    }
    return Object.fromEntries(
      kinds.map((kind) => {
        const results = measured[kind];
        const cpuMs = Object.fromEntries(
          Object.keys(results[0].cpuMs).map((name) => [name, median(results.map((one) => one.cpuMs[name]))]),
        );
        const perSecond = median(results.map((one) => one.perSecond));
        const { workerThreadsMs } = results.at(-1);
        return [
          kind,
          { label: KINDS[kind].label, jobs: KINDS[kind].count, perSecond, cpuMs, workerThreadsMs },
        ];
      }),
    );
  } finally {
    await client.connection.close();
    for (const process of Object.values(workers)) await stopRole(process);
    await stopRole(emulator);
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

const listed = (byName) =>
  Object.entries(byName)
    .filter(([, ms]) => ms >= 0.1)
    .map(([name, ms]) => `${name} ${ms.toFixed(1)}`)
    .join(', ');

function describe({ perSecond, cpuMs, workerThreadsMs }) {
  return `${perSecond.toFixed(1).padStart(6)} jobs/s   processor ms a job: ${listed(cpuMs)} (worker: ${listed(workerThreadsMs)})`;
}

/** Jobs for a second of processor time, over all processes: a busy machine changes it less than jobs a second. */
const perCpuSecond = ({ cpuMs }) => 1_000 / Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0);

/** The targets: ours as a share of the bare workflow in the same run. */
function ratios({ bare, ours, bareBatch, oursBatch }) {
  const share = (name, bare, ours) => ({
    [name]: ours.perSecond / bare.perSecond,
    [`${name}ByCpu`]: perCpuSecond(ours) / perCpuSecond(bare),
  });
  return {
    ...(bare && ours && share('each', bare, ours)),
    ...(bareBatch && oursBatch && share('batch', bareBatch, oursBatch)),
  };
}

async function main() {
  const kinds = process.env.KINDS?.split(',');
  const onRound = (kind, result) => process.stdout.write(`  ${kind.padEnd(12)}${describe(result)}\n`);
  const results = await measureThroughput({ kinds, onRound });
  process.stdout.write(`medians of ${ROUNDS} rounds\n`);
  for (const result of Object.values(results)) {
    process.stdout.write(`  ${result.label.padEnd(32)}${describe(result)}\n`);
  }
  const shares = ratios(results);
  for (const [name, share] of Object.entries(shares)) {
    process.stdout.write(`  ${name}: ours is ${(100 * share).toFixed(0)} % of the bare workflow\n`);
  }
  const file = process.argv[process.argv.indexOf('--json') + 1];
  if (process.argv.includes('--json')) {
    await writeFile(file, `${JSON.stringify({ results, ratios: shares }, undefined, 2)}\n`);
  }
}

module.exports = { measureThroughput, ratios };

if (require.main === module) {
  const fail = (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  };
  const role = process.argv[process.argv.indexOf('--role') + 1];
  if (process.argv.includes('--role')) runRole(role).catch(fail);
  else main().catch(fail);
}
