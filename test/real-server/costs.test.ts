import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { VideoJob } from '../../src/client/video-job';
import { type Caps, dayOf } from '../../src/contract/caps';
import { isVideoFailure } from '../../src/contract/video-failure';
import type { ServiceProfile } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { runHere } from '../cli/cli-here';
import { commandsOf, expectShown, readPage } from '../support/docs-page';
import { captureLogs } from '../support/logs';
import { postsOf } from '../support/posts';
import { shortHistories } from '../support/short-histories';
import { killLeftoverWorkers, startWorkerProcess } from '../support/worker-process';
import { failureOf, inWorld, untilProgress, type World } from '../support/world';
import { deleteFromTemporal, QUICK_DELETION } from './delete-from-temporal';

const request = { prompt: 'A red fox', duration: 5 };
const polling = { min: '1s', max: '1s' } as const;
const CHARGE = 0.45;
const usd = (amount: number) => ({ amount, currency: 'USD' });
const profile: ServiceProfile = {
  name: 'Example',
  polling,
  prices: { currency: 'USD', table: [{ perSecond: 0.1 }] },
};

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig: QUICK_DELETION });
});
afterAll(async () => {
  await killLeftoverWorkers();
  await env.teardown();
});

function videogen({ taskQueue, storageFolder }: World, args: string[], isOutTerminal?: boolean) {
  const settings = {
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEOGEN_TASK_QUEUE: taskQueue,
    VIDEOGEN_STORAGE: storageFolder,
  };
  return runHere(args, settings, isOutTerminal);
}

async function spend(world: World, ...args: string[]) {
  const { code, out, err } = await videogen(world, ['spend', ...args, '--json']);
  return { code, err, ...JSON.parse(out) };
}

async function ended(job: VideoJob): Promise<VideoJob> {
  await job.result().catch(() => undefined);
  return job;
}

/** What `videogen spend --caps` shows of the queue. */
async function countsOf(world: World): Promise<unknown[]> {
  const { out } = await videogen(world, ['spend', '--caps', '--json']);
  const ofQueue = (one: { taskQueue: string }) => one.taskQueue === world.taskQueue;
  return JSON.parse(out).queues.find(ofQueue).counts;
}

/** The words of a command of a page, after `videogen`. */
const wordsOf = (command: string) =>
  [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '').slice(1);

test('the page about costs shows what its commands print, and each job is added up once', async () => {
  // Long enough to be shown as waiting.
  await inWorld(env, { jobTimeMs: 3_000, profile, charge: CHARGE }, async (world) => {
    const { videos, emulator, storageFolder } = world;
    const [generate, ...others] = commandsOf(readPage('costs.md'));
    const fox = await videogen(world, wordsOf(generate?.command ?? ''));
    if (generate) expectShown(generate, fox.err + fox.out);

    // It was never paid for.
    emulator.next('submit', { kind: 'refused', status: 400, message: 'no foxes' });
    await ended(await videos.start({ request }, { workflowId: 'refused' }));
    // A caller of the gateway may have paid for this one.
    emulator.next('submit', { kind: 'reset' });
    const workflowId = `gateway-web_shop-video_${randomUUID().replaceAll('-', '')}`;
    const held = await videos.start({ request }, { workflowId });
    await untilProgress(held, ({ phase }) => phase === 'needs-decision');
    // The task of fox-1 was paid for once.
    const { taskId = '' } = await videos.handle('fox-1').progress();
    await ended(await videos.start({ taskId, storage: 'again.mp4' }));
    mkdirSync(join(storageFolder, 'jobs/bad.0123456789abcdef'));
    writeFileSync(join(storageFolder, 'jobs/bad.0123456789abcdef/0001.json'), '{"event":');

    for (const one of others) {
      const { out, err } = await videogen(world, wordsOf(one.command), true);
      expectShown(one, err + out);
    }
    expect(await spend(world)).toMatchObject({
      code: 0,
      err: 'jobs/bad.0123456789abcdef/0001.json is damaged and was skipped.\n',
      videos: 2,
      charged: [usd(0.45)],
      estimated: [usd(0.5)],
      unknown: 0,
      by: {
        caller: [
          { name: '-', videos: 1 },
          { name: 'web_shop', videos: 1, estimated: [usd(0.5)] },
        ],
      },
    });
    await held.decideSubmit({ decision: 'abandon' });
    await ended(held);
  });
});

test('what Temporal has forgotten is added up from the storage, and the items of a batch are jobs', async () => {
  await inWorld(env, { jobTimeMs: 0, profile }, async (world) => {
    const { videos } = world;
    // The jobs of the test before began earlier.
    const since = new Date().toISOString();
    const result = await (await videos.startBatch({ requests: [request, request], polling })).result();
    expect(result.cost?.spent).toEqual({ sums: [usd(1)], unknown: 0 });
    const { workflowId } = await ended(await videos.start({ request }));
    await deleteFromTemporal(env.temporal.client, workflowId);
    expect(await spend(world, '--since', since)).toMatchObject({
      videos: 3,
      estimated: [usd(1.5)],
      by: { service: [{ name: 'Example', videos: 3 }] },
    });
  });
});

test('a batch has spent the lost submit of an item whose repetition is refused', async () => {
  await inWorld(env, { jobTimeMs: 0, profile }, async ({ videos, emulator }) => {
    emulator.next('submit', { kind: 'reset' }, { kind: 'refused', status: 400, message: 'no foxes' });
    const batch = await videos.startBatch({ requests: [request], polling }, { workflowId: randomUUID() });
    const item = videos.handle(`${batch.workflowId}-1`);
    await untilProgress(batch, ({ running }) => running.some(({ isHeld }) => isHeld === true));
    await item.decideSubmit({ decision: 'resubmit' });
    const { failed, cost } = await batch.result();
    expect([failed, cost?.spent]).toEqual([1, { sums: [usd(0.5)], unknown: 0 }]);
  });
});

test('a task that the service refused without a charge costs nothing, in its job, its batch, the caps and the sum', async () => {
  const since = new Date().toISOString();
  const free: ServiceProfile = {
    ...profile,
    refusals: { content: [{ codes: ['moderation'], charged: false }] },
  };
  const caps = { day: { videos: 9, money: usd(9) } };
  await inWorld(env, { jobTimeMs: 0, profile: free, caps }, async (world) => {
    const { videos, emulator } = world;
    const refuse = { kind: 'failed-task', code: 'moderation', message: 'no foxes' } as const;
    emulator.next('submit', refuse);
    const job = await ended(await videos.start({ request, polling }));
    const nothing = usd(0);
    expect((await job.progress()).cost).toEqual({
      estimated: usd(0.5),
      charged: nothing,
      service: 'Example',
    });
    const spent = { videos: 1, charged: [nothing], estimated: [], unknown: 0 };
    expect(await spend(world, '--since', since)).toMatchObject(spent);
    expect(await countsOf(world)).toMatchObject([{ used: { videos: 0 }, reserved: { videos: 0 } }]);

    emulator.next('submit', refuse);
    const batch = await (await videos.startBatch({ requests: [request], polling })).result();
    expect(batch.cost?.spent).toEqual({ sums: [nothing], unknown: 0 });
  });
});

const CAP = 3;
const CALLERS = 30;

/** In a process of its own: the SDK refuses a second worker on a queue in one process. */
async function startSecondWorker(world: World, caps: Caps): Promise<void> {
  const file = join(world.storageFolder, 'caps.json');
  writeFileSync(file, JSON.stringify(caps));
  await startWorkerProcess({
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEO_API_BASE_URL: world.emulator.url,
    VIDEO_API_KEY: world.emulator.apiKey,
    VIDEOGEN_TASK_QUEUE: world.taskQueue,
    VIDEOGEN_STORAGE: world.storageFolder,
    VIDEOGEN_CAPS: file,
    VIDEOGEN_TEST_BUNDLE: shortHistories().codePath,
  });
}

test(`a cap of ${CAP} videos a day refuses the fourth before its POST, with two workers and ${CALLERS} callers racing`, async () => {
  const caps = { day: { videos: CAP } };
  // So that the ledger continues as new during the race.
  const worker = { workflowBundle: shortHistories() };
  await inWorld(env, { jobTimeMs: 0, caps, worker }, async (world) => {
    const { videos, emulator, taskQueue } = world;
    await startSecondWorker(world, caps);
    const prompts = Array.from({ length: CALLERS }, (_, index) => `fox ${index}`);
    const ended = await Promise.allSettled(
      prompts.map((prompt) => videos.execute({ request: { prompt }, polling })),
    );
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(CAP);
    const refused = ended.filter(
      (end) => end.status === 'rejected' && isVideoFailure(end.reason, 'CapReached'),
    );
    expect(refused).toHaveLength(CALLERS - CAP);
    expect(postsOf(emulator)).toHaveLength(CAP);

    const failure = await failureOf(videos.execute({ request: { prompt: 'one more fox' } }));
    const resetsAt = `${dayOf(Date.now() + 24 * 3_600_000)}T00:00:00.000Z`;
    const { out } = await videogen(world, ['spend', '--caps']);
    expect(out).toContain(
      `Task queue ${taskQueue}:\n  the daily cap of 3 videos: 0 videos left, 3 videos used, 0 videos reserved; it resets at ${resetsAt}\n`,
    );
    expect(failure).toMatchObject({
      message: `A cap does not allow this video: the daily cap of 3 videos is reached; it resets at ${resetsAt}. Start the job again when the cap resets, or raise the cap: videogen spend --caps shows what is left.`,
      details: { cap: 'day.videos', capLeft: 0, capResetsAt: resetsAt },
    });
    await killLeftoverWorkers();
  });
});
