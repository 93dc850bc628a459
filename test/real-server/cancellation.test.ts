import { setTimeout } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import { temporal } from '@temporalio/proto';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import type { FailureType } from '../../src/contract/failure-table';
import { createFailure } from '../../src/contract/video-failure';
import type { VideoService } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { captureLogs } from '../support/logs';
import { testAtNight } from '../support/nightly';
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

/** The pending activity of a job, as the server describes it. */
async function pendingActivity(workflowId: string) {
  const { raw } = await env.temporal.client.workflow.getHandle(workflowId).describe();
  return raw.pendingActivities?.[0];
}

test('a cancellation while a request is in flight waits for the answer, so that the job and its callers know the task', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'late', ms: 3_000 });
    const job = await videos.start({ request });
    const taskId = job.taskId();
    while (emulator.generations().length === 0) await pause();
    await job.cancel();
    expect(await taskId).toBe(emulator.generations()[0]?.taskId);
    expectRow(await failureOf(job.result()), 'Cancelled', await taskId);
    expect(await job.taskId()).toBe(await taskId);
    expect(emulator.calls.map(({ call }) => call)).toEqual(['submit']);
  });
});

test('a submit that is lost after the cancellation is reported as lost and not sent again, whatever the policy', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'reset-late', ms: 3_000 });
    const job = await videos.start({ request, onLostSubmit: 'resubmit' });
    while (emulator.generations().length === 0) await pause();
    await job.cancel();
    expectRow(await failureOf(job.result()), 'SubmitUnconfirmed', undefined);
    expect(emulator.calls).toHaveLength(1);
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

describe('a cancellation while a submit waits for its next attempt', () => {
  /**
   * Fails each attempt after its request with this type. SubmitUnconfirmed leaves the same traces as a killed worker: a
   * request in flight without an answer.
   */
  const failingAs =
    (type: FailureType) =>
    (service: VideoService): VideoService => ({
      ...service,
      start: async (...given) => {
        await service.start(...given);
        throw createFailure(type, {}, { retryable: true, nextRetryDelayMs: 600_000 });
      },
    });
  const losing = failingAs('SubmitUnconfirmed');

  /** Does something before the attempts of the submit are read. */
  const beforeInspecting = (act: () => Promise<void>) => {
    const inbound: ActivityInboundCallsInterceptor = {
      execute: async (input, next) => {
        if (activityInfo().activityType === 'inspectPendingSubmit') await act();
        return next(input);
      },
    };
    return { interceptors: { activity: [() => ({ inbound })] } };
  };

  test('cancels the submit only after its attempts were read, even if that outlasts a workflow task', async () => {
    const worker = beforeInspecting(() => setTimeout(3_000));
    await inWorld(env, { worker, wrapService: losing }, async ({ videos }) => {
      const job = await videos.start({ request }, { temporal: { workflowTaskTimeout: '1s' } });
      while ((await pendingActivity(job.workflowId))?.attempt !== 2) await pause();
      await job.cancel();
      const failure = await failureOf(job.result());
      expectRow(failure, 'SubmitUnconfirmed', undefined);
      expect(String(failure)).toContain('attempt 1 ended before its answer was known');
    });
  });

  test('treats the submit as lost when its attempts cannot be read from Temporal', async () => {
    const worker = beforeInspecting(async () => {
      throw new Error('no answer');
    });
    const wrapService = failingAs('ServiceFailed');
    await inWorld(env, { worker, wrapService }, async ({ videos }) => {
      const job = await videos.start({ request });
      while ((await pendingActivity(job.workflowId))?.attempt !== 2) await pause();
      await job.cancel();
      const failure = await failureOf(job.result());
      expectRow(failure, 'SubmitUnconfirmed', undefined);
      expect(String(failure)).toContain('it could not be read how its attempts ended');
    });
  });
});

test('a submit refused after the cancellation is not retried, and the job ends as cancelled', async () => {
  let send = () => {};
  const maySend = new Promise<void>((resolve) => {
    send = resolve;
  });
  const held = (service: VideoService): VideoService => ({
    ...service,
    start: (...args) => maySend.then(() => service.start(...args)),
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

test('a job whose poll gets no answer still answers queries, and a cancellation ends it at once', async () => {
  await inWorld(env, { jobTimeMs: 60_000 }, async ({ emulator, videos }) => {
    // The local poll first, then the regular one.
    emulator.next('status', { kind: 'hang' }, { kind: 'hang' });
    const job = await videos.start({ request, polling: { min: '1s', max: '1s' } });
    while ((await pendingActivity(job.workflowId))?.activityType?.name !== 'pollVideo') await pause();
    const { phase, polls } = await job.progress();
    expect({ phase, polls }).toEqual({ phase: 'waiting', polls: 0 });
    await job.cancel();
    expectRow(await failureOf(job.result()), 'Cancelled', emulator.generations()[0]?.taskId);
    expect(emulator.scriptIsSpent()).toBe(true);
  });
});

test('a cancellation while downloading closes the socket and leaves no file', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, storedFiles }) => {
    emulator.next('download', { kind: 'stall', afterBytes: 20_000 });
    const job = await videos.start({ request, polling: { min: '1s', max: '1s' } });
    while ((await storedFiles()).length === 0) await pause();
    await job.cancel();
    expectRow(await failureOf(job.result()), 'Cancelled', emulator.generations()[0]?.taskId);
    expect(await storedFiles()).toEqual([]);
  });
});

// Temporal takes 20 s to notice it.
testAtNight(
  'a download that is never heard of again after the cancellation ends the job as cancelled',
  async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const silent: ActivityInboundCallsInterceptor = {
      execute: (input, next) => (activityInfo().activityType === 'downloadVideo' ? released : next(input)),
    };
    const worker = { interceptors: { activity: [() => ({ inbound: silent })] } };
    await inWorld(env, { worker, jobTimeMs: 0 }, async ({ emulator, videos }) => {
      const job = await videos.start({ request, polling: { min: '1s', max: '1s' } });
      while ((await pendingActivity(job.workflowId))?.activityType?.name !== 'downloadVideo') await pause();
      await job.cancel();
      expectRow(await failureOf(job.result()), 'Cancelled', emulator.generations()[0]?.taskId);
      release();
    });
  },
);

const NO_CALL = undefined;
const cancelCall = { cancel: { method: 'DELETE', path: '/v1/videos/{taskId}' } } as const;

test.each([
  ['has a cancel call', cancelCall, [], 1, 'The service was asked to cancel the task.'],
  [
    'cannot answer',
    cancelCall,
    Array.from({ length: 6 }, () => ({ kind: 'server-error' }) as const),
    5,
    'could not be reached to cancel the task',
  ],
  ['has no cancel call', NO_CALL, [], 0, 'has no call to cancel a task and may still finish it'],
] as const)(
  'a cancelled job whose service %s ends, and says what became of its task',
  async (_what, profile, faults, calls, sentence) => {
    await inWorld(env, { jobTimeMs: 60_000, cancelling: true, profile }, async ({ emulator, videos }) => {
      emulator.next('cancel', ...faults);
      const { job, taskId } = await videos.submit({ request });
      await job.cancel();
      expectRow(await failureOf(job.result()), 'Cancelled', taskId);
      expect(emulator.calls.filter(({ call }) => call === 'cancel')).toHaveLength(calls);
      const isCancelled = emulator.generations()[0]?.cancelledAtMs !== undefined;
      expect(isCancelled).toBe(calls === 1 && faults.length === 0);
      const handle = env.temporal.client.workflow.getHandle(job.workflowId);
      expect(JSON.stringify(await handle.query('__temporal_workflow_metadata'))).toContain(sentence);
    });
  },
);
