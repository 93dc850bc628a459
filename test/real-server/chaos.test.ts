import { setMaxListeners } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { type DevServer, startDevServer } from '../../src/temporal-server';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { auditJobs, decisionsOf, interrupted, isRefused, postsOf, type RunJob } from '../support/chaos-audit';
import { operate } from '../support/chaos-operator';
import {
  type ChaosPlan,
  chaosPlan,
  JOBS,
  type PlannedJob,
  VIDEO_BYTES,
  WORKER_LATENCY_MS,
} from '../support/chaos-plan';
import { killWorkers } from '../support/chaos-workers';
import { historyOf } from '../support/history';
import { REPLAY, SEED } from '../support/seed';
import { type SlowLine, startSlowLine } from '../support/slow-line';
import { killLeftoverWorkers, startWorkerProcess } from '../support/worker-process';

/** The same seed gives the same jobs, faults and kills at the same times. How they coincide depends on the machine. */
const seed = SEED;
const COMMAND = `${REPLAY} npx jest test/real-server/chaos --selectProjects server`;

/** Shorter than jest's timeout, so that stuck jobs are reported. */
const LONGEST_RUN_MS = 300_000;

let folder: string;
let server: DevServer;
let line: SlowLine;
let connection: Connection;
let client: Client;
let emulator: Emulator;
let videos: VideoClient;
const taskQueue = `chaos-${seed}`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-chaos-'));
  server = await startDevServer({ executable: process.env.VIDEOGEN_TEMPORAL_CLI ?? '', headless: true });
  line = await startSlowLine(server.address, WORKER_LATENCY_MS);
  connection = await Connection.connect({ address: server.address });
  client = new Client({ connection });
  emulator = await startEmulator({ jobTimeMs: 1_000, videoBytes: VIDEO_BYTES });
  videos = await createVideoClient({ client, taskQueue });
});
afterAll(async () => {
  await killLeftoverWorkers();
  await emulator?.close();
  await connection?.close();
  await line?.close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const startWorker = () =>
  startWorkerProcess({
    TEMPORAL_ADDRESS: line.address,
    VIDEO_API_BASE_URL: emulator.url,
    VIDEO_API_KEY: emulator.apiKey,
    VIDEOGEN_TASK_QUEUE: taskQueue,
    VIDEOGEN_STORAGE: join(folder, 'videos'),
  });

const idOf = (index: number) => `${taskQueue}-${index}`;

async function runJob(job: PlannedJob, index: number, signal: AbortSignal): Promise<RunJob> {
  const { prompt, startAtMs, onLostSubmit } = job;
  const workflowId = idOf(index);
  await sleep(startAtMs);
  const started = await videos.start(
    { request: { prompt }, polling: { min: '1s', max: '1s' }, onLostSubmit },
    { workflowId },
  );
  const stuck = sleep(LONGEST_RUN_MS - startAtMs, undefined, { signal }).then(() => {
    throw new Error('still running');
  });
  const outcome = await Promise.race([started.result(), stuck]).then(
    (result) => ({ result, ending: 'succeeded' }),
    async (error) => ({
      ending: `${error}, ${JSON.stringify(await started.progress().catch(String))}`,
    }),
  );
  const { events } = await historyOf(client, workflowId);
  return { ...job, workflowId, events: events ?? [], ...outcome };
}

async function applyFaults({ submitFaults, timedFaults }: ChaosPlan, signal: AbortSignal): Promise<void> {
  emulator.next('submit', ...submitFaults);
  const timed = timedFaults.map(async ({ atMs, apply }) => {
    await sleep(atMs, undefined, { signal });
    apply(emulator);
  });
  await Promise.all(timed);
}

const count = <T>(things: readonly T[], thing: T) => things.filter((one) => one === thing).length;

async function run(): Promise<void> {
  const plan = chaosPlan(seed);
  const { jobs } = plan;
  const startedAtMs = Date.now();
  const over = new AbortController();
  // Each job adds a listener.
  setMaxListeners(0, over.signal);
  const prompts = new Map(jobs.map(({ prompt }, index) => [idOf(index), prompt]));
  const findTask = (workflowId: string) =>
    emulator.generations().find(({ request }) => request.prompt === prompts.get(workflowId))?.taskId;

  const faults = applyFaults(plan, over.signal);
  const kills = killWorkers(plan.lives, {
    start: startWorker,
    posts: () => postsOf(emulator).length,
    signal: over.signal,
  });
  const operator = operate({ client, videos, taskQueue, findTask, signal: over.signal });
  try {
    const [ended] = await Promise.all([
      Promise.all(jobs.map((job, index) => runJob(job, index, over.signal))),
      kills.over,
      faults,
    ]);
    over.abort();

    const posts = postsOf(emulator);
    const decisions = ended.flatMap(decisionsOf);
    const hit = ended.flatMap(({ events }) => interrupted(events));
    const files = await readdir(join(folder, 'videos'));
    const facts = {
      seed,
      jobs: ended.length,
      kills: kills.atMs.length,
      holds: decisions.length,
      adopts: count(decisions, 'adopt'),
      resubmits: count(decisions, 'resubmit'),
      posts: posts.length,
      refused: posts.filter(isRefused).length,
      generations: emulator.generations().length,
      hitSubmits: count(hit, 'submitVideo'),
      hitPolls: count(hit, 'pollVideo'),
      hitDownloads: count(hit, 'downloadVideo'),
      partialFiles: files.filter((name) => name.endsWith('.part')).length,
      seconds: Math.round((Date.now() - startedAtMs) / 1_000),
    };
    process.stderr.write(`${JSON.stringify(facts)}\n`);

    const flaws = await auditJobs(ended, emulator, kills.atMs);
    if (flaws.length > 0) flaws.push(...(await operator).map((problem) => `unanswered: ${problem}`));
    expect(flaws).toEqual([]);
    expect(kills.diedAlone).toEqual([]);
    expect(files.filter((name) => name.endsWith('.mp4'))).toHaveLength(jobs.length);
    expect(files.filter((name) => name.endsWith('.part'))).toEqual([]);
    expect(posts).toHaveLength(facts.generations + facts.refused);
    // Without these, no kill hit a POST, and the run proves nothing.
    expect(facts.hitSubmits).toBeGreaterThan(0);
    expect(facts.adopts).toBeGreaterThan(0);
  } finally {
    over.abort();
    await Promise.allSettled([faults, kills.over, operator]);
  }
}

test(`${JOBS} jobs with workers killed at random times, ${REPLAY}: each stores its video, and none is paid for twice without a decision`, async () => {
  await run().catch((error) => {
    throw new Error(`${error instanceof Error ? error.message : error}\n\nRun it again with: ${COMMAND}`, {
      cause: error,
    });
  });
}, 360_000);
