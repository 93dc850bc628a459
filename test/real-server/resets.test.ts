import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { VideoBatch } from '../../src/client/video-batch';
import { type BatchProgress, resultsKey, type VideoRequest } from '../../src/contract';
import type { VideoService } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { reset } from '../support/reset';
import { inWorld, pause, untilProgress, type World } from '../support/world';

/** Three items in sequence make a long history. */
const LONG_HISTORY = { 'limit.historyCount.suggestContinueAsNew': '60' };

// With a long history, a batch pauses for half a minute before it continues as new.
jest.setTimeout(180_000);

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig: LONG_HISTORY });
});
afterAll(() => env.teardown());

/** While this is true, polls report tasks as running, even ended ones. */
let tasksRun = false;
beforeEach(() => {
  tasksRun = false;
});

const wrapService = (service: VideoService): VideoService => ({
  ...service,
  poll: async (taskId, options) => {
    const reading = await service.poll(taskId, options);
    return tasksRun ? { ...reading, task: { state: 'running', word: 'running' } } : reading;
  },
});

const inBatchWorld = (work: (world: World) => Promise<void>) =>
  inWorld(env, { jobTimeMs: 0, wrapService }, work);

/** A batch that runs its items one at a time. */
const startBatch = ({ videos }: World, count: number): Promise<VideoBatch> => {
  const requests = Array.from(
    { length: count },
    (_, index): VideoRequest => ({ prompt: `Fox ${index + 1}` }),
  );
  return videos.startBatch({ requests, window: 1, polling: { min: '1s', max: '1s' } });
};

/** Deletes the results and job records, as for workers without a shared storage, so that only the histories remain. */
const loseResults = async ({ storageFolder }: World, { workflowId }: VideoBatch) => {
  await rm(join(storageFolder, resultsKey(workflowId)));
  await rm(join(storageFolder, 'jobs'), { recursive: true });
};

const runIdOf = async ({ workflowId }: VideoBatch) =>
  (await env.temporal.client.workflow.getHandle(workflowId).describe()).runId;

const isAt =
  (item: number, phase: string) =>
  ({ running }: BatchProgress) =>
    running.some((one) => one.item === item && one.phase === phase);

/** Lets the batch poll until its history is long and it continues as new. */
async function untilContinued(batch: VideoBatch): Promise<void> {
  const before = await runIdOf(batch);
  while ((await runIdOf(batch)) === before) {
    await batch.pollNow();
    await pause();
  }
}

test('a batch that was reset and then continued as new finds the tasks of the run before the reset', async () => {
  await inBatchWorld(async (world) => {
    const batch = await startBatch(world, 2);
    const first = await runIdOf(batch);
    await batch.result();
    await loseResults(world, batch);
    expect(await runIdOf(batch)).toBe(first);

    tasksRun = true;
    await reset(env.temporal.client, batch);
    await untilProgress(batch, isAt(1, 'waiting'));
    await untilContinued(batch);
    tasksRun = false;
    expect(await batch.result()).toMatchObject({ succeeded: 2 });
    expect(world.emulator.generations()).toHaveLength(2);
  });
});

test('a batch whose first run is reset finds the tasks of its later runs', async () => {
  await inBatchWorld(async (world) => {
    const batch = await startBatch(world, 4);
    const first = await runIdOf(batch);
    await batch.result();
    await loseResults(world, batch);
    expect(await runIdOf(batch)).not.toBe(first);

    await reset(env.temporal.client, { ...batch, runId: first });
    expect(await batch.result()).toMatchObject({ succeeded: 4 });
    expect(world.emulator.generations()).toHaveLength(4);
  });
});

test('an item is held when Temporal has deleted the run before the reset, and submitted after the decision', async () => {
  await inBatchWorld(async (world) => {
    const batch = await startBatch(world, 2);
    const first = await runIdOf(batch);
    await batch.result();
    await loseResults(world, batch);

    tasksRun = true;
    await reset(env.temporal.client, batch);
    await untilProgress(batch, isAt(1, 'waiting'));
    await deleteRun({ workflowId: batch.workflowId, runId: first });
    tasksRun = false;
    const { running } = await untilProgress(batch, isAt(2, 'needs-decision'));
    expect(running[0]?.hold?.message).toContain(`Temporal no longer has run ${first}`);
    await batch.decideSubmit({ item: 2, decision: 'resubmit' });
    expect(await batch.result()).toMatchObject({ succeeded: 2 });
    expect(world.emulator.generations()).toHaveLength(3);
  });
});

/** Deletes a run, as the server does after the retention period. */
async function deleteRun(workflowExecution: { workflowId: string; runId: string }): Promise<void> {
  const { client } = env.temporal;
  const { namespace } = client.options;
  await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
  const { workflowId, runId } = workflowExecution;
  for (;;) {
    try {
      await client.workflow.getHandle(workflowId, runId).describe();
      await pause();
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return;
      throw error;
    }
  }
}
