import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { run } from '../../src/cli/run';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { dayOf } from '../../src/contract/caps';
import type { JobInput } from '../../src/contract/job';
import { ledgerIdOf } from '../../src/contract/names';
import { isVideoFailure } from '../../src/contract/video-failure';
import { type DevServer, startDevServer } from '../../src/temporal-server';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { FakeTerminal } from '../cli/fake-terminal';
import { operate } from '../support/chaos-operator';
import { chaosPlan } from '../support/chaos-plan';
import { killWorkers } from '../support/chaos-workers';
import { ledgerOf } from '../support/ledger-of';
import { testAtNight } from '../support/nightly';
import { postsOf } from '../support/posts';
import { REPLAY, SEED } from '../support/seed';
import { shortHistories } from '../support/short-histories';
import { killLeftoverWorkers, startWorkerProcess, type WorkerProcess } from '../support/worker-process';
import { failureOf, pause } from '../support/world';

const CAP = 3;
const CALLERS = 40;
/** Fewer than the jobs of a chaos plan. */
const CHAOS_CAP = 60;

let folder: string;
let server: DevServer;
let connection: Connection;
let client: Client;
let emulator: Emulator;
let videos: VideoClient;
let workers: WorkerProcess[];
const taskQueue = `caps-${randomUUID()}`;

const startWorker = (env: Record<string, string> = {}) =>
  startWorkerProcess({
    TEMPORAL_ADDRESS: server.address,
    VIDEO_API_BASE_URL: emulator.url,
    VIDEO_API_KEY: emulator.apiKey,
    VIDEOGEN_TASK_QUEUE: taskQueue,
    VIDEOGEN_STORAGE: join(folder, 'videos'),
    VIDEOGEN_CAPS: join(folder, 'caps.yaml'),
    // So that the ledger continues as new during the race.
    VIDEOGEN_TEST_BUNDLE: shortHistories().codePath,
    ...env,
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-caps-'));
  await writeFile(join(folder, 'caps.yaml'), `day: { videos: ${CAP} }\n`);
  await writeFile(join(folder, 'chaos.yaml'), `day: { videos: ${CHAOS_CAP} }\n`);
  server = await startDevServer({ executable: process.env.VIDEOGEN_TEMPORAL_CLI ?? '', headless: true });
  connection = await Connection.connect({ address: server.address });
  client = new Client({ connection });
  emulator = await startEmulator({ jobTimeMs: 0, videoBytes: 16 * 1024 });
  videos = await createVideoClient({ client, taskQueue });
  workers = await Promise.all([startWorker(), startWorker()]);
}, 120_000);
afterAll(async () => {
  await killLeftoverWorkers();
  await emulator?.close();
  await connection?.close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

jest.setTimeout(120_000);

/** Used and reserved together. */
async function counted(): Promise<number> {
  const { counts } = await ledgerOf(client, taskQueue);
  const day = counts.find(({ scope }) => scope === 'day');
  return (day?.used.videos ?? 0) + (day?.reserved.videos ?? 0);
}

/** Soon, for a service that has every video at once. */
const polling = { min: '1s', max: '1s' };

const endOf = (input: JobInput) =>
  videos.execute({ ...input, polling }).then(
    () => 'succeeded',
    (error: unknown) => (isVideoFailure(error) ? error.type : String(error)),
  );

test(`a cap of ${CAP} videos a day refuses the fourth before its POST, with two workers and ${CALLERS} callers racing`, async () => {
  const prompts = Array.from({ length: CALLERS }, (_, index) => `fox ${index}`);
  const ends = await Promise.all(prompts.map((prompt) => endOf({ request: { prompt } })));
  expect(ends.filter((end) => end === 'succeeded')).toHaveLength(CAP);
  expect(ends.filter((end) => end === 'CapReached')).toHaveLength(CALLERS - CAP);
  expect(postsOf(emulator)).toHaveLength(CAP);
  expect(await counted()).toBe(CAP);

  const failure = await failureOf(videos.execute({ request: { prompt: 'one more fox' } }));
  const resetsAt = `${dayOf(Date.now() + 24 * 3_600_000)}T00:00:00.000Z`;
  const terminal = new FakeTerminal({ TEMPORAL_ADDRESS: server.address });
  expect(await run(['spend', '--caps'], terminal)).toBe(0);
  expect(terminal.stdout).toBe(
    `Task queue ${taskQueue}:\n  the daily cap of 3 videos: 0 videos left, 3 videos used, 0 videos reserved; it resets at ${resetsAt}\n`,
  );
  expect(failure).toMatchObject({
    message: `A cap does not allow this video: the daily cap of 3 videos is reached; it resets at ${resetsAt}. Start it again when the cap resets, or raise the cap: videogen spend --caps shows what is left.`,
    details: { cap: 'day.videos', capLeft: 0, capResetsAt: resetsAt },
  });
});

test('workers killed between the POST and its answer leave their videos counted', async () => {
  // An operator who ends the ledger begins to count anew.
  await client.workflow.getHandle(ledgerIdOf(taskQueue)).terminate();
  const before = postsOf(emulator).length;
  emulator.next('submit', { kind: 'hang' }, { kind: 'hang' });
  const lost = await Promise.all(['lost 1', 'lost 2'].map((prompt) => videos.start({ request: { prompt } })));
  while (postsOf(emulator).length < before + lost.length) await pause();
  await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));

  workers = [await startWorker()];
  const prompts = Array.from({ length: 8 }, (_, index) => `later ${index}`);
  const ends = await Promise.all(prompts.map((prompt) => endOf({ request: { prompt } })));
  expect(ends.filter((end) => end === 'succeeded')).toHaveLength(CAP - lost.length);
  expect(postsOf(emulator)).toHaveLength(before + CAP);
  expect(await counted()).toBe(CAP);
});

/** What a sample of a running chaos found wrong. A video is counted before it is paid for, so the count is read last. */
async function underCounted(paidBefore: number): Promise<string[]> {
  const paid = emulator.generations().length - paidBefore;
  // Without a worker nobody answers.
  const count = await client.withDeadline(Date.now() + 2_000, counted).catch(() => undefined);
  return count !== undefined && count < paid ? [`${count} counted, ${paid} paid`] : [];
}

/** Jobs that race for a cap while workers are killed and answers get lost, and an operator decides about lost submits. */
async function chaos(seed: string): Promise<void> {
  await Promise.all(workers.splice(0).map((worker) => worker.kill('SIGKILL')));
  await client.workflow.getHandle(ledgerIdOf(taskQueue)).terminate();
  const paidBefore = emulator.generations().length;
  const plan = chaosPlan(seed);
  emulator.next('submit', ...plan.submitFaults);
  const over = new AbortController();
  const kills = killWorkers(plan.lives, {
    start: () => startWorker({ VIDEOGEN_CAPS: join(folder, 'chaos.yaml') }),
    posts: () => postsOf(emulator).length,
    signal: over.signal,
  });
  const findTask = (workflowId: string) =>
    emulator.generations().find(({ request }) => `chaos ${request.prompt}` === workflowId)?.taskId;
  const operator = operate({ client, videos, taskQueue, findTask, signal: over.signal });
  const flaws: string[] = [];
  const watching = (async () => {
    for (; !over.signal.aborted; await pause()) flaws.push(...(await underCounted(paidBefore)));
  })();
  const ends = await Promise.all(
    plan.jobs.map(async ({ prompt, startAtMs, onLostSubmit }) => {
      await sleep(startAtMs);
      const job = await videos.start(
        { request: { prompt }, onLostSubmit, polling },
        { workflowId: `chaos ${prompt}` },
      );
      return job.result().then(
        () => 'succeeded',
        (error: unknown) => (isVideoFailure(error) ? error.type : String(error)),
      );
    }),
  );
  await kills.over;
  over.abort();
  await Promise.allSettled([operator, watching]);
  flaws.push(...(await underCounted(paidBefore)));
  expect(flaws).toEqual([]);
  expect(new Set(ends)).toEqual(new Set(['succeeded', 'CapReached']));
  expect(emulator.generations().length - paidBefore).toBeLessThanOrEqual(CHAOS_CAP);
  expect(await counted()).toBeLessThanOrEqual(CHAOS_CAP);
}

testAtNight(
  `with workers killed at random times the count is never below what was paid, ${REPLAY}`,
  () => chaos(`caps ${SEED}`),
  600_000,
);
