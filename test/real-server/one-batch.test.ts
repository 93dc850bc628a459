import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVideoClient } from '../../src/client/video-client';
import { type BatchProgress, parseResults, type VideoRequest } from '../../src/contract';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { activities, historyOf } from '../support/history';
import { captureLogs } from '../support/logs';
import { reset } from '../support/reset';
import { inWorld, pause, quickWorkflows, untilProgress } from '../support/world';

const EVERY_SECOND = { min: '1s', max: '1s' };

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev' });
});
afterAll(() => env.teardown());

const requests = (count: number): VideoRequest[] =>
  Array.from({ length: count }, (_, index) => ({ prompt: `Fox ${index + 1}` }));

const inPhase = (phase: string, count: number) => (progress: BatchProgress) =>
  progress.running.filter((item) => item.phase === phase).length === count;

test('a batch that is reset to its beginning keeps its tasks, and pays for none again', async () => {
  await inWorld(env, { jobTimeMs: 6_000 }, async ({ emulator, videos }) => {
    const batch = await videos.startBatch({ requests: requests(4), window: 3, polling: EVERY_SECOND });
    await untilProgress(batch, inPhase('waiting', 3));
    const paid = emulator.generations().map(({ taskId }) => taskId);
    await reset(env.temporal.client, batch);
    const result = await batch.result();

    expect(result).toMatchObject({ items: 4, succeeded: 4, failed: 0 });
    expect(emulator.generations()).toHaveLength(4);
    const results = parseResults(await readFile(fileURLToPath(result.results.uri), 'utf8'));
    const tasks = results.map((entry) => entry.outcome === 'succeeded' && entry.taskId);
    expect(tasks).toEqual(expect.arrayContaining(paid));
  });
});

test('a batch with many busy items keeps no workflow task open for a poll: their events would fail it', async () => {
  await inWorld(env, { jobTimeMs: 1_000, videoBytes: 10_000 }, async ({ emulator, videos }) => {
    const late = { kind: 'late', ms: 2_500 } as const;
    emulator.next('submit', { ...late, ms: 0 }, ...Array.from({ length: 12 }, () => late));
    const batch = await videos.startBatch({ requests: requests(44), window: 44, polling: EVERY_SECOND });
    expect(await batch.result()).toMatchObject({ succeeded: 44 });
    const history = await historyOf(env.temporal.client, batch.workflowId);
    const [first] = activities(history).filter(({ type }) => type === 'pollVideos');
    expect(first).toMatchObject({ isLocal: false });
  });
});

test('an item whose request was in flight when the batch was reset is held, because a task may exist', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    // Later than the new run checks: an earlier answer would be on record, and no decision would be needed.
    emulator.next('submit', { kind: 'late', ms: 10_000 });
    const batch = await videos.startBatch({ requests: requests(2), window: 1, polling: EVERY_SECOND });
    while (emulator.generations().length === 0) await pause();
    await reset(env.temporal.client, batch);
    const { running } = await untilProgress(batch, inPhase('needs-decision', 1));
    expect(running.find(({ hold }) => hold)?.hold?.message).toContain('its answer is not on record');
    const taskId = emulator.generations()[0]?.taskId ?? '';
    await batch.decideSubmit({ item: 1, decision: 'adopt', taskId });
    expect(await batch.result()).toMatchObject({ succeeded: 2 });
    expect(emulator.generations()).toHaveLength(2);
  });
});

test('a cancellation while the results are written loses none of them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'videogen-batch-'));
  const files = createFileStorage(folder);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isWriting = false;
  const storage: VideoStorage = {
    ...files,
    write: async (key, ...rest) => {
      isWriting ||= key.endsWith('results.jsonl');
      if (isWriting) await released;
      return files.write(key, ...rest);
    },
  };
  const worker = await env.createWorker({
    taskQueue: 'slow-storage',
    storage,
    worker: quickWorkflows(),
  });
  await worker.runUntil(async () => {
    const videos = await createVideoClient({ client: env.temporal.client, taskQueue: 'slow-storage' });
    const input = { requests: requests(1), polling: EVERY_SECOND };
    const batch = await videos.startBatch(input, { workflowId: 'slow-results' });
    while (!isWriting) await pause();
    await batch.cancel();
    release();
    // Every item had ended, so there was nothing left to cancel.
    expect(await batch.result()).toMatchObject({ items: 1, succeeded: 1, failed: 0 });
    const [result] = parseResults(await readFile(join(folder, 'batches/slow-results/results.jsonl'), 'utf8'));
    expect(result).toMatchObject({ item: 1, outcome: 'succeeded' });
  });
  await rm(folder, { recursive: true });
});

test('for await follows a batch or a job until it has ended', async () => {
  await inWorld(env, { jobTimeMs: 1_500 }, async ({ videos }) => {
    const batch = await videos.startBatch({ requests: requests(3), window: 2, polling: EVERY_SECOND });
    const all: BatchProgress[] = [];
    for await (const progress of batch.follow({ everyMs: 200 })) all.push(progress);
    expect(all.at(-1)).toMatchObject({ items: 3, succeeded: 3, running: [] });
    expect(Math.max(...all.map(({ running }) => running.length))).toBe(2);

    const job = await videos.start({ request: { prompt: 'A red fox' }, polling: EVERY_SECOND });
    const phases = new Set<string>();
    for await (const { phase } of job.follow({ everyMs: 100 })) phases.add(phase);
    expect([...phases]).toEqual(expect.arrayContaining(['waiting', 'succeeded']));
  });
});

test('a follower can break out of the loop, and a terminated job ends it', async () => {
  await inWorld(env, { jobTimeMs: 60_000 }, async ({ videos }) => {
    const job = await videos.start({ request: { prompt: 'A red fox' } });
    for await (const { phase } of job.follow({ everyMs: 20 })) if (phase === 'waiting') break;
    const followed = (async () => {
      for await (const _ of job.follow({ everyMs: 20 })) await pause();
    })();
    await env.temporal.client.workflow.getHandle(job.workflowId).terminate('a test');
    await followed;
  });
});
