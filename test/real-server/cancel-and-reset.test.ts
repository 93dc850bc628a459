import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import { temporal } from '@temporalio/proto';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { whileHeartbeating } from '../../activities/attempt';
import { createVideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import { parseResults, resultsKey } from '../../src/contract/batch';
import type { FailureType } from '../../src/contract/failure-table';
import { createFailure } from '../../src/contract/video-failure';
import type { VideoService } from '../../src/service';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { WorkerRole } from '../../src/worker/activity-workers';
import { expectRow } from '../support/expect-row';
import { captureLogs } from '../support/logs';
import { testAtNight } from '../support/nightly';
import { postsOf } from '../support/posts';
import { reset } from '../support/reset';
import {
  failureOf,
  inWorld,
  keepRunning,
  pause,
  quickWorkflows,
  untilItems,
  untilProgress,
  type World,
} from '../support/world';
import { deleteFromTemporal, QUICK_DELETION } from './delete-from-temporal';

jest.setTimeout(120_000);

const PendingState = {
  STARTED: temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED,
  CANCEL_REQUESTED: temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED,
};
const request = { prompt: 'A red fox' };
const polling = { min: '1s', max: '1s' } as const;

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  const dynamicConfig = {
    // So that a job continues as new after a few polls.
    'limit.historyCount.suggestContinueAsNew': '60',
    ...QUICK_DELETION,
  };
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig });
});
afterAll(() => env.teardown());

const handleOf = ({ workflowId }: { workflowId: string }) =>
  env.temporal.client.workflow.getHandle(workflowId);

/** The pending activity of a job, as the server describes it. */
const pendingActivity = async (job: VideoJob) => (await handleOf(job).describe()).raw.pendingActivities?.[0];

/** A promise that somebody else resolves. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

const requests = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ prompt: `Fox ${index + 1}` }));

describe('a cancellation', () => {
  test('while a request is in flight waits for the answer: the callers learn the task, or that the submit is lost', async () => {
    await inWorld(env, {}, async ({ emulator, videos }) => {
      emulator.next('submit', { kind: 'late', ms: 3_000 }, { kind: 'reset-late', ms: 3_000 });
      const job = await videos.start({ request });
      while (emulator.generations().length === 0) await pause();
      const losing = await videos.start({ request, onLostSubmit: 'resubmit' });
      while (emulator.generations().length === 1) await pause();
      const taskId = job.taskId();
      await Promise.all([job.cancel(), losing.cancel()]);
      expect(await taskId).toBe(emulator.generations()[0]?.taskId);
      expectRow(await failureOf(job.result()), 'Cancelled', await taskId);
      expect(await job.taskId()).toBe(await taskId);
      expectRow(await failureOf(losing.result()), 'SubmitUnconfirmed', undefined);
      expect(emulator.calls.map(({ call }) => call)).toEqual(['submit', 'submit']);
    });
  });

  test('while a submit waits for its next attempt waits until its attempts were read; it is lost if they cannot be read', async () => {
    /** Fails each attempt after its request. SubmitUnconfirmed leaves the same traces as a killed worker. */
    let failsAs: FailureType = 'SubmitUnconfirmed';
    const wrapService = (service: VideoService): VideoService => ({
      ...service,
      start: async (...given) => {
        await service.start(...given);
        throw createFailure(failsAs, {}, { retryable: true, nextRetryDelayMs: 600_000 });
      },
    });
    /** What happens before the attempts of the submit are read. It outlasts a workflow task. */
    let beforeInspecting = () => setTimeout(2_000);
    const inbound: ActivityInboundCallsInterceptor = {
      execute: async (input, next) => {
        if (activityInfo().activityType === 'inspectPendingSubmit') await beforeInspecting();
        return next(input);
      },
    };
    const worker = { interceptors: { activity: [() => ({ inbound })] } };
    await inWorld(env, { worker, wrapService }, async ({ videos }) => {
      const cancelledWhileWaiting = async () => {
        const job = await videos.start({ request }, { temporal: { workflowTaskTimeout: '1s' } });
        while ((await pendingActivity(job))?.attempt !== 2) await pause();
        await job.cancel();
        const failure = await failureOf(job.result());
        expectRow(failure, 'SubmitUnconfirmed', undefined);
        return String(failure);
      };
      expect(await cancelledWhileWaiting()).toContain('attempt 1 ended before its answer was known');
      failsAs = 'ServiceFailed';
      beforeInspecting = () => Promise.reject(new Error('no answer'));
      expect(await cancelledWhileWaiting()).toContain('it could not be read how its attempts ended');
    });
  });

  test('that came while no worker ran is heeded by the first one: nothing is sent, for a job or an item of a batch', async () => {
    const taskQueue = `away-${randomUUID()}`;
    const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
    const start = async (roles?: WorkerRole[]) =>
      keepRunning(await env.createWorker({ taskQueue, roles, worker: quickWorkflows() }));
    const stopJobs = await start(['jobs']);
    const job = await videos.start({ request: { prompt: 'An early owl' } });
    const batch = await videos.startBatch({ requests: [{ prompt: 'A late owl' }] });
    const item = videos.handle(`${batch.workflowId}-1`);
    for (const one of [job, item]) while (!(await pendingActivity(one).catch(() => undefined))) await pause();
    await stopJobs();
    await job.cancel();
    await batch.cancel();
    await setTimeout(1_100);
    const stop = await start();
    const ends = await Promise.all([job, batch].map((one) => failureOf(one.result())));
    await stop();
    expect(ends).toMatchObject([{ type: 'Cancelled' }, { type: 'Cancelled' }]);
    expect(env.emulator.generations().filter(({ request: { prompt } }) => /owl/.test(prompt))).toEqual([]);
  });

  test('is not followed by a retry of a submit that is refused after it', async () => {
    const { open, opened } = gate();
    const wrapService = (service: VideoService): VideoService => ({
      ...service,
      start: (...args) => opened.then(() => service.start(...args)),
    });
    await inWorld(env, { wrapService }, async ({ emulator, videos }) => {
      emulator.next('submit', { kind: 'server-error' });
      const job = await videos.start({ request });
      while ((await pendingActivity(job))?.state !== PendingState.STARTED) await pause();
      await job.cancel();
      while ((await pendingActivity(job))?.state !== PendingState.CANCEL_REQUESTED) await pause();
      open();
      expectRow(await failureOf(job.result()), 'Cancelled', undefined);
      expect(emulator.calls).toHaveLength(1);
      expect(emulator.generations()).toHaveLength(0);
    });
  });

  test('of a held job refuses the task that is being polled for a decision, and ends the job', async () => {
    await inWorld(env, {}, async ({ emulator, videos }) => {
      emulator.next('submit', { kind: 'reset' });
      const job = await videos.start({ request, polling });
      await untilProgress(job, ({ phase }) => phase === 'needs-decision');
      emulator.next('status', { kind: 'hang' });
      const taskId = emulator.generations()[0]?.taskId ?? '';
      const refusal = failureOf(job.decideSubmit({ decision: 'adopt', taskId }));
      while (!emulator.calls.some(({ call }) => call === 'status')) await pause();
      await job.cancel();
      expect(String(await refusal)).toContain('the job was cancelled');
      expectRow(await failureOf(job.result()), 'SubmitUnconfirmed', undefined);
    });
  });

  // Temporal takes 20 s to notice it.
  testAtNight('ends a job whose download is never heard of again', async () => {
    const { open, opened } = gate();
    const silent: ActivityInboundCallsInterceptor = {
      execute: (input, next) => (activityInfo().activityType === 'downloadVideo' ? opened : next(input)),
    };
    const worker = { interceptors: { activity: [() => ({ inbound: silent })] } };
    await inWorld(env, { worker, jobTimeMs: 0 }, async ({ emulator, videos }) => {
      const job = await videos.start({ request, polling });
      while ((await pendingActivity(job))?.activityType?.name !== 'downloadVideo') await pause();
      await job.cancel();
      expectRow(await failureOf(job.result()), 'Cancelled', emulator.generations()[0]?.taskId);
      open();
    });
  });

  const cancelCall = { cancel: { method: 'DELETE', path: '/v1/videos/{taskId}' } } as const;
  // After a pause of a second each, instead of growing ones.
  const busy = Array.from({ length: 6 }, () => ({ kind: 'rate-limited', retryAfter: 1 }) as const);

  test.each([
    ['has a cancel call', cancelCall, [], 1, 'The service was asked to cancel the task.'],
    ['is too busy for its cancel call', cancelCall, busy, 5, 'could not be reached to cancel the task'],
    ['has no cancel call', undefined, [], 0, 'has no call to cancel a task and may still finish it'],
  ] as const)(
    'ends a job whose service %s, and the job says what became of its task',
    async (_what, profile, faults, calls, sentence) => {
      await inWorld(env, { jobTimeMs: 60_000, cancelling: true, profile }, async ({ emulator, videos }) => {
        emulator.next('cancel', ...faults);
        const { job, taskId } = await videos.submit({ request });
        await job.cancel();
        expectRow(await failureOf(job.result()), 'Cancelled', taskId);
        expect(emulator.calls.filter(({ call }) => call === 'cancel')).toHaveLength(calls);
        const isCancelled = emulator.generations()[0]?.cancelledAtMs !== undefined;
        expect(isCancelled).toBe(calls === 1);
        const metadata = await handleOf(job).query('__temporal_workflow_metadata');
        expect(JSON.stringify(metadata)).toContain(sentence);
      });
    },
  );

  test('of a batch that is writing its results loses none of them', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'videogen-batch-'));
    const files = createFileStorage(folder);
    const { open, opened } = gate();
    let isWriting = false;
    const storage: VideoStorage = {
      ...files,
      write: async (key, ...rest) => {
        isWriting ||= key.endsWith('results.jsonl');
        if (isWriting) await opened;
        return files.write(key, ...rest);
      },
    };
    await inWorld(env, { jobTimeMs: 0, storage }, async ({ videos }) => {
      const batch = await videos.startBatch({ requests: requests(1), polling });
      while (!isWriting) await pause();
      await batch.cancel();
      open();
      // Every item had ended, so there was nothing left to cancel.
      expect(await batch.result()).toMatchObject({ items: 1, succeeded: 1, failed: 0 });
      const lines = parseResults(await readFile(join(folder, resultsKey(batch.workflowId)), 'utf8'));
      expect(lines).toMatchObject([{ outcome: 'succeeded', taskId: expect.stringMatching(/^task_/) }]);
    });
    await rm(folder, { recursive: true });
  });
});

describe('a reset', () => {
  /** While this is true, polls report tasks as running, even ended ones. */
  let tasksRun = false;
  beforeEach(() => {
    tasksRun = false;
  });

  const wrapService = (service: VideoService): VideoService => ({
    ...service,
    status: async (taskId, options) => {
      const reading = await service.status(taskId, options);
      return tasksRun ? { ...reading, task: { state: 'running', word: 'running' } } : reading;
    },
  });

  /** Deletes the records, as for workers without a shared storage, so that only the histories remain. */
  const loseRecords = ({ storageFolder }: World) => rm(join(storageFolder, 'jobs'), { recursive: true });

  const runIdOf = async (job: VideoJob) => (await handleOf(job).describe()).runId;

  /** Lets the job poll until its history is long and it continues as new. */
  async function untilContinued(job: VideoJob): Promise<void> {
    const before = await runIdOf(job);
    while ((await runIdOf(job)) === before) {
      await job.pollNow();
      await pause();
    }
  }

  test('of a job to its beginning keeps its task: while it waits, a second time, and after it ended', async () => {
    await inWorld(env, { jobTimeMs: 0, wrapService }, async ({ emulator, videos }) => {
      tasksRun = true;
      const { job, taskId } = await videos.submit({ request, polling });
      for (let times = 1; times <= 2; times++) {
        await reset(env.temporal.client, job);
        await untilProgress(job, ({ phase }) => phase === 'waiting');
      }
      tasksRun = false;
      expect((await job.result()).taskId).toBe(taskId);
      await reset(env.temporal.client, job);
      expect((await job.result()).taskId).toBe(taskId);
      expect(emulator.generations()).toHaveLength(1);
    });
  });

  test('of a job whose request is in flight holds it, because a task may exist, and those who wait for the task learn that', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
      // Later than the new run checks: an earlier answer would be on record, and no decision would be needed.
      emulator.next('submit', { kind: 'late', ms: 8_000 });
      const job = await videos.start({ request, polling });
      const waiting = failureOf(job.taskId());
      while (emulator.generations().length === 0) await pause();
      await reset(env.temporal.client, job);
      const { hold } = await untilProgress(job, ({ phase }) => phase === 'needs-decision');
      expect(hold?.message).toContain('its answer is not on record');
      expectRow(await waiting, 'SubmitUnconfirmed', undefined);
      const taskId = emulator.generations()[0]?.taskId ?? '';
      await job.decideSubmit({ decision: 'adopt', taskId });
      expect((await job.result()).taskId).toBe(taskId);
      expect(postsOf(emulator)).toHaveLength(1);
    });
  });

  test('of the first run of a job that continued as new keeps its task without records, also if it then continues as new', async () => {
    await inWorld(env, { jobTimeMs: 0, wrapService }, async (world) => {
      tasksRun = true;
      const job = await world.videos.start({ request, polling });
      const first = await runIdOf(job);
      await job.taskId();
      await untilContinued(job);
      tasksRun = false;
      const { taskId } = await job.result();
      await loseRecords(world);

      tasksRun = true;
      await reset(env.temporal.client, { ...job, runId: first });
      await untilProgress(job, ({ phase }) => phase === 'waiting');
      await untilContinued(job);
      tasksRun = false;
      expect(await job.result()).toMatchObject({ taskId });
      expect(world.emulator.generations()).toHaveLength(1);
    });
  });

  test('holds the job when Temporal has deleted the run before, and it is submitted after the decision', async () => {
    let maySubmit = Promise.resolve();
    const inbound: ActivityInboundCallsInterceptor = {
      execute: async (input, next) => {
        // With heartbeats: on a busy machine it may take longer than Temporal waits for one.
        if (activityInfo().activityType === 'submitVideo') await whileHeartbeating(() => maySubmit);
        return next(input);
      },
    };
    const worker = { interceptors: { activity: [() => ({ inbound })] } };
    await inWorld(env, { jobTimeMs: 0, worker }, async (world) => {
      const job = await world.videos.start({ request, polling });
      const first = await runIdOf(job);
      await job.result();
      await loseRecords(world);

      const { open, opened } = gate();
      maySubmit = opened;
      await reset(env.temporal.client, job);
      await deleteFromTemporal(env.temporal.client, job.workflowId, first);
      open();
      const { hold } = await untilProgress(job, ({ phase }) => phase === 'needs-decision');
      expect(hold?.message).toContain(`Temporal no longer has run ${first}`);
      expect(hold?.lostSubmit).toBe(`run/${first}`);
      await job.decideSubmit({ decision: 'resubmit', lostSubmit: hold?.lostSubmit });
      await job.result();
      expect(world.emulator.generations()).toHaveLength(2);
    });
  });

  test('of a batch to its beginning, and then to where all of its items had started, joins them and pays for none again', async () => {
    await inWorld(env, { jobTimeMs: 0, wrapService }, async ({ emulator, videos, storageFolder }) => {
      tasksRun = true;
      const batch = await videos.startBatch({ requests: requests(3), polling });
      for (const toLast of [false, true]) {
        await untilItems(env, batch, 'waiting', 3);
        await reset(env.temporal.client, batch, { toLast });
      }
      tasksRun = false;
      expect(await batch.result()).toMatchObject({ items: 3, succeeded: 3, failed: 0 });
      const lines = parseResults(await readFile(join(storageFolder, resultsKey(batch.workflowId)), 'utf8'));
      const tasks = lines.map((line) => line.outcome === 'succeeded' && line.taskId);
      const paid = emulator.generations().map(({ taskId }) => taskId);
      expect(paid).toHaveLength(3);
      expect(tasks.sort()).toEqual(paid.sort());
    });
  });

  test('of a batch that has ended joins the jobs of the run before, without records and results', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const batch = await world.videos.startBatch({ requests: requests(2), window: 1, polling });
      await batch.result();
      await loseRecords(world);
      await rm(join(world.storageFolder, resultsKey(batch.workflowId)));

      await reset(env.temporal.client, batch);
      expect(await batch.result()).toMatchObject({ items: 2, succeeded: 2, failed: 0 });
      expect(world.emulator.generations()).toHaveLength(2);
    });
  });
});
