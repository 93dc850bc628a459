import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BatchResult, parseResults } from '../../src/contract/batch';
import { COST_MEMO } from '../../src/contract/names';
import type { ServiceProfile } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { type HistoryEvent, historyOf } from '../support/history';
import { captureLogs } from '../support/logs';
import { shortHistories } from '../support/short-histories';
import { recordsIn } from '../support/stored-files';
import { inWorld, untilProgress, type World } from '../support/world';

const MINUTE = 60_000;
const request = { prompt: 'A red fox', duration: 5, resolution: '720p' } as const;
const usd = (amount: number) => ({ amount, currency: 'USD' });
const profile: ServiceProfile = {
  name: 'Ark',
  prices: { currency: 'USD', table: [{ resolution: '720p', perSecond: 0.1 }, { perVideo: 0.3 }] },
};
/** What is charged is less than the estimate. */
const charge = 0.45;

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

const describe = (workflowId: string) => env.temporal.client.workflow.getHandle(workflowId).describe();

async function eventsOf(workflowId: string): Promise<HistoryEvent[]> {
  return (await historyOf(env.temporal.client, workflowId)).events ?? [];
}

async function jsonAt({ storageFolder }: Pick<World, 'storageFolder'>, key: string): Promise<unknown> {
  return JSON.parse(await readFile(join(storageFolder, key), 'utf8'));
}

async function recordOf({ storageFolder }: World): Promise<unknown[]> {
  const entries = (await recordsIn(storageFolder)).filter((name) => name.startsWith('jobs/priced.'));
  return Promise.all(entries.map((name) => jsonAt({ storageFolder }, name)));
}

test('the estimate is there with the task, and what was charged beside it at the end', async () => {
  await inWorld(env, { jobTimeMs: 30 * MINUTE, profile, charge }, async (world) => {
    const { videos, emulator } = world;
    emulator.next('submit', { kind: 'rate-limited', retryAfter: 600 });
    const job = await videos.start({ request }, { workflowId: 'priced' });
    const estimate = { estimated: usd(0.5), service: 'Ark' };
    await env.temporal.sleep(15 * MINUTE);
    const waiting = await untilProgress(job, ({ phase }) => phase === 'waiting');
    expect(waiting.cost).toEqual(estimate);
    expect((await describe('priced')).memo).toMatchObject({ [COST_MEMO]: estimate });

    const cost = { ...estimate, charged: usd(charge) };
    const result = await job.result();
    expect(result.cost).toEqual(cost);
    expect((await job.progress()).cost).toEqual(cost);
    expect((await describe('priced')).memo).toMatchObject({ [COST_MEMO]: cost });
    expect(await jsonAt(world, 'priced.mp4.json')).toMatchObject({ cost });
    expect(await recordOf(world)).toMatchObject([
      { event: 'sending', cost: estimate, at: expect.stringMatching(/^\d{4}-/) },
      { event: 'refused' },
      { event: 'sending', cost: estimate },
      { event: 'task', cost: estimate },
      { event: 'stored', cost },
    ]);
    expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(2);
    const history = await eventsOf('priced');
    expect(history.filter((event) => event.workflowExecutionSignaledEventAttributes)).toEqual([]);
  });
});

test('a job without prices costs no event more, and what is charged is still said', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ videos }) => {
    const result = await (await videos.start({ request }, { workflowId: 'unpriced' })).result();
    expect(result).not.toHaveProperty('cost');
    const history = await eventsOf('unpriced');
    const more = history.filter(
      (event) =>
        event.workflowExecutionSignaledEventAttributes ||
        event.markerRecordedEventAttributes?.markerName === 'core_patch',
    );
    expect(more).toEqual([]);
    expect((await describe('unpriced')).memo).not.toHaveProperty(COST_MEMO);
  });
  await inWorld(env, { jobTimeMs: 0, charge }, async ({ videos }) => {
    const result = await (await videos.start({ request }, { workflowId: 'charged' })).result();
    expect(result.cost).toEqual({ charged: usd(charge) });
    expect((await describe('charged')).memo).toMatchObject({ [COST_MEMO]: { charged: usd(charge) } });
  });
});

test('a job that continues as new keeps its estimate, and its memo is not written again', async () => {
  const quick = { ...profile, polling: { min: '5s', max: '5s' } };
  const options = { jobTimeMs: 2 * MINUTE, profile: quick, worker: { workflowBundle: shortHistories() } };
  await inWorld(env, options, async ({ videos }) => {
    const job = await videos.start({ request }, { workflowId: 'continued' });
    const { runId } = await describe('continued');
    expect((await job.result()).cost).toEqual({ estimated: usd(0.5), service: 'Ark' });
    expect((await describe('continued')).runId).not.toBe(runId);
    const last = await eventsOf('continued');
    expect(last.filter((event) => event.workflowPropertiesModifiedEventAttributes)).toEqual([]);
  });
});

test('a batch says what it will cost before its first submit, and at the end what it did', async () => {
  await inWorld(env, { jobTimeMs: MINUTE, profile, charge }, async ({ videos, emulator }) => {
    const requests = [
      request,
      { prompt: 'A hare', resolution: '480p' } as const,
      { prompt: 'A lynx' },
      request,
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
    const items = parseResults(await readFile(fileURLToPath(result.results.uri), 'utf8'));
    expect(items.map((item) => item.cost?.charged)).toEqual([undefined, usd(0.45), usd(0.45), usd(0.45)]);
    expect(items[1]?.cost).toEqual({ estimated: usd(0.3), charged: usd(0.45), service: 'Ark' });

    const again: BatchResult = await (await start()).result();
    expect(again.cost).toEqual(result.cost);
  });
});
