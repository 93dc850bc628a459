import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { createVideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import { readFailure } from '../../src/contract/video-failure';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { historyOf } from '../support/history';
import { captureLogs } from '../support/logs';
import { reset } from '../support/reset';
import { failureOf, inWorld, pause, untilProgress, type World } from '../support/world';

const request = { prompt: 'A red fox' };
const polling = { min: '1s', max: '1s' } as const;
/** Instead of Temporal's 2,000, so that the limit is reached quickly. */
const MAX_UPDATES = 15;

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({
    server: 'dev',
    dynamicConfig: { 'history.maxTotalUpdates': `${MAX_UPDATES}` },
  });
});
afterAll(() => env.teardown());

const newName = () => `fox-${randomUUID()}`;
const lostTask = ({ emulator }: World) => emulator.generations()[0]?.taskId ?? '';
const isHeld = ({ phase }: { phase: string }) => phase === 'needs-decision';

async function heldJob({ emulator, videos }: World): Promise<VideoJob> {
  emulator.next('submit', { kind: 'reset' });
  const job = await videos.start({ request, polling }, { workflowId: newName() });
  await untilProgress(job, isHeld);
  return job;
}

const handleOf = ({ workflowId }: { workflowId: string }) =>
  env.temporal.client.workflow.getHandle(workflowId);

const updatesOf = async ({ workflowId }: VideoJob) =>
  (await historyOf(env.temporal.client, workflowId)).events?.filter(
    (event) => event.workflowExecutionUpdateAcceptedEventAttributes,
  );

describe('a held job', () => {
  test('with fifty waiting callers reports the hold to each, can be decided, and gives each the task', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const { emulator, videos } = world;
      emulator.next('submit', { kind: 'reset-late', ms: 500 });
      const workflowId = newName();
      const submit = () => videos.submit({ request, polling }, { workflowId });
      const job = await videos.start({ request, polling }, { workflowId });
      const ask = (count: number) =>
        Array.from({ length: count }, (_, index) =>
          index % 2 === 0 ? submit().then(({ taskId }) => taskId) : job.taskId(),
        );
      const waiting = ask(25).map(failureOf);
      await untilProgress(job, isHeld);
      for (const failure of await Promise.all([...waiting, ...ask(25).map(failureOf)])) {
        expectRow(failure, 'SubmitUnconfirmed', undefined);
        expect(String(failure)).toContain(`videogen decide ${workflowId} --adopt TASK_ID`);
      }
      await job.decideSubmit({ decision: 'adopt', taskId: lostTask(world) });
      expect(new Set(await Promise.all(ask(50)))).toEqual(new Set([lostTask(world)]));
      await job.result();
      expect(emulator.generations()).toHaveLength(1);
      // One for the callers before the hold, one for those after the decision, and the decision itself.
      expect(await updatesOf(job)).toHaveLength(3);
    });
  });

  test('has room for a decision although ten callers with updates of their own waited for the task', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      world.emulator.next('submit', { kind: 'reset-late', ms: 2_000 });
      const job = await world.videos.start({ request, polling }, { workflowId: newName() });
      const others = Array.from({ length: 10 }, () =>
        failureOf(handleOf(job).executeUpdate('waitForTask', { updateId: randomUUID() })),
      );
      while ((await updatesOf(job))?.length !== others.length) await pause();
      await untilProgress(job, isHeld);
      // Without the SDK's retries, which would repeat the update for most of a minute.
      const connection = await Connection.connect({
        address: env.temporal.address,
        interceptors: [],
      });
      const withoutRetries = await createVideoClient({
        client: new Client({ connection }),
        taskQueue: world.taskQueue,
      });
      await withoutRetries
        .handle(job.workflowId)
        .decideSubmit({ decision: 'adopt', taskId: lostTask(world) });
      for (const failure of await Promise.all(others))
        expect(readFailure(failure)?.type).toBe('SubmitUnconfirmed');
      expect((await job.result()).taskId).toBe(lostTask(world));
      await connection.close();
    });
  });

  test('that is cancelled refuses the task that is being polled, and ends', async () => {
    await inWorld(env, {}, async (world) => {
      const job = await heldJob(world);
      world.emulator.next('status', { kind: 'hang' });
      const refusal = failureOf(job.decideSubmit({ decision: 'adopt', taskId: lostTask(world) }));
      while (!world.emulator.calls.some(({ call }) => call === 'status')) await pause();
      await job.cancel();
      expect(String(await refusal)).toContain('the job was cancelled');
      expectRow(await failureOf(job.result()), 'SubmitUnconfirmed', undefined);
    });
  });
});

test('more callers than the limit of updates get the task of one job', async () => {
  await inWorld(env, { jobTimeMs: 60_000 }, async ({ emulator, videos }) => {
    const workflowId = newName();
    const submit = () => videos.submit({ request, polling: { min: '1h', max: '1h' } }, { workflowId });
    const { job, taskId } = await submit();
    for (let asked = 0; asked < MAX_UPDATES + 1; asked++) {
      expect((await submit()).taskId).toBe(taskId);
      expect(await job.taskId()).toBe(taskId);
    }
    expect(emulator.generations()).toHaveLength(1);
    await job.cancel();
    await failureOf(job.result());
  });
});

test('a caller that waits for the task gets a failure when the job is reset or terminated', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'late', ms: 5_000 });
    const job = await videos.start({ request, polling }, { workflowId: newName() });
    const waiting = failureOf(job.taskId());
    while (emulator.generations().length === 0) await pause();
    await reset(env.temporal.client, job);
    expectRow(await waiting, 'SubmitUnconfirmed', undefined);
    await job.decideSubmit({ decision: 'abandon' });
    await failureOf(job.result());

    emulator.next('submit', { kind: 'late', ms: 5_000 });
    const other = await videos.start({ request, polling }, { workflowId: newName() });
    const task = failureOf(other.taskId());
    while (emulator.generations().length === 1) await pause();
    await handleOf(other).terminate('too many foxes');
    expectRow(await task, 'Cancelled', undefined);
  });
});
