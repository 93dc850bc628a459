import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BatchResult, type ItemResult, parseResults } from '../../src/contract/batch';
import type { VideoRequest } from '../../src/contract/request';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { captureLogs } from '../support/logs';
import {
  failureOf,
  inWorld,
  pause,
  untilItems,
  untilProgress,
  type World,
  type WorldOptions,
} from '../support/world';

const MINUTE = 60_000;
const RARE_POLLS = { polling: { min: '30s', max: '30s' } };

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

const requests = (count: number): VideoRequest[] =>
  Array.from({ length: count }, (_, index) => ({ prompt: `Fox ${index + 1}` }));

async function resultsOf({ results }: BatchResult): Promise<ItemResult[]> {
  return parseResults(await readFile(fileURLToPath(results.uri), 'utf8'));
}

/**
 * Without skipping time, as `result()` would: between a cancelled batch and its items the test server skips to their next
 * polls, and never skips again once a poll is cancelled before a worker has taken it.
 */
async function untilEnded(workflowId: string): Promise<void> {
  const batch = env.temporal.client.workflow.getHandle(workflowId);
  while ((await batch.describe()).status.name === 'RUNNING') await pause();
}

const prompts = ({ emulator }: World) => emulator.generations().map(({ request }) => request.prompt);
const postsOf = ({ emulator }: World) => emulator.calls.filter(({ call }) => call === 'submit');

test('a batch stores a video for each request, lists its results by number, and runs no more at once than its window, whatever it is signalled', async () => {
  await inWorld(env, { jobTimeMs: MINUTE, concurrentTasks: 2 }, async (world) => {
    const batch = await world.videos.startBatch(
      { requests: requests(5), window: 2, ...RARE_POLLS },
      { workflowId: 'foxes' },
    );
    const handle = env.temporal.client.workflow.getHandle('foxes');
    for (const news of [[], [null], ['news'], [{ name: 'foxes-1', hold: {} }]])
      await handle.signal('childNews', ...news);
    const result = await batch.result();

    expect(result).toMatchObject({ items: 5, succeeded: 5, failed: 0 });
    expect(result.results.key).toBe('batches/foxes/results.jsonl');
    const results = await resultsOf(result);
    expect(results).toEqual(
      [1, 2, 3, 4, 5].map((item) =>
        expect.objectContaining({
          item,
          name: `foxes-${item}`,
          outcome: 'succeeded',
          polls: expect.any(Number),
        }),
      ),
    );
    for (const [index, entry] of results.entries()) {
      if (entry.outcome !== 'succeeded') throw new Error(entry.message);
      const video = await readFile(join(world.storageFolder, `foxes-${index + 1}.mp4`));
      expect(video.equals(await world.emulator.video(entry.taskId))).toBe(true);
    }
    // The service refuses a third task at once.
    expect(postsOf(world)).toHaveLength(5);
    expect(prompts(world).sort()).toEqual(requests(5).map(({ prompt }) => prompt));
    expect(await batch.progress()).toEqual({ items: 5, succeeded: 5, failed: 0, running: [] });
  });
});

test('a failed item is listed with its task and does not stop the rest; started again, only those are retried that failed for a fixable reason', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const { videos, emulator } = world;
    emulator.next(
      'submit',
      { kind: 'failed-task', code: 'foxes', message: 'No foxes.' },
      { kind: 'refused', status: 402, message: 'No credit.' },
    );
    const start = () => videos.startBatch({ requests: requests(3), window: 1 }, { workflowId: 'poor-once' });
    const first = await (await start()).result();
    expect(first).toMatchObject({ items: 3, succeeded: 1, failed: 2 });
    const [failed, poor, fine] = await resultsOf(first);
    expect(failed).toMatchObject({
      item: 1,
      outcome: 'failed',
      failure: 'GenerationFailed',
      details: { code: 'foxes', message: 'No foxes.', taskId: emulator.generations()[0]?.taskId },
    });
    expect(poor).toMatchObject({ item: 2, outcome: 'failed', failure: 'Unauthorized' });
    expect(fine).toMatchObject({ item: 3, outcome: 'succeeded' });

    const second = await (await start()).result();
    expect(second).toMatchObject({ items: 3, succeeded: 2, failed: 1 });
    expect((await resultsOf(second)).map(({ outcome }) => outcome)).toEqual([
      'failed',
      'succeeded',
      'succeeded',
    ]);
    expect(prompts(world).sort()).toEqual(requests(3).map(({ prompt }) => prompt));
  });
});

test('with onFailure stop, running items finish, no more are started, and the failure says so; started again, the batch continues with the rest', async () => {
  await inWorld(env, { jobTimeMs: MINUTE }, async (world) => {
    const { videos, emulator, storageFolder } = world;
    emulator.next('submit', { kind: 'refused', status: 400, message: 'No foxes.' });
    const start = () =>
      videos.startBatch(
        { requests: requests(5), window: 3, onFailure: 'stop', ...RARE_POLLS },
        { workflowId: 'stopped' },
      );
    const failure = await failureOf((await start()).result());
    expectRow(failure, 'InvalidRequest', undefined);
    expect(String(failure)).toMatch(
      /No foxes; item \d failed and the batch stopped with 2 stored and 1 failed of 5, listed in file:/,
    );
    expect(emulator.generations()).toHaveLength(2);
    const results = parseResults(
      await readFile(join(storageFolder, 'batches/stopped/results.jsonl'), 'utf8'),
    );
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['failed', 'succeeded', 'succeeded']);

    expect(await (await start()).result()).toMatchObject({ items: 5, succeeded: 4, failed: 1 });
    expect(postsOf(world)).toHaveLength(5);
  });
});

test('a cancelled batch starts no more items and lists the paid tasks; started again, it adopts those and submits the rest', async () => {
  await inWorld(env, { jobTimeMs: MINUTE }, async (world) => {
    const { videos, emulator, storageFolder } = world;
    const start = () =>
      videos.startBatch({ requests: requests(4), window: 2, ...RARE_POLLS }, { workflowId: 'given-up' });
    const first = await start();
    await untilItems(env, first, 'waiting', 2);
    await first.cancel();
    await untilEnded('given-up');
    expectRow(await failureOf(first.result()), 'Cancelled', undefined);
    const paid = emulator.generations().map(({ taskId }) => taskId);
    expect(paid).toHaveLength(2);
    const listed = parseResults(
      await readFile(join(storageFolder, 'batches/given-up/results.jsonl'), 'utf8'),
    );
    expect(listed).toEqual(
      [1, 2].map((item) =>
        expect.objectContaining({
          item,
          outcome: 'failed',
          failure: 'Cancelled',
          details: { taskId: expect.stringMatching(/^task_/) },
        }),
      ),
    );

    const result = await (await start()).result();
    expect(result).toMatchObject({ items: 4, succeeded: 4, failed: 0 });
    expect(emulator.generations()).toHaveLength(4);
    const tasks = (await resultsOf(result)).map((entry) => entry.outcome === 'succeeded' && entry.taskId);
    expect(tasks.slice(0, 2).sort()).toEqual(paid.sort());
  });
});

test('an item whose submit is lost waits for a decision and frees its slot, one that is cancelled is listed so, and the rest goes on', async () => {
  await inWorld(env, { jobTimeMs: MINUTE }, async ({ videos, emulator }) => {
    emulator.next('submit', { kind: 'cut-body' });
    const batch = await videos.startBatch(
      { requests: requests(3), window: 1, ...RARE_POLLS },
      { workflowId: 'lost' },
    );
    const { running } = await untilProgress(batch, (progress) => progress.running.length === 2);
    expect(running[0]).toEqual({ item: 1, name: 'lost-1', isHeld: true });
    const second = videos.handle('lost-2');
    const cancelled = await untilProgress(second, ({ phase }) => phase === 'waiting');
    await expect(second.decideSubmit({ decision: 'resubmit' })).rejects.toThrow(
      'No decision is needed: the job is',
    );
    await second.cancel();
    const adopted = emulator.generations()[0]?.taskId ?? '';
    await videos.handle('lost-1').decideSubmit({ decision: 'adopt', taskId: adopted });

    const result = await batch.result();
    expect(result).toMatchObject({ items: 3, succeeded: 2, failed: 1 });
    expect(await resultsOf(result)).toMatchObject([
      { item: 1, taskId: adopted },
      { item: 2, failure: 'Cancelled', details: { taskId: cancelled.taskId } },
      { item: 3, outcome: 'succeeded' },
    ]);
    expect(emulator.generations()).toHaveLength(3);
  });
});

test('an item joins the job of its name that a client has made, and never takes the video of another request', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const { videos } = world;
    const { taskId } = await videos.execute({ request: { prompt: 'Fox 1' } }, { workflowId: 'known-1' });
    await videos.execute({ request: { prompt: 'A stranger' } }, { workflowId: 'known-2' });
    const batch = await videos.startBatch({ requests: requests(2) }, { workflowId: 'known' });
    const [joined, refused] = await resultsOf(await batch.result());
    expect(joined).toMatchObject({ outcome: 'succeeded', taskId });
    expect(refused).toMatchObject({ outcome: 'failed', failure: 'InvalidRequest' });
    expect(refused?.outcome === 'failed' && refused.message).toContain(
      'known-2 is the name of another job (it differs in prompt)',
    );
    expect(prompts(world).sort()).toEqual(['A stranger', 'Fox 1']);
  });
});

test('when every submit is lost, the batch submits at most two windows of items', async () => {
  await inWorld(env, {}, async (world) => {
    world.emulator.next('submit', ...Array.from({ length: 9 }, () => ({ kind: 'reset' }) as const));
    const batch = await world.videos.startBatch(
      { requests: requests(9), window: 2 },
      { workflowId: 'all-lost' },
    );
    await untilItems(env, batch, 'needs-decision', 4);
    await env.temporal.sleep('1h');
    expect(await batch.progress()).toMatchObject({ running: { length: 4 } });
    expect(postsOf(world)).toHaveLength(4);
    await batch.cancel();
    await untilEnded('all-lost');
  });
});

/** A service with prices, which charges less than the estimate, and a worker that counts. */
const PAID = {
  profile: {
    name: 'Ark',
    prices: { currency: 'USD', table: [{ resolution: '720p', perSecond: 0.1 }, { perVideo: 0.3 }] },
  },
  charge: 0.45,
  caps: {},
} satisfies WorldOptions;
const priced = { prompt: 'A red fox', resolution: '720p', duration: 5 } as const;
const usd = (amount: number) => ({ amount, currency: 'USD' });

test('a batch says what it will cost before its first submit, and at the end what it did', async () => {
  await inWorld(env, { ...PAID, jobTimeMs: MINUTE }, async ({ videos, emulator }) => {
    const requests = [
      priced,
      { prompt: 'A hare', resolution: '480p' } as const,
      { prompt: 'A lynx' },
      priced,
    ];
    emulator.next('submit', { kind: 'refused', status: 400, message: 'No foxes.' });
    const start = () => videos.startBatch({ requests, window: 1 }, { workflowId: 'costs' });
    const batch = await start();
    const estimated = { sums: [usd(1.3)], unknown: 1 };
    const { cost } = await untilProgress(batch, ({ running }) => running.length > 0);
    expect(cost).toEqual({ estimated });

    // The first was never paid for.
    const result = await batch.result();
    expect(result.cost).toEqual({ estimated, spent: { sums: [usd(1.35)], unknown: 0 } });
    const items = await resultsOf(result);
    expect(items.map((item) => item.cost?.charged)).toEqual([undefined, usd(0.45), usd(0.45), usd(0.45)]);
    expect(items[1]?.cost).toEqual({ estimated: usd(0.3), charged: usd(0.45), service: 'Ark' });

    const again = await (await start()).result();
    expect(again.cost).toEqual(result.cost);
  });
});

test('a batch stops at its cap, in the order of its items, and goes on from there under a higher one', async () => {
  await inWorld(env, { ...PAID, jobTimeMs: 0 }, async (world) => {
    const start = (videos: number) =>
      world.videos.startBatch(
        { requests: requests(5), window: 1, cap: { videos }, ...RARE_POLLS },
        { workflowId: 'capped' },
      );
    const failure = await failureOf((await start(2)).result());
    expect(failure).toMatchObject({ type: 'CapReached', details: { cap: 'batch.videos', capLeft: 0 } });
    expect(String(failure)).toContain(
      'the cap of 2 videos for this batch is reached; item 3 failed and the batch stopped with 2 stored and 1 failed of 5',
    );
    expect(prompts(world)).toEqual(['Fox 1', 'Fox 2']);

    expect(await (await start(5)).result()).toMatchObject({ items: 5, succeeded: 5, failed: 0 });
    expect(postsOf(world)).toHaveLength(5);
  });
});
