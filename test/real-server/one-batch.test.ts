import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BatchProgress, type BatchResult, itemName, parseResults } from '../../src/contract/batch';
import type { VideoRequest } from '../../src/contract/request';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { createVideoTestEnvironment, type Emulator, type VideoTestEnvironment } from '../../src/testing';
import { historiesOf } from '../support/history';
import { captureLogs } from '../support/logs';
import { reset } from '../support/reset';
import { withConstants } from '../support/short-histories';
import { failureOf, inWorld, pause, untilItems, untilProgress } from '../support/world';

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

const paidTasks = (emulator: Emulator) =>
  emulator
    .generations()
    .map(({ taskId }) => taskId)
    .sort();

test.each([
  ['to its beginning', false],
  ['after all of its items have started', true],
])('a batch that is reset %s joins its items, and pays for none again', async (_where, toLast) => {
  await inWorld(env, { jobTimeMs: 6_000 }, async ({ emulator, videos }) => {
    const batch = await videos.startBatch({ requests: requests(3), polling: EVERY_SECOND });
    await untilItems(env, batch, 'waiting', 3);
    await reset(env.temporal.client, batch, { toLast });
    const result = await batch.result();
    expect(result).toMatchObject({ items: 3, succeeded: 3, failed: 0 });
    expect((await tasksOf(result)).sort()).toEqual(paidTasks(emulator));
    expect(emulator.generations()).toHaveLength(3);
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
    expect(tasks.sort()).toEqual(paidTasks(emulator));
  });
});

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
  await inWorld(env, { jobTimeMs: 0, storage }, async ({ videos }) => {
    const batch = await videos.startBatch({ requests: requests(1), polling: EVERY_SECOND });
    while (!isWriting) await pause();
    await batch.cancel();
    release();
    // Every item had ended, so there was nothing left to cancel.
    const result = await batch.result();
    expect(result).toMatchObject({ items: 1, succeeded: 1, failed: 0 });
    expect(await tasksOf(result)).toEqual([expect.stringMatching(/^task_/)]);
  });
  await rm(folder, { recursive: true });
});

test('a batch of large requests in a file continues as new while items are held, and each is resubmitted', async () => {
  // One run of the batch may have hardly more than the requests of three items.
  const worker = { workflowBundle: withConstants({ LARGEST_BATCH_HISTORY_BYTES: 500_000 }) };
  const options = { jobTimeMs: 0, idempotencyKeys: 'honoured', worker } as const;
  await inWorld(env, options, async ({ emulator, videos, storageFolder, storedFiles }) => {
    const all = requests(5).map((one) => ({
      ...one,
      image_url: `data:image/png;base64,${'A'.repeat(150_000)}`,
    }));
    emulator.next('submit', ...all.map(() => ({ kind: 'reset' }) as const));
    const lines = all.map((one) => `${JSON.stringify(one)}\n`).join('');
    await createFileStorage(storageFolder).write('in/foxes.jsonl', lines, 'application/x-ndjson');
    const input = { requestsFrom: 'in/foxes.jsonl', window: 20, polling: EVERY_SECOND };
    const batch = await videos.startBatch(input, { workflowId: 'large' });
    await untilProgress(batch, ({ running }) => running.filter(({ isHeld }) => isHeld).length === all.length);
    expect((await historiesOf(env.temporal.client, 'large')).length).toBeGreaterThan(1);
    const items = all.map((_, index) => videos.handle(itemName('large', index + 1)));
    await Promise.all(items.map((item) => item.decideSubmit({ decision: 'resubmit' })));
    expect(await batch.result()).toMatchObject({ items: 5, succeeded: 5, failed: 0 });
    const paid = emulator.generations().map(({ request }) => request.prompt);
    expect(paid.sort()).toEqual(all.map(({ prompt }) => prompt));
    expect((await storedFiles()).filter((name) => name.endsWith('.mp4'))).toHaveLength(all.length);
  });
});

test('for await follows a batch or a job until it has ended, or was terminated', async () => {
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

    const endless = await videos.start({ request: { prompt: 'A red fox' }, polling: { min: '1h' } });
    for await (const { phase } of endless.follow({ everyMs: 20 })) if (phase === 'waiting') break;
    const followed = (async () => {
      for await (const _ of endless.follow({ everyMs: 20 })) await pause();
    })();
    await env.temporal.client.workflow.getHandle(endless.workflowId).terminate('a test');
    await followed;
  });
});
