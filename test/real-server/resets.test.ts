import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { activityInfo } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { whileHeartbeating } from '../../activities/attempt';
import type { VideoJob } from '../../src/client/video-job';
import { resultsKey } from '../../src/contract/batch';
import type { VideoService } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { reset } from '../support/reset';
import { inWorld, pause, untilProgress, type World } from '../support/world';

const LONG_HISTORY = { 'limit.historyCount.suggestContinueAsNew': '60' };

jest.setTimeout(180_000);

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig: LONG_HISTORY });
});
afterAll(() => env.teardown());

/** While this is true, polls report tasks as running, even ended ones. */
let tasksRun = false;
/** What a submit waits for before it reads anything. */
let gate: Promise<unknown> = Promise.resolve();
beforeEach(() => {
  tasksRun = false;
  gate = Promise.resolve();
});

const wrapService = (service: VideoService): VideoService => ({
  ...service,
  status: async (taskId, options) => {
    const reading = await service.status(taskId, options);
    return tasksRun ? { ...reading, task: { state: 'running', word: 'running' } } : reading;
  },
});

const inbound: ActivityInboundCallsInterceptor = {
  execute: async (input, next) => {
    // With heartbeats: on a busy machine it may take longer than Temporal waits for one.
    if (activityInfo().activityType === 'submitVideo') await whileHeartbeating(() => gate);
    return next(input);
  },
};

const inResetWorld = (work: (world: World) => Promise<void>) =>
  inWorld(
    env,
    { jobTimeMs: 0, wrapService, worker: { interceptors: { activity: [() => ({ inbound })] } } },
    work,
  );

const polling = { min: '1s', max: '1s' } as const;
const start = ({ videos }: World) => videos.start({ request: { prompt: 'A red fox' }, polling });

/** Deletes the records, as for workers without a shared storage, so that only the histories remain. */
const loseRecords = ({ storageFolder }: World) => rm(join(storageFolder, 'jobs'), { recursive: true });

const runIdOf = async ({ workflowId }: { workflowId: string }) =>
  (await env.temporal.client.workflow.getHandle(workflowId).describe()).runId;

/** Lets the job poll until its history is long and it continues as new. */
async function untilContinued(job: VideoJob): Promise<void> {
  const before = await runIdOf(job);
  while ((await runIdOf(job)) === before) {
    await job.pollNow();
    await pause();
  }
}

test('a job that was reset and then continued as new keeps the task of the run before the reset', async () => {
  await inResetWorld(async (world) => {
    const job = await start(world);
    const { taskId } = await job.result();
    await loseRecords(world);

    tasksRun = true;
    await reset(env.temporal.client, job);
    await untilProgress(job, ({ phase }) => phase === 'waiting');
    await untilContinued(job);
    tasksRun = false;
    expect(await job.result()).toMatchObject({ taskId });
    expect(world.emulator.generations()).toHaveLength(1);
  });
});

test('a job whose first run is reset after it continued as new finds its task', async () => {
  await inResetWorld(async (world) => {
    tasksRun = true;
    const job = await start(world);
    const first = await runIdOf(job);
    await job.taskId();
    await untilContinued(job);
    tasksRun = false;
    const { taskId } = await job.result();
    await loseRecords(world);

    await reset(env.temporal.client, { ...job, runId: first });
    expect(await job.result()).toMatchObject({ taskId });
    expect(world.emulator.generations()).toHaveLength(1);
  });
});

test('a job is held when Temporal has deleted the run before the reset, and submitted after the decision', async () => {
  await inResetWorld(async (world) => {
    const job = await start(world);
    const first = await runIdOf(job);
    await job.result();
    await loseRecords(world);

    let open = () => {};
    gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    await reset(env.temporal.client, job);
    await deleteRun({ workflowId: job.workflowId, runId: first });
    open();
    const { hold } = await untilProgress(job, ({ phase }) => phase === 'needs-decision');
    expect(hold?.message).toContain(`Temporal no longer has run ${first}`);
    expect(hold?.lostSubmit).toBe(`run/${first}`);
    await job.decideSubmit({ decision: 'resubmit', lostSubmit: hold?.lostSubmit });
    await job.result();
    expect(world.emulator.generations()).toHaveLength(2);
  });
});

test('a batch that was reset joins the jobs of the run before, without records and results', async () => {
  await inResetWorld(async (world) => {
    const requests = [{ prompt: 'Fox 1' }, { prompt: 'Fox 2' }];
    const batch = await world.videos.startBatch({ requests, window: 1, polling });
    await batch.result();
    await loseRecords(world);
    await rm(join(world.storageFolder, resultsKey(batch.workflowId)));

    await reset(env.temporal.client, batch);
    expect(await batch.result()).toMatchObject({ items: 2, succeeded: 2, failed: 0 });
    expect(world.emulator.generations()).toHaveLength(2);
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
