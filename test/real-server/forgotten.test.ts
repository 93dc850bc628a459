import { randomUUID } from 'node:crypto';
import type { VideoBatch } from '../../src/client/video-batch';
import type { BatchProgress, VideoRequest } from '../../src/contract';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { inWorld, pause, untilProgress, type World } from '../support/world';

const polling = { min: '1s', max: '1s' } as const;
const isHeld = ({ phase }: { phase: string }) => phase === 'needs-decision';

jest.setTimeout(120_000);

let env: VideoTestEnvironment;
/** Has no workflows, like a server that has deleted them after their retention period. */
let empty: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  [env, empty] = await Promise.all([
    createVideoTestEnvironment({ server: 'dev' }),
    createVideoTestEnvironment({ server: 'dev' }),
  ]);
});
afterAll(async () => {
  await env.teardown();
  await empty.teardown();
});

/** A deleted workflow no longer runs. */
const terminate = ({ workflowId }: { workflowId: string }) =>
  env.temporal.client.workflow.getHandle(workflowId).terminate('a test');

describe('a job with the same name and request, after Temporal has deleted the first,', () => {
  const request: VideoRequest = { prompt: 'A red fox', seed: 7 };
  const input = { request, polling };
  const newName = () => ({ workflowId: `fox-${randomUUID()}` });

  it('returns the stored video, and pays for nothing again', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const named = newName();
      const first = await world.videos.execute(input, named);
      await world.onServer(empty, async ({ videos }) => {
        const second = await videos.execute(input, named);
        expect(second).toEqual({ ...first, polls: 0, waitedMs: expect.any(Number) });
      });
      expect(world.emulator.generations()).toHaveLength(1);
    });
  });

  it('continues with the task of a job that ended before the video was stored', async () => {
    await inWorld(env, { jobTimeMs: 2_000 }, async (world) => {
      const named = newName();
      const { job, taskId } = await world.videos.submit(input, named);
      await terminate(job);
      await world.onServer(empty, async ({ videos }) => {
        expect(await videos.execute(input, named)).toMatchObject({ taskId });
      });
      expect(world.emulator.generations()).toHaveLength(1);
    });
  });

  it('returns the video of a task that was adopted after a lost submit', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const named = newName();
      world.emulator.next('submit', { kind: 'reset' });
      const job = await world.videos.start(input, named);
      await untilProgress(job, isHeld);
      const [{ taskId } = { taskId: '' }] = world.emulator.generations();
      await job.decideSubmit({ decision: 'adopt', taskId });
      const { video } = await job.result();
      await world.onServer(empty, async ({ videos }) => {
        expect(await videos.execute(input, named)).toMatchObject({ video });
      });
      expect(world.emulator.generations()).toHaveLength(1);
    });
  });

  it('is held when the submit was lost', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const { emulator } = world;
      const named = newName();
      emulator.next('submit', { kind: 'reset' });
      const first = await world.videos.start(input, named);
      await untilProgress(first, isHeld);
      await terminate(first);
      await world.onServer(empty, async ({ videos }) => {
        const job = await videos.start(input, named);
        const { hold } = await untilProgress(job, isHeld);
        expect(hold?.message).toContain('its answer is not on record');
        expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(1);
        await job.decideSubmit({ decision: 'resubmit' });
        await job.result();
      });
      // The decision was to resubmit.
      expect(emulator.generations()).toHaveLength(2);
    });
  });
});

describe('a batch that was terminated', () => {
  const ITEMS = 6;
  const WINDOW = 3;
  const requests = Array.from(
    { length: ITEMS },
    (_, index): VideoRequest => ({ prompt: `Fox ${index + 1}` }),
  );

  const start = ({ videos }: World, workflowId: string): Promise<VideoBatch> =>
    videos.startBatch({ requests, window: WINDOW, polling }, { workflowId });

  /** Some videos are stored, and others are paid for but not stored. */
  const isHalfDone = ({ succeeded, running }: BatchProgress) =>
    succeeded > 0 && running.some(({ phase }) => phase === 'waiting');

  const heldIn = ({ running }: Pick<BatchProgress, 'running'>) => running.find(isHeld)?.item;

  async function terminateHalfDone(world: World, workflowId: string): Promise<void> {
    const batch = await start(world, workflowId);
    await untilProgress(batch, isHalfDone);
    await terminate(batch);
  }

  async function expectAllToSucceed(batch: VideoBatch, { emulator, storedFiles }: World): Promise<void> {
    expect(await batch.result()).toMatchObject({ items: ITEMS, succeeded: ITEMS, failed: 0 });
    const paid = emulator.generations().map(({ request }) => request.prompt);
    expect(paid.sort()).toEqual(requests.map(({ prompt }) => prompt).sort());
    expect((await storedFiles()).filter((name) => name.endsWith('.mp4'))).toHaveLength(ITEMS);
  }

  it('resumes when it is started again, and pays for nothing twice', async () => {
    await inWorld(env, { jobTimeMs: 2_000 }, async (world) => {
      await terminateHalfDone(world, 'terminated');
      await expectAllToSucceed(await start(world, 'terminated'), world);
    });
  });

  it('and that Temporal has deleted resumes too, and pays for nothing twice', async () => {
    await inWorld(env, { jobTimeMs: 2_000 }, async (first) => {
      await terminateHalfDone(first, 'deleted');
      await first.onServer(empty, async (world) => {
        await expectAllToSucceed(await start(world, 'deleted'), world);
      });
    });
  });

  it('holds an item whose submit was in flight when it is started again', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (first) => {
      const { emulator } = first;
      emulator.next('submit', { kind: 'reset-late', ms: 1_000 });
      const batch = await start(first, 'in-flight');
      while (emulator.generations().length === 0) await pause();
      await terminate(batch);
      await first.onServer(empty, async (world) => {
        const again = await start(world, 'in-flight');
        const isOver = ({ succeeded }: BatchProgress) => succeeded === ITEMS;
        const { running } = await untilProgress(
          again,
          (progress) => isOver(progress) || heldIn(progress) !== undefined,
        );
        const held = heldIn({ running }) ?? 0;
        expect(held).toBeGreaterThan(0);
        const lost = emulator.generations().find(({ request }) => request.prompt === `Fox ${held}`);
        await again.decideSubmit({ item: held, decision: 'adopt', taskId: lost?.taskId ?? '' });
        await expectAllToSucceed(again, world);
      });
    });
  });
});
