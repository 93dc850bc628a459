import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVideoClient } from '../../src/client/video-client';
import { type BatchProgress, type BatchResult, parseResults } from '../../src/contract/batch';
import type { VideoRequest } from '../../src/contract/request';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { historiesOf } from '../support/history';
import { captureLogs } from '../support/logs';
import { reset } from '../support/reset';
import { shortHistories } from '../support/short-histories';
import { failureOf, inWorld, pause, quickWorkflows, untilItems, untilProgress } from '../support/world';

const EVERY_SECOND = { min: '1s', max: '1s' };

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev' });
});
afterAll(() => env.teardown());

const requests = (count: number): VideoRequest[] =>
  Array.from({ length: count }, (_, index) => ({ prompt: `Fox ${index + 1}` }));

async function tasksOf({ results }: BatchResult): Promise<(string | false)[]> {
  const lines = parseResults(await readFile(fileURLToPath(results.uri), 'utf8'));
  return lines.map((entry) => entry.outcome === 'succeeded' && entry.taskId);
}

test('a batch that is reset to its beginning keeps its tasks, and pays for none again', async () => {
  await inWorld(env, { jobTimeMs: 6_000 }, async ({ emulator, videos }) => {
    const batch = await videos.startBatch({ requests: requests(4), window: 3, polling: EVERY_SECOND });
    await untilItems(env, batch, 'waiting', 3);
    const paid = emulator.generations().map(({ taskId }) => taskId);
    await reset(env.temporal.client, batch);
    const result = await batch.result();

    expect(result).toMatchObject({ items: 4, succeeded: 4, failed: 0 });
    expect(emulator.generations()).toHaveLength(4);
    expect(await tasksOf(result)).toEqual(expect.arrayContaining(paid));
  });
});

test('a batch that is reset after all of its items have started joins them, and pays for none again', async () => {
  await inWorld(env, { jobTimeMs: 6_000 }, async ({ emulator, videos }) => {
    const batch = await videos.startBatch({ requests: requests(3), polling: EVERY_SECOND });
    await untilItems(env, batch, 'waiting', 3);
    await reset(env.temporal.client, batch, { toLast: true });
    expect(await batch.result()).toMatchObject({ items: 3, succeeded: 3, failed: 0 });
    expect(emulator.generations()).toHaveLength(3);
  });
});

test('many wrong decisions about a held item do not keep the right one from it', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'cut-body' });
    const batch = await videos.startBatch({ requests: requests(1), polling: EVERY_SECOND });
    const [name = ''] = await untilItems(env, batch, 'needs-decision', 1);
    const item = videos.handle(name);
    const wrong = Array.from({ length: 30 }, (_, index) =>
      failureOf(item.decideSubmit({ decision: 'adopt', taskId: `no-such-task-${index}` })),
    );
    expect(await Promise.all(wrong)).toHaveLength(30);
    const taskId = emulator.generations()[0]?.taskId ?? '';
    await item.decideSubmit({ decision: 'adopt', taskId });
    expect(await batch.result()).toMatchObject({ items: 1, succeeded: 1 });
    expect(emulator.generations()).toHaveLength(1);
  });
});

test('items outlive a terminated batch, and the batch run again joins those that run, are held, or have ended', async () => {
  await inWorld(env, { jobTimeMs: 3_000 }, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'cut-body' });
    const start = () =>
      videos.startBatch(
        { requests: requests(6), window: 2, polling: EVERY_SECOND },
        { workflowId: 'terminated' },
      );
    const first = await start();
    const [held = ''] = await untilItems(env, first, 'needs-decision', 1);
    await untilProgress(first, ({ succeeded }) => succeeded >= 1);
    await env.temporal.client.workflow.getHandle('terminated').terminate('a test');
    const paid = emulator.generations().length;

    const second = await start();
    // The item told the run that is gone.
    await untilProgress(second, ({ running }) => running.some(({ name, isHeld }) => name === held && isHeld));
    await untilProgress(second, ({ succeeded }) => succeeded >= 3);
    const lost = emulator.generations().find(({ request }) => request.prompt === `Fox ${held.slice(-1)}`);
    await videos.handle(held).decideSubmit({ decision: 'adopt', taskId: lost?.taskId ?? '' });
    const result = await second.result();
    expect(result).toMatchObject({ items: 6, succeeded: 6, failed: 0 });
    expect(paid).toBeLessThan(6);
    expect(emulator.generations()).toHaveLength(6);
    expect((await tasksOf(result)).sort()).toEqual(
      emulator
        .generations()
        .map(({ taskId }) => taskId)
        .sort(),
    );
  });
});

test('a cancelled batch cancels the items that it joined too, and lists the task of each', async () => {
  await inWorld(env, { jobTimeMs: 60_000 }, async ({ emulator, videos, storageFolder }) => {
    const start = () => videos.startBatch({ requests: requests(2) }, { workflowId: 'cancelled-later' });
    await untilItems(env, await start(), 'waiting', 2);
    await env.temporal.client.workflow.getHandle('cancelled-later').terminate('a test');
    const again = await start();
    await untilItems(env, again, 'waiting', 2);
    await again.cancel();
    await failureOf(again.result());
    for (const item of [1, 2])
      expect(await videos.find(`cancelled-later-${item}`)).toMatchObject({ state: 'cancelled' });
    const lines = parseResults(
      await readFile(join(storageFolder, 'batches/cancelled-later/results.jsonl'), 'utf8'),
    );
    const tasks = lines.map((line) => line.outcome === 'failed' && line.details.taskId);
    expect(tasks.sort()).toEqual(
      emulator
        .generations()
        .map(({ taskId }) => taskId)
        .sort(),
    );
  });
});

test('held items stay held when their batch continues as new, and are decided by their own names', async () => {
  const worker = { workflowBundle: shortHistories() };
  await inWorld(env, { jobTimeMs: 0, worker }, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'cut-body' });
    const batch = await videos.startBatch(
      { requests: requests(20), window: 2, polling: EVERY_SECOND },
      { workflowId: 'held-long' },
    );
    const { running } = await untilProgress(batch, ({ succeeded }) => succeeded === 19);
    expect(running).toEqual([expect.objectContaining({ isHeld: true })]);
    expect((await historiesOf(env.temporal.client, 'held-long')).length).toBeGreaterThan(1);
    const { name = '', item = 0 } = running[0] ?? {};
    const lost = emulator.generations().find(({ request }) => request.prompt === `Fox ${item}`);
    await videos.handle(name).decideSubmit({ decision: 'adopt', taskId: lost?.taskId ?? '' });
    expect(await batch.result()).toMatchObject({ items: 20, succeeded: 20, failed: 0 });
    expect(emulator.generations()).toHaveLength(20);
  });
}, 120_000);

test('an edited requests file is refused with a sentence, and loses no lost submit', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, storageFolder }) => {
    const storage = createFileStorage(storageFolder);
    const lines = (count: number) =>
      requests(count)
        .map((one) => `${JSON.stringify(one)}\n`)
        .join('');
    await storage.write('in.jsonl', lines(1), 'text/plain');
    emulator.next('submit', { kind: 'cut-body' });
    const start = () => videos.startBatch({ requestsFrom: 'in.jsonl' }, { workflowId: 'edited' });
    await untilItems(env, await start(), 'needs-decision', 1);
    await env.temporal.client.workflow.getHandle('edited').terminate('a test');
    await storage.write('in.jsonl', lines(2), 'text/plain');
    const failure = await failureOf((await start()).result());
    expect(String(failure)).toContain('the name was used for other requests');
    expect(await videos.handle('edited-1').progress()).toMatchObject({ phase: 'needs-decision' });

    await storage.write('in.jsonl', lines(1), 'text/plain');
    const taskId = emulator.generations()[0]?.taskId ?? '';
    await videos.handle('edited-1').decideSubmit({ decision: 'adopt', taskId });
    expect(await (await start()).result()).toMatchObject({ items: 1, succeeded: 1 });
    expect(emulator.generations()).toHaveLength(1);
  });
});

test('items are listed with their batch', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ videos }) => {
    const batch = await videos.startBatch(
      { requests: requests(2), polling: EVERY_SECOND },
      { workflowId: 'listed' },
    );
    await batch.result();
    const items = [];
    for await (const job of videos.list({ batch: 'listed' })) items.push(job);
    expect(items.map(({ workflowId, parentId, madeFor }) => [workflowId, parentId, madeFor]).sort()).toEqual([
      ['listed-1', 'listed', 'batch'],
      ['listed-2', 'listed', 'batch'],
    ]);
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
