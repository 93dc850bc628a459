import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVideoClient } from '../../src/client/video-client';
import { parseResults } from '../../src/contract/batch';
import type { Emulator } from '../../src/testing';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { captureLogs } from '../support/logs';
import { killLeftoverWorkers, startWorkerProcess } from '../support/worker-process';
import { untilProgress } from '../support/world';

const ITEMS = 40;
const QUEUE = 'killed-batch';
/** Stored videos at which the worker is killed. */
const KILLED_AT = [5, 20];

let env: VideoTestEnvironment;
let emulator: Emulator;
let folder: string;
beforeAll(async () => {
  captureLogs();
  folder = await mkdtemp(join(tmpdir(), 'videogen-killed-batch-'));
  [env, emulator] = await Promise.all([
    createVideoTestEnvironment({ server: 'dev' }),
    startEmulator({ jobTimeMs: 1_000, videoBytes: 64 * 1024, idempotencyKeys: 'honoured' }),
  ]);
});
afterAll(async () => {
  await killLeftoverWorkers();
  await Promise.all([env.teardown(), emulator.close()]);
  await rm(folder, { recursive: true });
});

const startWorker = () =>
  startWorkerProcess({
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEO_API_BASE_URL: emulator.url,
    VIDEO_API_KEY: emulator.apiKey,
    VIDEOGEN_TASK_QUEUE: QUEUE,
    VIDEOGEN_STORAGE: folder,
  });

test('a batch whose worker is killed twice stores each video and pays for each once', async () => {
  const videos = await createVideoClient({ client: env.temporal.client, taskQueue: QUEUE });
  let worker = await startWorker();
  const batch = await videos.startBatch({
    requests: Array.from({ length: ITEMS }, (_, index) => ({ prompt: `Fox ${index + 1}` })),
    window: 8,
    // The service honours idempotency keys, so submits lost with a killed worker may be sent again.
    onLostSubmit: 'resubmit',
    polling: { min: '1s', max: '1s' },
  });
  for (const stored of KILLED_AT) {
    await untilProgress(batch, ({ succeeded }) => succeeded >= stored);
    await worker.kill('SIGKILL');
    worker = await startWorker();
  }
  const { results, ...counts } = await batch.result();
  expect(counts).toMatchObject({ items: ITEMS, succeeded: ITEMS, failed: 0 });
  const lines = parseResults(await readFile(fileURLToPath(results.uri), 'utf8'));
  const paid = emulator.generations().map(({ taskId }) => taskId);
  expect(paid).toHaveLength(ITEMS);
  expect(lines.map((line) => line.outcome === 'succeeded' && line.taskId).sort()).toEqual(paid.sort());
}, 240_000);
