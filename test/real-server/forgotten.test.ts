import { createHash, randomUUID } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ForgetRefused } from '../../src/client/refusals';
import { createVideoClient } from '../../src/client/video-client';
import { itemName } from '../../src/contract/batch';
import { webhookId } from '../../src/contract/names';
import type { VideoRequest } from '../../src/contract/request';
import { createFileStorage, StorageFault, type VideoStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { runHere } from '../cli/cli-here';
import { commandsOf, expectShown, readPage, sectionOf } from '../support/docs-page';
import { captureLogs } from '../support/logs';
import { atLength } from '../support/nightly';
import { failureOf, inWorld, pause, untilProgress, type World } from '../support/world';
import { deleteFromTemporal, isInTemporal, QUICK_DELETION } from './delete-from-temporal';

const polling = { min: '1s', max: '1s' } as const;
const isHeld = ({ phase }: { phase: string }) => phase === 'needs-decision';

jest.setTimeout(120_000);

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig: QUICK_DELETION });
});
afterAll(() => env.teardown());

const exists = (workflowId: string) => isInTemporal(env.temporal.client, workflowId);

/** Temporal deletes in the background. */
async function untilGone(workflowId: string): Promise<void> {
  while (await exists(workflowId)) await pause();
}

const request: VideoRequest = { prompt: 'A red fox', seed: 7 };
const input = { request, polling };

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

  describe('on the command line', () => {
    const videogen = ({ storageFolder }: World, args: string[]) =>
      runHere(args, {
        TEMPORAL_ADDRESS: env.temporal.address,
        VIDEOGEN_STORAGE: storageFolder,
        VIDEOGEN_TEMPORAL_UI_URL: 'http://127.0.0.1:9',
      });

    it('prints what the page about storage shows', async () => {
      await inWorld(env, { jobTimeMs: 0 }, async (world) => {
        await world.videos.execute(input, { workflowId: 'fox-1' });
        const shown = commandsOf(sectionOf(readPage('storage.md'), 'Forget a job'));
        expect(shown.map(({ command }) => command.split(' ')[1])).toEqual(['forget', 'forget', 'generate']);
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

    it('removes nothing without --yes, and says what it would remove', async () => {
      await inWorld(env, { jobTimeMs: 0 }, async (world) => {
        const workflowId = newName();
        await world.videos.execute(input, { workflowId });
        const unasked = await videogen(world, ['forget', workflowId]);
        expect([unasked.code, unasked.err]).toEqual([
          2,
          expect.stringMatching(/^Would be removed from job /),
        ]);
        expect(unasked.err).toMatch(/\nNothing was removed\. Add --yes to remove all this for good\.\n$/);
        const { code, out } = await videogen(world, ['forget', workflowId, '--yes', '--json']);
        expect([code, JSON.parse(out)]).toMatchObject([0, { workflowId, kind: 'job', dryRun: false }]);
        await untilGone(workflowId);
      });
    });
  });
});
