import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { killLeftoverWorkers, spawnWorker, startWorkerProcess } from '../support/worker-process';
import { failureOf, pause, untilProgress } from '../support/world';

const request = { prompt: 'A red fox' };
const taskQueue = 'doors';

let env: VideoTestEnvironment;
let folder: string;
let settings: Record<string, string>;
let videos: VideoClient;

beforeAll(async () => {
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 1_000, apiKey: 'sk-doors' },
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
});
afterEach(killLeftoverWorkers);
afterAll(async () => {
  await videos.close();
  await env.teardown();
  await rm(folder, { recursive: true, force: true });
});

test('worker and client can be configured by the environment alone', async () => {
  const worker = await startWorkerProcess(settings);
  const { video } = await videos.execute({ request, polling: { min: '1s' } });
  expect(video.uri).toContain(folder);
  expect(await worker.kill('SIGTERM')).toBe(0);
  expect(worker.output()).toContain('submitted');
  expect(worker.output()).not.toContain('sk-doors');
});

test('a worker that shuts down waits for the answer to a request in flight, and the job continues on another worker', async () => {
  const paidBefore = env.emulator.generations().length;
  env.emulator.next('submit', { kind: 'late', ms: 3_000 });
  const worker = await startWorkerProcess(settings);
  const job = await videos.start({ request, polling: { min: '1s' } });
  while (env.emulator.generations().length === paidBefore) await pause();
  expect(await worker.kill('SIGTERM')).toBe(0);

  await startWorkerProcess(settings);
  const { taskId } = await job.result();
  expect(env.emulator.generations().slice(paidBefore)).toMatchObject([{ taskId }]);
});

test('a job is joined by its name while it runs and after it ended, and never paid for again', async () => {
  await startWorkerProcess(settings);
  const paidBefore = env.emulator.generations().length;
  env.emulator.next('submit', { kind: 'refused', status: 400, message: 'not today' });
  await expect(videos.execute({ request }, { workflowId: 'refused' })).rejects.toMatchObject({
    type: 'InvalidRequest',
    message: expect.stringContaining('not today'),
  });
  expect(env.emulator.generations()).toHaveLength(paidBefore);

  const job = await videos.start({ request, polling: { min: '1s' } }, { workflowId: 'fox' });
  const joined = await videos.start({ request }, { workflowId: 'fox' });
  const result = await job.result();
  expect(await joined.result()).toEqual(result);
  expect(await videos.execute({ request }, { workflowId: 'fox' })).toEqual(result);
  expect(env.emulator.generations()).toHaveLength(paidBefore + 1);

  const other = videos.start({ request: { ...request, duration: 5 } }, { workflowId: 'fox' });
  expect(await failureOf(other)).toMatchObject({
    type: 'InvalidRequest',
    message: expect.stringContaining('fox is the name of another job (it differs in duration)'),
  });
});

test('refused submits are retried on a real server too, and not treated as lost', async () => {
  await startWorkerProcess(settings);
  const paidBefore = env.emulator.generations().length;
  env.emulator.next('submit', { kind: 'rate-limited', retryAfter: 1 }, { kind: 'server-error' });
  await videos.execute({ request, polling: { min: '1s' } });
  expect(env.emulator.generations()).toHaveLength(paidBefore + 1);
  expect(env.emulator.scriptIsSpent()).toBe(true);
});

test('an ended job still returns its task id, or why there is none', async () => {
  await startWorkerProcess(settings);
  const job = await videos.start({ request, polling: { min: '1s' } });
  const { taskId } = await job.result();
  expect(await job.taskId()).toBe(taskId);
  env.emulator.next('submit', { kind: 'refused', status: 401, message: 'no such key' });
  const refused = await videos.start({ request });
  await failureOf(refused.result());
  expect(await failureOf(refused.taskId())).toMatchObject({ type: 'Unauthorized' });
});

test('the server has the summary of a job from the start, and its task id in the memo', async () => {
  await startWorkerProcess(settings);
  const job = await videos.start({ request: { prompt: 'A red fox', resolution: '720p', duration: 5 } });
  await untilProgress(job, ({ phase }) => phase === 'waiting');
  const description = await env.temporal.client.workflow.getHandle(job.workflowId).describe();
  expect(await description.staticSummary()).toBe('text to video, 720p 5 s: "A red fox"');
  expect(description.memo).toMatchObject({ taskId: await job.taskId() });
  await job.cancel();
  expect(await failureOf(job.result())).toMatchObject({
    type: 'Cancelled',
    taskId: description.memo?.taskId,
  });
});

test.each([
  ['VIDEO_API_BASE_URL', undefined, /^VIDEO_API_BASE_URL is not set: .+\.$/],
  ['VIDEO_API_KEY', 'two words', /^VIDEO_API_KEY holds a space.+\.$/],
  ['VIDEO_API_KEY', undefined, /^VIDEO_API_KEY is not set: .+\.$/],
])('a worker with a wrong %s (%s) ends with one line', async (name, value, line) => {
  const { [name]: _, ...rest } = settings;
  const worker = spawnWorker(value === undefined ? rest : { ...rest, [name]: value });
  expect(await worker.ended).toBe(1);
  expect(worker.output().trim()).toMatch(line);
});

test('a fatal error of the worker ends its process', async () => {
  const worker = spawnWorker({ ...settings, TEMPORAL_NAMESPACE: 'no-such-namespace' });
  expect(await worker.ended).toBe(1);
  expect(worker.output()).toContain('no-such-namespace');
});

test('client and worker report an unreachable Temporal server in one sentence', async () => {
  const nowhere = { ...settings, TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const sentence =
    /^Temporal cannot be reached at 127\.0\.0\.1:1 \(.+\): start a server there, or set TEMPORAL_ADDRESS to a running server\.$/;
  expect(await failureOf(createVideoClient({ env: nowhere }))).toMatchObject({
    message: expect.stringMatching(sentence),
  });
  const worker = spawnWorker(nowhere);
  expect(await worker.ended).toBe(1);
  expect(worker.output().trim()).toMatch(sentence);
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
