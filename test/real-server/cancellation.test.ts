import { temporal } from '@temporalio/proto';
import type { VideoService } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { captureLogs } from '../support/logs';
import { failureOf, inWorld, pause } from '../support/world';

const PendingState = {
  STARTED: temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED,
  CANCEL_REQUESTED: temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED,
};
const request = { prompt: 'A red fox' };

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev' });
});
afterAll(() => env.teardown());

/** What the server knows of the one activity that a job is waiting for. */
async function pendingActivity(workflowId: string) {
  const { raw } = await env.temporal.client.workflow.getHandle(workflowId).describe();
  return raw.pendingActivities?.[0];
}

test('a cancellation while the request is under way waits for the answer, so that the task is known', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'late', ms: 3_000 });
    const job = await videos.start({ request });
    while (emulator.generations().length === 0) await pause();
    await job.cancel();
    expectRow(await failureOf(job.result()), 'Cancelled', emulator.generations()[0]?.taskId);
    expect(emulator.calls.map(({ call }) => call)).toEqual(['submit']);
  });
});

test('a submit that is lost after the cancellation came is told as lost, not as cancelled', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'reset-late', ms: 3_000 });
    const job = await videos.start({ request });
    while (emulator.generations().length === 0) await pause();
    await job.cancel();
    expectRow(await failureOf(job.result()), 'SubmitUnconfirmed', undefined);
  });
});

test('whoever waits for the task id gets it although the job is cancelled meanwhile', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'late', ms: 3_000 });
    const job = await videos.start({ request });
    const taskId = job.taskId();
    while (emulator.generations().length === 0) await pause();
    await job.cancel();
    expect(await taskId).toBe(emulator.generations()[0]?.taskId);
    await failureOf(job.result());
    expect(await job.taskId()).toBe(await taskId);
  });
});

test('a cancellation while a refused submit waits for its next attempt ends with nothing paid for', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'rate-limited', retryAfter: 600 });
    const job = await videos.start({ request });
    while ((await pendingActivity(job.workflowId))?.attempt !== 2) await pause();
    await job.cancel();
    expectRow(await failureOf(job.result()), 'Cancelled', undefined);
    expect(emulator.generations()).toHaveLength(0);
  });
});

test('a submit refused after the cancellation came is not tried again, and the job ends as cancelled', async () => {
  let send = () => {};
  const maySend = new Promise<void>((resolve) => {
    send = resolve;
  });
  const held = (service: VideoService): VideoService => ({
    ...service,
    submit: (...args) => maySend.then(() => service.submit(...args)),
  });
  await inWorld(env, { wrapService: held }, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'server-error' });
    const job = await videos.start({ request });
    while ((await pendingActivity(job.workflowId))?.state !== PendingState.STARTED) await pause();
    await job.cancel();
    while ((await pendingActivity(job.workflowId))?.state !== PendingState.CANCEL_REQUESTED) await pause();
    send();
    expectRow(await failureOf(job.result()), 'Cancelled', undefined);
    expect(emulator.calls).toHaveLength(1);
    expect(emulator.generations()).toHaveLength(0);
  });
});

test('a cancellation while downloading reaches the socket and leaves no file', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, storedFiles }) => {
    emulator.next('download', { kind: 'stall', afterBytes: 20_000 });
    const job = await videos.start({ request, polling: { min: '1s' } });
    while ((await storedFiles()).length === 0) await pause();
    await job.cancel();
    expectRow(await failureOf(job.result()), 'Cancelled', emulator.generations()[0]?.taskId);
    expect(await storedFiles()).toEqual([]);
  });
});

describe('a cancelled job whose service', () => {
  const profile = { cancel: { method: 'DELETE', path: '/v1/videos/{taskId}' } } as const;
  const toldInUi = async (workflowId: string) =>
    JSON.stringify(
      await env.temporal.client.workflow.getHandle(workflowId).query('__temporal_workflow_metadata'),
    );

  test('has a cancel call asks it to cancel the task', async () => {
    await inWorld(env, { jobTimeMs: 60_000, cancelling: true, profile }, async ({ emulator, videos }) => {
      const { job, taskId } = await videos.submit({ request });
      await job.cancel();
      expectRow(await failureOf(job.result()), 'Cancelled', taskId);
      expect(emulator.generations()[0]?.cancelledAtMs).toBeDefined();
      expect(await toldInUi(job.workflowId)).toContain('The service was told to cancel the task.');
    });
  });

  test.each([
    ['refuses it', { kind: 'refused', status: 409, message: 'over' }, 1, 'refused to cancel the task'],
    ['cannot answer', { kind: 'server-error' }, 3, 'could not be told to cancel the task'],
  ] as const)(
    'has one and %s still ends, and says that the service may go on',
    async (_what, fault, calls, told) => {
      await inWorld(env, { jobTimeMs: 60_000, cancelling: true, profile }, async ({ emulator, videos }) => {
        emulator.next('cancel', fault, fault, fault, fault);
        const { job, taskId } = await videos.submit({ request });
        await job.cancel();
        expectRow(await failureOf(job.result()), 'Cancelled', taskId);
        expect(emulator.calls.filter(({ call }) => call === 'cancel')).toHaveLength(calls);
        expect(await toldInUi(job.workflowId)).toContain(told);
      });
    },
  );

  test('has none says that the service may go on', async () => {
    await inWorld(env, { jobTimeMs: 60_000, cancelling: true }, async ({ emulator, videos }) => {
      const { job, taskId } = await videos.submit({ request });
      await job.cancel();
      expectRow(await failureOf(job.result()), 'Cancelled', taskId);
      expect(emulator.calls.some(({ call }) => call === 'cancel')).toBe(false);
      expect(await toldInUi(job.workflowId)).toContain('has no call to cancel a task and may go on with it');
    });
  });
});

test('a submit that is lost after the cancellation came is not sent again, although resubmit was chosen', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'reset-late', ms: 3_000 });
    const job = await videos.start({ request, onLostSubmit: 'resubmit' });
    while (emulator.generations().length === 0) await pause();
    await job.cancel();
    expectRow(await failureOf(job.result()), 'SubmitUnconfirmed', undefined);
    expect(emulator.calls).toHaveLength(1);
  });
});
