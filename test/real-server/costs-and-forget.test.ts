import { createHash, randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ForgetRefused } from '../../src/client/refusals';
import { createVideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import { itemName } from '../../src/contract/batch';
import { type Caps, dayOf } from '../../src/contract/caps';
import { COST_MEMO, webhookId } from '../../src/contract/names';
import type { VideoRequest } from '../../src/contract/request';
import { isVideoFailure } from '../../src/contract/video-failure';
import type { ServiceProfile } from '../../src/service';
import { createFileStorage, StorageFault, type VideoStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { runHere } from '../cli/cli-here';
import { commandsOf, expectShown, readPage, sectionOf, wordsOf } from '../support/docs-page';
import { captureLogs } from '../support/logs';
import { atLength } from '../support/nightly';
import { postsOf } from '../support/posts';
import { shortHistories } from '../support/short-histories';
import { killLeftoverWorkers, startWorkerProcess } from '../support/worker-process';
import { failureOf, inWorld, pause, untilProgress, type World } from '../support/world';
import { deleteFromTemporal, isInTemporal, QUICK_DELETION } from './delete-from-temporal';

jest.setTimeout(120_000);

const request = { prompt: 'A red fox', duration: 5, seed: 7 };
const polling = { min: '1s', max: '1s' } as const;
const input = { request, polling };

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig: QUICK_DELETION });
});
afterAll(async () => {
  await killLeftoverWorkers();
  await env.teardown();
});

const isHeld = ({ phase }: { phase: string }) => phase === 'needs-decision';

function videogen({ taskQueue, storageFolder }: World, args: string[], isOutTerminal?: boolean) {
  const settings = {
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEOGEN_TASK_QUEUE: taskQueue,
    VIDEOGEN_STORAGE: storageFolder,
    VIDEOGEN_TEMPORAL_UI_URL: 'http://127.0.0.1:9',
  };
  return runHere(args, settings, isOutTerminal);
}

const CHARGE = 0.45;
const usd = (amount: number) => ({ amount, currency: 'USD' });
const profile: ServiceProfile = {
  name: 'Example',
  polling,
  prices: { currency: 'USD', table: [{ perSecond: 0.1 }] },
};

async function spend(world: World, ...args: string[]) {
  const { code, out, err } = await videogen(world, ['spend', ...args, '--json']);
  return { code, err, ...JSON.parse(out) };
}

async function ended(job: VideoJob): Promise<VideoJob> {
  await job.result().catch(() => undefined);
  return job;
}

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
    await untilProgress(held, isHeld);
    // The task of fox-1 was paid for once.
    const { taskId = '', cost } = await videos.handle('fox-1').progress();
    expect(cost).toEqual({ estimated: usd(0.5), charged: usd(CHARGE), service: 'Example' });
    const { memo } = await env.temporal.client.workflow.getHandle('fox-1').describe();
    expect(memo).toMatchObject({ [COST_MEMO]: cost });
    expect(JSON.parse(readFileSync(join(storageFolder, 'fox-1.mp4.json'), 'utf8'))).toMatchObject({ cost });
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

const exists = (workflowId: string) => isInTemporal(env.temporal.client, workflowId);

/** Temporal deletes in the background. */
async function untilGone(workflowId: string): Promise<void> {
  while (await exists(workflowId)) await pause();
}

test('a batch that Temporal has deleted in its middle resumes, holds what was in flight, and pays for nothing twice', async () => {
  const requests = [1, 2, 3, 4, 5, 6].map((number): VideoRequest => ({ prompt: `Fox ${number}` }));
  const workflowId = 'deleted';
  await inWorld(env, { jobTimeMs: 2_000 }, async ({ emulator, videos, storedFiles }) => {
    const start = () => videos.startBatch({ requests, window: 3, polling }, { workflowId });
    const atOnce = { kind: 'late', ms: 0 } as const;
    emulator.next('submit', atOnce, atOnce, atOnce, { kind: 'reset-late', ms: 1_000 });
    await start();
    // The fourth is submitted once a video of the first three is stored.
    while (emulator.generations().length < 4) await pause();
    await deleteFromTemporal(env.temporal.client, workflowId);
    for (const item of [1, 2, 3, 4, 5, 6]) {
      const name = itemName(workflowId, item);
      if (await exists(name)) await deleteFromTemporal(env.temporal.client, name);
    }
    const again = await start();
    const { running } = await untilProgress(again, (now) => now.running.some(({ isHeld }) => isHeld));
    const { name = '', item = 0 } = running.find(({ isHeld }) => isHeld) ?? {};
    const lost = emulator.generations().find(({ request }) => request.prompt === `Fox ${item}`);
    await videos.handle(name).decideSubmit({ decision: 'adopt', taskId: lost?.taskId ?? '' });
    expect(await again.result()).toMatchObject({ items: 6, succeeded: 6, failed: 0 });
    const paid = emulator.generations().map(({ request }) => request.prompt);
    expect(paid.sort()).toEqual(requests.map(({ prompt }) => prompt));
    expect((await storedFiles()).filter((file) => file.endsWith('.mp4'))).toHaveLength(6);
  });
});

describe('forget', () => {
  const newName = (what = 'fox') => `${what}-${randomUUID().slice(0, 8)}`;

  /** A client that finds the videos of the world. */
  const clientOf = ({ storageFolder }: World) =>
    createVideoClient({ client: env.temporal.client, storage: createFileStorage(storageFolder) });

  /** The storage of a process that is killed after so many calls. */
  function endingAfter(storage: VideoStorage, calls: number): VideoStorage {
    let left = calls;
    const ending: VideoStorage = { ...storage };
    for (const name of ['read', 'write', 'create', 'removeKey'] as const) {
      const method = storage[name];
      Reflect.set(ending, name, async (...given: unknown[]) => {
        if (left-- <= 0) throw new Error('killed');
        return method && Reflect.apply(method, storage, given);
      });
    }
    return ending;
  }

  /** What the records say, if nothing is left but them and the claims of tasks, which name the job. */
  async function eventsIn(storage: VideoStorage): Promise<string[]> {
    const events = new Set<string>();
    for await (const { key } of storage.list?.('') ?? []) {
      expect(key).toMatch(/^(jobs\/fox-[^/]+\/|tasks\/[0-9a-f]{64}\.)\d{4}\.json$/);
      const entry = await storage.read(key);
      if (key.startsWith('jobs/') && entry) events.add(JSON.parse(String(await buffer(entry))).event);
    }
    return [...events];
  }

  const partsOf = ({ removed }: { removed: { what: string }[] }) => removed.map(({ what }) => what);

  /** Everything in the storage, as text. */
  function everythingIn(folder: string): string {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    return files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1')).join('\n');
  }

  it('removes video, sidecar, record, webhook and executions, and nothing is paid again', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      // With characters that a query of Temporal's would have to quote.
      const workflowId = newName(`fox's "1" \\ 'or'`);
      const callbackUrl = 'http://127.0.0.1:9/nobody';
      const job = await world.videos.start({ ...input, callbackUrl }, { workflowId });
      const { taskId } = await job.result();
      const { runId } = await env.temporal.client.workflow.getHandle(workflowId).describe();
      const videos = await clientOf(world);
      let planned = await videos.forget(workflowId, { dryRun: true });
      // Lists lag behind.
      while (!partsOf(planned).includes('webhook'))
        planned = await videos.forget(workflowId, { dryRun: true });
      expect(partsOf(planned)).toEqual(['video', 'sidecar', 'record', 'webhook', 'execution']);
      expect(await world.storedFiles()).toHaveLength(2);
      const done = await videos.forget(workflowId);
      expect(done.removed).toEqual(planned.removed);
      expect(done.stays.join('\n')).toContain(taskId);
      await untilGone(workflowId);
      await untilGone(webhookId(runId, 'video.completed', 1));
      expect(await world.storedFiles()).toEqual([]);
      const left = everythingIn(world.storageFolder);
      expect(left).toContain('"event": "forgotten"');
      for (const trace of [taskId, request.prompt, workflowId]) expect(left).not.toContain(trace);

      expect(await failureOf(world.videos.execute(input, { workflowId }))).toMatchObject({
        type: 'InvalidRequest',
        message: expect.stringContaining('was forgotten at'),
      });
      expect(world.emulator.generations()).toHaveLength(1);
      // The refused job has an execution of its own by now.
      expect(partsOf(await videos.forget(workflowId))).toEqual(['execution']);
    });
  });

  it('removes all runs of a name, and stops at none that is running or held', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const { emulator } = world;
      const workflowId = newName();
      const videos = await clientOf(world);
      emulator.next('submit', { kind: 'refused', status: 400, message: 'no' });
      await failureOf(world.videos.execute(input, { workflowId }));
      emulator.next('submit', { kind: 'reset' });
      const job = await world.videos.start(input, { workflowId });
      await untilProgress(job, isHeld);
      const refusal = await failureOf(videos.forget(workflowId));
      expect(refusal).toBeInstanceOf(ForgetRefused);
      expect(String(refusal)).toBe(
        `ForgetRefused: ${workflowId} waits for a decision, and a task may be paid: end it first with: videogen cancel ${workflowId}`,
      );
      await job.cancel();
      await failureOf(job.result());
      for (;;) {
        const { removed } = await videos.forget(workflowId, { dryRun: true });
        // Lists lag behind.
        if (removed.filter(({ what }) => what === 'execution').length === 2) break;
        await pause();
      }
      expect(partsOf(await videos.forget(workflowId))).toEqual(['record', 'execution', 'execution']);
      await untilGone(workflowId);
      expect(await failureOf(videos.forget(newName('nobody')))).toMatchObject({
        name: 'ForgetRefused',
        message: expect.stringMatching(/^There is no job nobody-/),
      });
    });
  });

  it('refuses a storage that does not have the records', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const [job, batch] = [newName(), newName('foxes')];
      await world.videos.execute(input, { workflowId: job });
      await (await world.videos.startBatch({ requests: [request], polling }, { workflowId: batch })).result();
      const storage = createFileStorage(join(world.storageFolder, 'other'));
      const videos = await createVideoClient({ client: env.temporal.client, storage });
      for (const workflowId of [job, batch]) {
        expect(String(await failureOf(videos.forget(workflowId)))).toBe(
          `ForgetRefused: ${workflowId} has no record in the storage of these settings: set VIDEOGEN_STORAGE as it is for the worker.`,
        );
        expect(await exists(workflowId)).toBe(true);
      }
    });
  });

  it('leaves a video to the job that stored the same bytes before', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const [one, two] = [newName('one'), newName('two')];
      for (const workflowId of [one, two])
        await world.videos.execute({ ...input, storage: 'shared.mp4' }, { workflowId });
      const videos = await clientOf(world);
      const kept = await videos.forget(two);
      expect(kept.kept).toEqual([{ what: 'video', where: 'shared.mp4', why: `${one} has the same file` }]);
      expect(await world.storedFiles()).toContain('shared.mp4');
      expect(partsOf(await videos.forget(one))).toEqual(['video', 'sidecar', 'record', 'execution']);
      expect(await world.storedFiles()).not.toContain('shared.mp4');
    });
  });

  it('leaves the video that another job has stored under the name since, and removes its own sidecar', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const [one, two] = [newName('one'), newName('two')];
      const storage = 'fox.mp4';
      await world.videos.execute({ ...input, storage }, { workflowId: one });
      rmSync(join(world.storageFolder, storage));
      const other = { ...input, request: { prompt: 'Another fox', seed: 8 }, storage };
      const { video } = await world.videos.execute(other, { workflowId: two });
      const videos = await clientOf(world);
      const { removed, kept } = await videos.forget(one);
      expect(partsOf({ removed })).toEqual(['sidecar', 'record', 'execution']);
      expect(kept).toEqual([{ what: 'video', where: storage, why: 'another file is stored there now' }]);
      const left = readFileSync(join(world.storageFolder, storage));
      expect(createHash('sha256').update(left).digest('hex')).toBe(video.sha256);
      expect(partsOf(await videos.forget(two))).toEqual(['video', 'record', 'execution']);
      expect(await world.storedFiles()).toEqual([]);
    });
  });

  it('reports an execution that the namespace does not let it delete', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const workflowId = newName();
      await world.videos.execute(input, { workflowId });
      const denied = Object.assign(new Error('7 PERMISSION_DENIED: not you'), { code: 7 });
      const deleting = jest
        .spyOn(env.temporal.client.workflowService, 'deleteWorkflowExecution')
        .mockRejectedValue(denied);
      const { removed, kept } = await (await clientOf(world)).forget(workflowId);
      deleting.mockRestore();
      expect(partsOf({ removed })).toEqual(['video', 'sidecar', 'record']);
      expect(kept).toEqual([
        {
          what: 'execution',
          where: expect.stringContaining(workflowId),
          why: expect.stringContaining('Temporal does not allow it'),
        },
      ]);
      expect(await exists(workflowId)).toBe(true);
    });
  });

  it('leaves a file of somebody else beside the video, and what a job of the same name in another namespace has', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const notes = join(world.storageFolder, 'fox.mp4.json');
      writeFileSync(notes, '{"taskId":7,"mine":true}');
      const [beside, workflowId] = [newName(), newName()];
      await world.videos.execute({ ...input, storage: 'fox.mp4' }, { workflowId: beside });
      await world.videos.execute(input, { workflowId });
      const videos = await clientOf(world);
      const ours = await videos.forget(beside);
      expect([partsOf(ours), ours.kept]).toEqual([['video', 'record', 'execution'], []]);
      expect(readFileSync(notes, 'utf8')).toContain('mine');

      const file = join(world.storageFolder, `${workflowId}.mp4.json`);
      const sidecar = JSON.parse(readFileSync(file, 'utf8'));
      expect(sidecar).toMatchObject({ namespace: 'default', workflowId });
      writeFileSync(file, JSON.stringify({ ...sidecar, namespace: 'others' }));
      const theirs = await videos.forget(workflowId);
      expect([partsOf(theirs), theirs.kept.length]).toEqual([['record', 'execution'], 1]);
      expect(await world.storedFiles()).toHaveLength(3);
    });
  });

  it('is finished by the next run, whichever call to the storage was its last', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const workflowId = newName();
      await world.videos.execute(input, { workflowId });
      await deleteFromTemporal(env.temporal.client, workflowId);
      const copy = `${world.storageFolder}-copy`;
      cpSync(world.storageFolder, copy, { recursive: true });
      for (let last = 0, isDone = false; !isDone; last += atLength(4, 1)) {
        cpSync(copy, world.storageFolder, { recursive: true });
        const storage = endingAfter(createFileStorage(world.storageFolder), last);
        const dying = await createVideoClient({ client: env.temporal.client, storage });
        isDone = await dying.forget(workflowId).then(
          () => true,
          () => false,
        );
        await (await clientOf(world)).forget(workflowId);
        expect([last, await eventsIn(createFileStorage(world.storageFolder))]).toEqual([last, ['forgotten']]);
      }
      rmSync(copy, { recursive: true });
    });
  });

  it('stops with one sentence at a file that may not be removed, and at a damaged record', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const workflowId = newName();
      await world.videos.execute(input, { workflowId });
      const removeKey = async () => {
        throw new StorageFault('EACCES: permission denied');
      };
      const storage = { ...createFileStorage(world.storageFolder), removeKey };
      const forbidden = await createVideoClient({ client: env.temporal.client, storage });
      expect(String(await failureOf(forbidden.forget(workflowId)))).toBe(
        'StorageFault: EACCES: permission denied',
      );
      const jobs = join(world.storageFolder, 'jobs');
      const [record = ''] = readdirSync(jobs).filter((name) => name.startsWith(workflowId));
      writeFileSync(join(jobs, record, '0001.json'), '{');
      expect(String(await failureOf((await clientOf(world)).forget(workflowId)))).toMatch(
        /jobs\/.*0001\.json in the storage is damaged/,
      );
      expect(await exists(workflowId)).toBe(true);
    });
  });

  it('removes an item, and then its batch, with what is left of both', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      // With characters that no query of Temporal's finds.
      const workflowId = newName(`foxes' "2" \\ `);
      const requests = [1, 2, 3].map((number) => ({ prompt: `Fox ${number}` }));
      await (await world.videos.startBatch({ requests, polling }, { workflowId })).result();
      const videos = await clientOf(world);
      const item = await videos.forget(`${workflowId}-2`);
      expect([item.kind, partsOf(item)]).toEqual(['job', ['video', 'sidecar', 'record', 'execution']]);
      expect(await exists(workflowId)).toBe(true);
      const { kind, removed } = await videos.forget(workflowId);
      expect(kind).toBe('batch');
      expect(partsOf({ removed })).toEqual(
        [1, 3]
          .flatMap(() => ['video', 'sidecar', 'record'])
          .concat('results', 'execution', 'execution', 'execution'),
      );
      await untilGone(workflowId);
      expect(everythingIn(world.storageFolder)).not.toContain('Fox');
      // Nothing is paid again.
      const again = await world.videos.startBatch({ requests, polling }, { workflowId });
      expect(await again.result()).toMatchObject({ succeeded: 0, failed: 3 });
      expect(world.emulator.generations()).toHaveLength(3);
    });
  });

  it('on the command line prints what the page about storage shows, and removes nothing without --yes', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      // Left by the test of the other page.
      await deleteFromTemporal(env.temporal.client, 'fox-1');
      await world.videos.execute(input, { workflowId: 'fox-1' });
      const shown = commandsOf(sectionOf(readPage('storage.md'), 'Forget a job'));
      expect(shown.map(({ command }) => command.split(' ')[1])).toEqual(['forget', 'forget', 'generate']);
      const planned = await videogen(world, ['forget', 'fox-1', '--dry-run', '--json']);
      expect(JSON.parse(planned.out)).toMatchObject({ workflowId: 'fox-1', kind: 'job', dryRun: true });
      const unasked = await videogen(world, ['forget', 'fox-1']);
      expect(unasked).toMatchObject({ code: 2, err: expect.stringMatching(/^Would be removed from job /) });
      expect(unasked.err).toMatch(/\nNothing was removed\. Add --yes to remove all this for good\.\n$/);
      for (const one of shown.slice(0, 2)) {
        const [, ...args] = one.command.split(' ');
        const { code, out, err } = await videogen(world, args);
        expect(code).toBe(0);
        expectShown(one, `${err}${out}`);
      }
      await untilGone('fox-1');
      const refused = await failureOf(world.videos.execute(input, { workflowId: 'fox-1' }));
      expectShown(shown[2] ?? { command: '', output: [] }, String(refused));
    });
  });
});
