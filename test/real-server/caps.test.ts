import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { readLedger } from '../../src/client/read-ledger';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { isVideoFailure, type JobInput } from '../../src/contract';
import { dayEndsAt, dayOf } from '../../src/contract/caps';
import { ledgerIdOf } from '../../src/contract/names';
import { type Emulator, startEmulator } from '../../src/emulator';
import { type DevServer, startDevServer } from '../../src/temporal-server';
import { postsOf } from '../support/chaos-audit';
import { shortHistories } from '../support/short-histories';
import { killLeftoverWorkers, startWorkerProcess, type WorkerProcess } from '../support/worker-process';
import { failureOf, pause } from '../support/world';

const CAP = 3;
const CALLERS = 40;

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
  const { counts } = (await readLedger(client, taskQueue)) ?? { counts: [] };
  const day = counts.find(({ scope }) => scope === 'day');
  return (day?.used.videos ?? 0) + (day?.reserved.videos ?? 0);
}

const endOf = (input: JobInput) =>
  videos.execute(input).then(
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
  const resetsAt = dayEndsAt(dayOf(Date.now()));
  expect(failure).toMatchObject({
    message: `A cap does not allow this video: the daily cap of 3 videos is reached; it resets at ${resetsAt}. Nothing was paid. Start it again when the cap resets, or raise the cap: videogen caps shows what is left.`,
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
