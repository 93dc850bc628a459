import type { BatchInput, VideoRequest } from '../../src/contract';
import type { VideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { VideoBatch } from '../../src/video-batch';
import { captureLogs } from '../support/logs';
import { inWorld, pause, type World } from '../support/world';

// Nothing is set at the server: the requests themselves make the history so large that a batch continues as new.
jest.setTimeout(240_000);

const KILOBYTE = 1_000;
const FILE = 'in/foxes.jsonl';

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev' });
});
afterAll(() => env.teardown());

/** While this is set, tasks go on at the service whatever becomes of them. */
let tasksRun = true;
beforeEach(() => {
  tasksRun = true;
});

const wrapService = (service: VideoService): VideoService => ({
  ...service,
  check: async (taskId, options) => {
    const reading = await service.check(taskId, options);
    return tasksRun ? { ...reading, task: { state: 'running', word: 'running' } } : reading;
  },
});

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
  const how: Omit<BatchInput, 'requests' | 'requestsFrom'> = {
    window: 20,
    polling: { min: '1s', max: '1s' },
  };
  if (from === 'the input') return videos.startBatch({ ...how, requests: all });
  const lines = all.map((one) => `${JSON.stringify(one)}\n`).join('');
  await createFileStorage(storageFolder).write(FILE, lines, 'application/x-ndjson');
  return videos.startBatch({ ...how, requestsFrom: FILE });
}

const describe = ({ workflowId }: VideoBatch) =>
  env.temporal.client.workflow.getHandle(workflowId).describe();

/** Has the batch look until it goes on in another run. A workflow task that fails again and again would never get there. */
async function untilContinued(batch: VideoBatch): Promise<void> {
  const { runId: before } = await describe(batch);
  for (;;) {
    const { runId, raw } = await describe(batch);
    if (runId !== before) return;
    const attempt = raw.pendingWorkflowTask?.attempt ?? 0;
    if (attempt > 2) throw new Error(`the batch is at attempt ${attempt} of one workflow task`);
    await pause();
  }
}

async function expectEachPaidOnce({ emulator, storedFiles }: World, all: VideoRequest[]): Promise<void> {
  const paid = emulator.generations().map(({ request }) => request.prompt);
  expect(paid.sort()).toEqual(all.map(({ prompt }) => prompt).sort());
  expect((await storedFiles()).filter((name) => name.endsWith('.mp4'))).toHaveLength(all.length);
}

test('a batch of requests of 150 kB from a file continues as new: each is stored, and paid once', async () => {
  await inWorld(env, { jobTimeMs: 0, wrapService }, async (world) => {
    const all = requests(20, 150);
    const batch = await startBatch(world, { from: 'a file', all });
    await untilContinued(batch);
    tasksRun = false;
    expect(await batch.result()).toMatchObject({ items: 20, succeeded: 20, failed: 0 });
    await expectEachPaidOnce(world, all);
  });
});
