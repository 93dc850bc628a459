import type { VideoBatch } from '../../src/client/video-job';
import { type BatchInput, itemName } from '../../src/contract/batch';
import type { VideoRequest } from '../../src/contract/request';
import { LARGEST_REQUEST_BYTES } from '../../src/contract/sizes';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { failureOf, inWorld, untilProgress, type World } from '../support/world';

jest.setTimeout(180_000);

const KILOBYTE = 1_000;
const FILE = 'in/foxes.jsonl';

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev' });
});
afterAll(() => env.teardown());

const image = (kilobytes: number) => `data:image/png;base64,${'A'.repeat(kilobytes * KILOBYTE)}`;

const requests = (count: number, kilobytes: number): VideoRequest[] =>
  Array.from({ length: count }, (_, index) => ({
    prompt: `Fox ${index + 1}`,
    image_url: image(kilobytes),
    seed: index,
  }));

async function startBatch(
  { videos, storageFolder }: World,
  { from, all }: { from: 'the input' | 'a file'; all: VideoRequest[] },
): Promise<VideoBatch> {
  const options: Omit<BatchInput, 'requests' | 'requestsFrom'> = {
    window: 20,
    polling: { min: '1s', max: '1s' },
  };
  if (from === 'the input') return videos.startBatch({ ...options, requests: all });
  const lines = all.map((one) => `${JSON.stringify(one)}\n`).join('');
  await createFileStorage(storageFolder).write(FILE, lines, 'application/x-ndjson');
  return videos.startBatch({ ...options, requestsFrom: FILE });
}

/** The run of the batch. Throws when a workflow task keeps failing, which would never get further. */
async function runOf({ workflowId }: VideoBatch): Promise<string> {
  const { runId, raw } = await env.temporal.client.workflow.getHandle(workflowId).describe();
  const attempt = raw.pendingWorkflowTask?.attempt ?? 0;
  if (attempt > 2) throw new Error(`the batch is at attempt ${attempt} of one workflow task`);
  return runId;
}

async function expectEachPaidOnce({ emulator, storedFiles }: World, all: VideoRequest[]): Promise<void> {
  const paid = emulator.generations().map(({ request }) => request.prompt);
  expect(paid.sort()).toEqual(all.map(({ prompt }) => prompt).sort());
  expect((await storedFiles()).filter((name) => name.endsWith('.mp4'))).toHaveLength(all.length);
}

test('a batch of large requests in its input stores each, and pays for it once', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const all = requests(5, 150);
    const batch = await startBatch(world, { from: 'the input', all });
    expect(await batch.result()).toMatchObject({ items: 5, succeeded: 5, failed: 0 });
    await expectEachPaidOnce(world, all);
  });
});

test('a batch of large requests in a file continues as new while items are held, and each is resubmitted, all at once', async () => {
  await inWorld(env, { jobTimeMs: 0, idempotencyKeys: 'honoured' }, async (world) => {
    // Their histories are larger than one run of the batch may have.
    const all = requests(9, 700);
    world.emulator.next('submit', ...all.map(() => ({ kind: 'reset' }) as const));
    const batch = await startBatch(world, { from: 'a file', all });
    const first = await runOf(batch);
    await untilProgress(batch, ({ running }) => running.filter(({ isHeld }) => isHeld).length === all.length);
    expect(await runOf(batch)).not.toBe(first);
    const jobs = all.map((_, index) => world.videos.handle(itemName(batch.workflowId, index + 1)));
    await Promise.all(jobs.map((job) => job.decideSubmit({ decision: 'resubmit' })));
    expect(await batch.result()).toMatchObject({ items: 9, succeeded: 9, failed: 0 });
    await expectEachPaidOnce(world, all);
  });
});

/** A request with exactly this size as JSON. */
function requestOf(bytes: number) {
  const request = { prompt: 'A red fox', image_url: image(0) };
  const missing = bytes - JSON.stringify(request).length;
  return { ...request, image_url: `${request.image_url}${'A'.repeat(missing)}` };
}

test('the largest allowed request can be started, submitted in one call, joined and stored', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ videos, emulator }) => {
    const request = requestOf(LARGEST_REQUEST_BYTES);
    const { job, taskId } = await videos.submit({ request }, { workflowId: 'largest' });
    expect(await job.result()).toMatchObject({ taskId });
    const joined = await videos.start({ request }, { workflowId: 'largest' });
    expect(await joined.result()).toMatchObject({ taskId });
    const other = { ...request, image_url: `${request.image_url.slice(0, -1)}B` };
    await expect(videos.start({ request: other }, { workflowId: 'largest' })).rejects.toThrow('image_url');
    expect(emulator.generations()).toHaveLength(1);
  });
});

test('a larger request is refused with its size and the limit, by the client and by the workflow', async () => {
  await inWorld(env, {}, async ({ videos, emulator, taskQueue }) => {
    const request = requestOf(LARGEST_REQUEST_BYTES + 1);
    const sentence =
      'the request is 1.6 MB; at most 1.5 MB fit into a Temporal message: give image_url as a link';
    await expect(videos.start({ request })).rejects.toThrow(sentence);
    const { workflow } = env.temporal.client;
    const withoutClient = workflow.execute('generateVideo', {
      taskQueue,
      workflowId: 'too-large',
      args: [{ request }],
    });
    expect(String(Object(await failureOf(withoutClient)).cause)).toContain(sentence);
    expect(emulator.calls).toEqual([]);
  });
});

test('a batch with more requests in its input than fit is refused, by the client and by the workflow', async () => {
  await inWorld(env, {}, async ({ videos, emulator, taskQueue }) => {
    const all = requests(6, 150);
    const sentence =
      /requests are 1\.0 MB together; at most 0\.8 MB fit into the input of a batch: .*requestsFrom/;
    await expect(videos.startBatch({ requests: all })).rejects.toThrow(sentence);
    const { workflow } = env.temporal.client;
    const withoutClient = workflow.execute('generateVideos', {
      taskQueue,
      workflowId: 'too-many',
      args: [{ requests: all }],
    });
    expect(String(Object(await failureOf(withoutClient)).cause)).toMatch(sentence);
    expect(emulator.calls).toEqual([]);
  });
});
