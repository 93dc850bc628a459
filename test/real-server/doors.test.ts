import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { createVideoWorker } from '../../src/worker/video-worker';
import { captureLogs } from '../support/logs';
import {
  killLeftoverWorkers,
  spawnWorker,
  startWorkerProcess,
  type WorkerProcess,
} from '../support/worker-process';
import { failureOf, pause } from '../support/world';

const request = { prompt: 'A red fox' };
const polling = { min: '1s', max: '1s' };
const taskQueue = 'doors';

let env: VideoTestEnvironment;
let folder: string;
let settings: Record<string, string>;
let videos: VideoClient;
let worker: WorkerProcess;

beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, apiKey: 'sk-doors', videoBytes: 64 * 1024 },
  });
  folder = await mkdtemp(join(tmpdir(), 'videogen-doors-'));
  settings = {
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEO_API_BASE_URL: env.emulator.url,
    VIDEO_API_KEY: env.emulator.apiKey,
    VIDEOGEN_TASK_QUEUE: taskQueue,
    VIDEOGEN_STORAGE: folder,
  };
  videos = await createVideoClient({ env: settings });
  worker = await startWorkerProcess(settings);
});
afterAll(async () => {
  await killLeftoverWorkers();
  await videos.close();
  await env.teardown();
  await rm(folder, { recursive: true, force: true });
});

test('worker and client can be configured by the environment alone', async () => {
  const { video } = await videos.execute({ request, polling });
  expect(video.uri).toContain(folder);
  expect(worker.output()).toContain('submitted');
  expect(worker.output()).not.toContain('sk-doors');
});

test('a worker that shuts down waits for the answer to a request in flight, and the job continues on another worker', async () => {
  const paidBefore = env.emulator.generations().length;
  env.emulator.next('submit', { kind: 'late', ms: 3_000 });
  const job = await videos.start({ request, polling });
  while (env.emulator.generations().length === paidBefore) await pause();
  expect(await worker.kill('SIGTERM')).toBe(0);

  worker = await startWorkerProcess(settings);
  const { taskId } = await job.result();
  expect(env.emulator.generations().slice(paidBefore)).toMatchObject([{ taskId }]);
});

test('refused submits are retried on a real server too, and not treated as lost', async () => {
  const paidBefore = env.emulator.generations().length;
  env.emulator.next('submit', { kind: 'rate-limited', retryAfter: 1 }, { kind: 'server-error' });
  const job = await videos.start({ request, polling });
  const { taskId } = await job.result();
  expect(await job.taskId()).toBe(taskId);
  expect(env.emulator.generations()).toHaveLength(paidBefore + 1);
  expect(env.emulator.scriptIsSpent()).toBe(true);
});

test('an ended job without a task says why there is none', async () => {
  env.emulator.next('submit', { kind: 'refused', status: 401, message: 'no such key' });
  const refused = await videos.start({ request });
  await failureOf(refused.result());
  expect(await failureOf(refused.taskId())).toMatchObject({ type: 'Unauthorized' });
});

test('a fatal error of the worker ends its process', async () => {
  const lost = spawnWorker({ ...settings, TEMPORAL_NAMESPACE: 'no-such-namespace' });
  expect(await lost.ended).toBe(1);
  expect(lost.output()).toContain('no-such-namespace');
});

test('client and worker report an unreachable Temporal server in one sentence', async () => {
  const nowhere = { ...settings, TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const sentence =
    /^Temporal cannot be reached at 127\.0\.0\.1:1 \(.+\): start a server there, or set TEMPORAL_ADDRESS to a running server\.$/;
  for (const connect of [createVideoClient, createVideoWorker]) {
    expect(await failureOf(connect({ env: nowhere }))).toMatchObject({
      message: expect.stringMatching(sentence),
    });
  }
});

test('an invalid request is refused before anything is started', async () => {
  const refused = await failureOf(
    videos.start({ request: { prompt: 'x', duration: 11 } }, { workflowId: 'wrong' }),
  );
  expect(refused).toMatchObject({
    type: 'InvalidRequest',
    message: expect.stringContaining('duration must be at most 10'),
  });
  await expect(env.temporal.client.workflow.getHandle('wrong').describe()).rejects.toThrow(/not found/);
});
