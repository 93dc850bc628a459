import { WorkflowNotFoundError } from '@temporalio/client';
import type { VideoBatch } from '../../src/client/video-batch';
import type { BatchProgress, VideoRequest } from '../../src/contract';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { inWorld, pause, untilProgress, type World } from '../support/world';

jest.setTimeout(120_000);

const ITEMS = 12;
const WINDOW = 4;

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev' });
});
afterAll(() => env.teardown());

const requests = Array.from({ length: ITEMS }, (_, index): VideoRequest => ({ prompt: `Fox ${index + 1}` }));

const start = ({ videos }: World, workflowId: string): Promise<VideoBatch> =>
  videos.startBatch({ requests, window: WINDOW, polling: { min: '1s', max: '1s' } }, { workflowId });

const handleOf = ({ workflowId }: VideoBatch) => env.temporal.client.workflow.getHandle(workflowId);

/** Some videos are stored, and others are paid for but not stored. */
const isHalfDone = ({ succeeded, running }: BatchProgress) =>
  succeeded > 0 && running.some(({ phase }) => phase === 'waiting');

/** Terminates a batch when it is half done. */
async function terminateHalfDone(world: World, workflowId: string): Promise<VideoBatch> {
  const batch = await start(world, workflowId);
  await untilProgress(batch, isHalfDone);
  await handleOf(batch).terminate('a test');
  return batch;
}

const heldIn = ({ running }: Pick<BatchProgress, 'running'>) =>
  running.find(({ phase }) => phase === 'needs-decision')?.item;

async function expectEachPaidOnceAndStored({ emulator, storedFiles }: World): Promise<void> {
  const paid = emulator.generations().map(({ request }) => request.prompt);
  expect(paid.sort()).toEqual(requests.map(({ prompt }) => prompt).sort());
  expect((await storedFiles()).filter((name) => name.endsWith('.mp4'))).toHaveLength(ITEMS);
}

test('a terminated batch resumes when it is started again, and pays for nothing twice', async () => {
  await inWorld(env, { jobTimeMs: 2_000 }, async (world) => {
    await terminateHalfDone(world, 'terminated');
    const again = await start(world, 'terminated');
    expect(await again.result()).toMatchObject({ items: ITEMS, succeeded: ITEMS, failed: 0 });
    await expectEachPaidOnceAndStored(world);
  });
});

test('a terminated batch that Temporal has deleted resumes too, and pays for nothing twice', async () => {
  await inWorld(env, { jobTimeMs: 2_000 }, async (world) => {
    await deleteWorkflow(await terminateHalfDone(world, 'forgotten'));
    const again = await start(world, 'forgotten');
    expect(await again.result()).toMatchObject({ items: ITEMS, succeeded: ITEMS, failed: 0 });
    await expectEachPaidOnceAndStored(world);
  });
});

test('an item whose submit was in flight when its batch was terminated is held when the batch is started again', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const { emulator } = world;
    emulator.next('submit', { kind: 'reset-late', ms: 1_000 });
    const batch = await start(world, 'in-flight');
    while (emulator.generations().length === 0) await pause();
    await handleOf(batch).terminate('a test');
    await deleteWorkflow(batch);
    const again = await start(world, 'in-flight');
    const isOver = ({ succeeded }: BatchProgress) => succeeded === ITEMS;
    const { running } = await untilProgress(
      again,
      (progress) => isOver(progress) || heldIn(progress) !== undefined,
    );
    expect(running).not.toEqual([]);
    const held = heldIn({ running }) ?? 0;
    const lost = emulator.generations().find(({ request }) => request.prompt === `Fox ${held}`)?.taskId ?? '';
    await again.decideSubmit({ item: held, decision: 'adopt', taskId: lost });
    expect(await again.result()).toMatchObject({ items: ITEMS, succeeded: ITEMS, failed: 0 });
    await expectEachPaidOnceAndStored(world);
  });
});

/** Deletes the workflow, as the server does after the retention period. */
async function deleteWorkflow(batch: VideoBatch): Promise<void> {
  const { client } = env.temporal;
  const { namespace } = client.options;
  const workflowExecution = { workflowId: batch.workflowId };
  await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
  for (;;) {
    try {
      await handleOf(batch).describe();
      await pause();
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return;
      throw error;
    }
  }
}
