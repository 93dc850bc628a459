import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { activityInfo, cancelled } from '@temporalio/activity';
import { type ActivityInboundCallsInterceptor, Worker } from '@temporalio/worker';
import { BATCH_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../../src/contract/names';
import { LARGEST_REQUEST_BYTES } from '../../src/contract/sizes';
import { createFailure } from '../../src/contract/video-failure';
import { createFileStorage, createS3Storage, digestOfJob, fileName } from '../../src/storage';
import { createVideoTestEnvironment, type Emulator, type VideoTestEnvironment } from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { captureLogs } from '../support/logs';
import { atLength } from '../support/nightly';
import { submittingHere, submittingOn } from '../support/redirect-submits';
import { reset } from '../support/reset';
import { S3_SERVER_TIMEOUT_MS, startS3Server } from '../support/s3-server';
import { SlowWrites, slowStorage, startSlowS3 } from '../support/slow-storage';
import { failureOf, inWorld, pause, untilProgress } from '../support/world';

const request = { prompt: 'A red fox', duration: 5 };
const EVERY_SECOND = { min: '1s', max: '1s' };

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev' });
});
afterAll(() => env.teardown());

const newName = () => `fox-${randomUUID()}`;

test('callers that submit under one name get one job and one generation, at the same time and after it has ended', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    const workflowId = newName();
    const both = await Promise.all([
      videos.submit({ request, polling: EVERY_SECOND }, { workflowId }),
      videos.submit({ request, polling: EVERY_SECOND, deadline: '2h' }, { workflowId }),
      videos.start({ request }, { workflowId }).then(async (job) => ({ job, taskId: await job.taskId() })),
    ]);
    const result = await both[0].job.result();
    const later = await videos.submit({ request }, { workflowId });
    expect(new Set([...both, later].map(({ taskId }) => taskId))).toEqual(new Set([result.taskId]));
    expect(await later.job.result()).toEqual(result);
    expect(emulator.generations()).toHaveLength(1);
  });
});

test.each(['start', 'submit'] as const)(
  'another request under the name of a job is refused by %s with the differences, while the job runs and after its end',
  async (method) => {
    await inWorld(env, { jobTimeMs: 1_000 }, async ({ emulator, videos }) => {
      const workflowId = newName();
      const { job } = await videos.submit({ request, polling: EVERY_SECOND }, { workflowId });
      const refusal = () =>
        failureOf(videos[method]({ request: { ...request, duration: 10 } }, { workflowId }));
      const running = await refusal();
      expect(running).toMatchObject({ type: 'InvalidRequest' });
      expect(String(running)).toContain('it differs in duration');
      await job.result();
      expect(String(await refusal())).toContain('it differs in duration');
      expect(emulator.generations()).toHaveLength(1);
    });
  },
);

describe('a job that another program started, without our memo', () => {
  /** Starts a workflow as the SDK of any language does. */
  const startElsewhere = async (taskQueue: string, input: object, type = WORKFLOW_TYPE) => {
    const workflowId = newName();
    await env.temporal.client.workflow.start(type, { workflowId, taskQueue, args: [input] });
    return workflowId;
  };

  test('is joined by the same request, with null for unset fields and in another order, while it runs and after its end', async () => {
    const ordered = { duration: 5, prompt: 'A red fox' };
    const input = { polling: EVERY_SECOND, taskId: null, deadline: null, request: ordered };
    await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, taskQueue }) => {
      const workflowId = await startElsewhere(taskQueue, input);
      const { job, taskId } = await videos.submit({ request }, { workflowId });
      const result = await job.result();
      expect(result.taskId).toBe(taskId);
      expect(await videos.execute({ request }, { workflowId })).toEqual(result);
      expect(emulator.generations()).toHaveLength(1);
    });
  });

  test('is not joined by another request, and the failure lists the differences', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ videos, taskQueue }) => {
      const workflowId = await startElsewhere(taskQueue, { request, polling: EVERY_SECOND });
      const other = { request: { ...request, duration: 10 } };
      expect(String(await failureOf(videos.start(other, { workflowId })))).toContain(
        'it differs in duration',
      );
      const adopting = await failureOf(videos.start({ taskId: 'task_1' }, { workflowId }));
      expect(String(adopting)).toContain('it differs in prompt, duration, taskId');
      // The world ends only jobs that have run an activity: a later submit would reach the next test's service.
      await videos.handle(workflowId).taskId();
    });
  });

  test('is not joined as a batch, whose requests only our memo identifies, but can be awaited by its name', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, taskQueue }) => {
      const input = { requests: [request], requestsFrom: null, polling: EVERY_SECOND };
      const workflowId = await startElsewhere(taskQueue, input, BATCH_WORKFLOW_TYPE);
      expect(String(await failureOf(videos.startBatch({ requests: [request] }, { workflowId })))).toContain(
        'it differs in requests',
      );
      expect(await videos.batch(workflowId).result()).toMatchObject({ succeeded: 1, failed: 0 });
      expect(emulator.generations()).toHaveLength(1);
    });
  });
});

async function inFolder(writes: SlowWrites) {
  const folder = await mkdtemp(join(tmpdir(), 'videogen-slow-'));
  const close = async () => {
    await writes.land();
    await rm(folder, { recursive: true });
  };
  return { storage: slowStorage(createFileStorage(folder), writes), close };
}

async function inBucket(writes: SlowWrites) {
  const { bucket, connection, stop } = await startS3Server();
  const proxy = await startSlowS3(connection.endpoint, writes);
  const storage = createS3Storage({ bucket, prefix: 'slow', ...connection, endpoint: proxy.endpoint });
  return { storage, close: () => proxy.stop().then(stop) };
}

describe('the name of a job that has ended', () => {
  const submits = (emulator: Emulator) => emulator.calls.filter(({ call }) => call === 'submit').length;

  test('after a refused key is free for the same request', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
      const workflowId = newName();
      const input = { request, polling: EVERY_SECOND };
      emulator.next('submit', { kind: 'refused', status: 401, message: 'no such key' });
      expectRow(await failureOf(videos.execute(input, { workflowId })), 'Unauthorized', undefined);
      const { taskId } = await videos.execute(input, { workflowId });
      expect(emulator.generations().map((task) => task.taskId)).toEqual([taskId]);
      const other = videos.start({ request: { ...request, duration: 10 } }, { workflowId });
      expectRow(await failureOf(other), 'InvalidRequest', undefined);
    });
  });

  test('after a cancellation before the submit is free; eight concurrent callers start one job', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
      const workflowId = newName();
      const unsent = await videos.start({ request }, submittingOn(newName(), workflowId));
      await unsent.cancel();
      expectRow(await failureOf(unsent.result()), 'Cancelled', undefined);
      const again = submittingHere(workflowId);
      const all = await Promise.all(
        Array.from({ length: 8 }, () => videos.submit({ request, polling: EVERY_SECOND }, again)),
      );
      expect(new Set(all.map(({ taskId }) => taskId)).size).toBe(1);
      await videos.handle(workflowId).result();
      expect(submits(emulator)).toBe(1);
    });
  });

  test('with a task is not reused: the failure says when the job ended and how to continue', async () => {
    await inWorld(env, { jobTimeMs: 60_000 }, async ({ emulator, videos }) => {
      const workflowId = newName();
      const input = { request, polling: EVERY_SECOND, deadline: '5s' } as const;
      const { job, taskId } = await videos.submit(input, { workflowId });
      const first = await failureOf(job.result());
      expectRow(first, 'DeadlineExceeded', taskId);
      expect(String(first)).not.toContain('ended like this at');
      const { closeTime } = await env.temporal.client.workflow.getHandle(workflowId).describe();
      const again = await failureOf(videos.execute({ request }, { workflowId }));
      expectRow(again, 'DeadlineExceeded', taskId);
      expect(String(again)).toContain(`the job ${workflowId} ended like this at ${closeTime?.toISOString()}`);
      expect(String(again)).toContain(`continue with videogen retry ${workflowId}`);
      expect((await videos.submit({ request }, { workflowId })).taskId).toBe(taskId);
      expect(submits(emulator)).toBe(1);
    });
  });

  test('whose submit was lost is not reused, even if a resubmission was refused', async () => {
    await inWorld(env, {}, async ({ emulator, videos }) => {
      emulator.next('submit', { kind: 'reset' });
      const lost = newName();
      const failed = videos.execute({ request, onLostSubmit: 'fail' }, { workflowId: lost });
      expectRow(await failureOf(failed), 'SubmitUnconfirmed', undefined);
      const again = await failureOf(videos.submit({ request }, { workflowId: lost }));
      expectRow(again, 'SubmitUnconfirmed', undefined);
      expect(String(again)).toContain('continue with videogen retry');

      const refused = newName();
      emulator.next('submit', { kind: 'reset' }, { kind: 'refused', status: 401, message: 'no such key' });
      const job = await videos.start({ request }, { workflowId: refused });
      await untilProgress(job, ({ phase }) => phase === 'needs-decision');
      await job.decideSubmit({ decision: 'resubmit' });
      expectRow(await failureOf(job.result()), 'Unauthorized', undefined);
      expectRow(
        await failureOf(videos.execute({ request }, { workflowId: refused })),
        'Unauthorized',
        undefined,
      );
      expect(submits(emulator)).toBe(3);
    });
  });

  test('that was terminated starts again, and its record says what was sent: nothing, or a task that came too late', async () => {
    await inWorld(env, { jobTimeMs: 60_000 }, async ({ emulator, videos }) => {
      const unsent = newName();
      const job = await videos.start({ request }, submittingOn(newName(), unsent));
      await env.temporal.client.workflow.getHandle(unsent).terminate('too many foxes');
      expectRow(await failureOf(job.result()), 'Cancelled', undefined);
      await videos.submit({ request }, submittingHere(unsent));
      expect(submits(emulator)).toBe(1);

      emulator.next('submit', { kind: 'late', ms: 2_000 });
      const sending = newName();
      await videos.start({ request }, { workflowId: sending });
      while (submits(emulator) < 2) await pause();
      await env.temporal.client.workflow.getHandle(sending).terminate('too many foxes');
      while (emulator.generations().length < 2) await pause();
      const { taskId } = await videos.submit({ request }, { workflowId: sending });
      expect(taskId).toBe(emulator.generations()[1]?.taskId);
      expect(submits(emulator)).toBe(2);
    });
  });

  test.each(['a folder', 'S3'])(
    'that was terminated while its records are written slowly, in %s, starts again and pays once',
    async (place) => {
      const writes = new SlowWrites({ key: /\bjobs\//, nth: 'every', delayMs: 300 });
      const { storage, close } = await (place === 'S3' ? inBucket(writes) : inFolder(writes));
      await inWorld(env, { jobTimeMs: 0, storage }, async ({ emulator, videos, taskQueue }) => {
        const start = (workflowId: string) =>
          env.temporal.client.workflow.start('generateVideo', { taskQueue, workflowId, args: [{ request }] });
        for (let paid = 1; paid <= atLength(2, 6); paid++) {
          const workflowId = newName();
          const before = writes.held;
          const first = await start(workflowId);
          while (writes.held === before) await pause();
          await first.terminate('a test');
          await start(workflowId);
          const job = videos.handle(workflowId);
          const ended = /needs-decision|succeeded|failed/;
          const { phase } = await untilProgress(job, (now) => ended.test(now.phase));
          // An operator is asked, and finds the task of the run before.
          const taskId = emulator.generations()[paid - 1]?.taskId ?? '';
          if (phase === 'needs-decision') await job.decideSubmit({ decision: 'adopt', taskId });
          expect((await job.result()).taskId).toBe(taskId);
          expect(emulator.generations()).toHaveLength(paid);
          expect(submits(emulator)).toBe(paid);
        }
      });
      await close();
    },
    S3_SERVER_TIMEOUT_MS,
  );

  test('that was reset and cancelled is not reused, because a request may have been sent', async () => {
    await inWorld(env, { jobTimeMs: 60_000 }, async ({ emulator, videos }) => {
      const { job: paid } = await videos.submit({ request }, { workflowId: newName() });
      // It may be cancelled before it finds the paid task of the earlier run.
      await reset(env.temporal.client, paid);
      await paid.cancel();
      expect(await failureOf(paid.result())).toMatchObject({ type: 'Cancelled' });
      const again = videos.execute({ request }, { workflowId: paid.workflowId });
      expect(await failureOf(again)).toMatchObject({ type: 'Cancelled' });
      expect(submits(emulator)).toBe(1);
    });
  });
});

describe('a job that is reset to its beginning', () => {
  test('keeps its task: while it waits, a second time, and after it ended', async () => {
    await inWorld(env, { jobTimeMs: 6_000 }, async ({ emulator, videos }) => {
      const { job, taskId } = await videos.submit({ request, polling: EVERY_SECOND });
      for (let times = 1; times <= 2; times++) {
        await reset(env.temporal.client, job);
        await untilProgress(job, ({ phase }) => phase === 'waiting');
      }
      expect((await job.result()).taskId).toBe(taskId);
      await reset(env.temporal.client, job);
      expect((await job.result()).taskId).toBe(taskId);
      expect(emulator.generations()).toHaveLength(1);
    });
  });

  test('while its request is in flight is held, because a task may exist', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
      // Later than the new run checks: an earlier answer would be on record, and no decision would be needed.
      emulator.next('submit', { kind: 'late', ms: 10_000 });
      const job = await videos.start({ request, polling: EVERY_SECOND });
      while (emulator.generations().length === 0) await pause();
      await reset(env.temporal.client, job);
      const { hold } = await untilProgress(job, ({ phase }) => phase === 'needs-decision');
      expect(hold?.message).toContain('its answer is not on record');
      const taskId = emulator.generations()[0]?.taskId ?? '';
      await job.decideSubmit({ decision: 'adopt', taskId });
      expect((await job.result()).taskId).toBe(taskId);
      expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(1);
    });
  });
});

test('a job whose submit was refused and then waits for a worker until the deadline is not held', async () => {
  await inWorld(env, {}, async ({ videos, emulator }) => {
    const submit = newName();
    const worker = await Worker.create({
      connection: env.temporal.nativeConnection,
      taskQueue: submit,
      activities: {
        submitVideo: () => {
          // No attempt after this one finds a worker.
          worker.shutdown();
          throw createFailure('RateLimited', { message: 'nothing was sent' }, { retryable: true });
        },
      },
    });
    const end = worker.run();
    const job = await videos.start({ request, deadline: '4s' }, submittingOn(submit));
    await end;
    expectRow(await failureOf(job.result()), 'DeadlineExceeded', undefined);
    expect(emulator.calls).toHaveLength(0);
  });
});

test('a task that only the last heartbeat of a submit names is polled at the deadline, and not held', async () => {
  let folder = '';
  const hanging: ActivityInboundCallsInterceptor = {
    execute: async (input, next) => {
      const result = await next(input);
      if (activityInfo().activityType !== 'submitVideo') return result;
      await rm(join(folder, 'jobs'), { recursive: true });
      // Temporal gives the attempt up at the deadline.
      await cancelled();
      return result;
    },
  };
  const worker = {
    interceptors: { activity: [() => ({ inbound: hanging })] },
    maxHeartbeatThrottleInterval: '100ms' as const,
  };
  await inWorld(env, { worker, jobTimeMs: 0 }, async ({ videos, emulator, storageFolder }) => {
    folder = storageFolder;
    const job = await videos.start({ request, deadline: '15s' });
    expect((await job.result()).taskId).toBe(emulator.generations()[0]?.taskId);
    expect(emulator.generations()).toHaveLength(1);
  });
});

describe('a retry', () => {
  test('finds the task on the record of an earlier job of the name, and pays for no second one', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, storageFolder }) => {
      const { taskId } = await videos.execute({ request, polling: EVERY_SECOND });
      // What a job leaves that Temporal has forgotten since.
      const workflowId = newName();
      const digest = digestOfJob({ namespace: 'default', job: workflowId }, request);
      const record = join(storageFolder, `jobs/${fileName(workflowId)}.${digest.slice(0, 16)}/0001.json`);
      await mkdir(dirname(record));
      await writeFile(record, '{ "damaged');
      const input = { request, polling: EVERY_SECOND, deadline: '8s' } as const;
      const job = await videos.start(input, { workflowId });
      expect(await failureOf(job.result())).toMatchObject({ type: 'StorageFailed' });

      const at = new Date().toISOString();
      const entry = { id: randomUUID(), at, namespace: 'default', job: workflowId };
      await writeFile(record, JSON.stringify({ event: 'task', ...entry, taskId }));
      const retried = await videos.retry(workflowId, { deadline: '1m' });
      expect(retried).toMatchObject({ workflowId, isJoined: false });
      expect(await videos.handle(workflowId).result()).toMatchObject({ taskId });
      expect(emulator.generations()).toHaveLength(1);
    });
  });

  test('of a job that sent nothing last keeps the key of what it sent before', async () => {
    const options = { jobTimeMs: 0, idempotencyKeys: 'honoured' } as const;
    await inWorld(env, options, async ({ emulator, videos }) => {
      emulator.next('submit', { kind: 'reset' }, { kind: 'refused', status: 401, message: 'no' });
      const workflowId = newName();
      const input = { request, polling: EVERY_SECOND, onLostSubmit: 'resubmit' } as const;
      const job = await videos.start(input, { workflowId });
      expect(await failureOf(job.result())).toMatchObject({ type: 'Unauthorized' });
      const { workflowId: next } = await videos.retry(workflowId);
      await videos.handle(next).result();
      expect(emulator.generations()).toHaveLength(1);
    });
  });

  test('at the same time as others is one job with them, with the key that the caller gave', async () => {
    await inWorld(env, { jobTimeMs: 60_000 }, async ({ emulator, videos }) => {
      emulator.next('submit', { kind: 'refused', status: 401, message: 'no' });
      const workflowId = newName();
      const given = { request, polling: EVERY_SECOND, idempotencyKey: 'order-7' };
      await failureOf((await videos.start(given, { workflowId })).result());
      const tried = await Promise.allSettled(Array.from({ length: 8 }, () => videos.retry(workflowId)));
      expect(tried.filter(({ status }) => status === 'fulfilled')).not.toHaveLength(0);
      await untilProgress(videos.handle(workflowId), ({ taskId }) => taskId !== undefined);
      expect(emulator.generations()).toMatchObject([{ idempotencyKey: 'order-7' }]);
      await videos.handle(workflowId).cancel();
    });
  });
});

describe('the task of a job', () => {
  test('that ended without its video is picked up under another name, by one job', async () => {
    let nowMs = 0;
    const options = { jobTimeMs: 60_000, clock: () => nowMs };
    await inWorld(env, options, async ({ emulator, videos, taskQueue }) => {
      const workflowId = newName();
      const { taskId } = await videos.submit({ request, polling: EVERY_SECOND }, { workflowId });
      await env.temporal.client.workflow.getHandle(workflowId).terminate('a test');
      nowMs += 60_000;
      const names = [newName(), newName(), newName()];
      const ends = await Promise.allSettled(
        names.map((name) => videos.execute({ taskId, polling: EVERY_SECOND }, { workflowId: name })),
      );
      const winner = ends.findIndex(({ status }) => status === 'fulfilled');
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const end of ends)
        if (end.status === 'rejected')
          expect(String(end.reason)).toContain(`belongs to the job ${names[winner]}`);

      // Not even the job that made the task gets it back.
      const again = { taskQueue, workflowId, args: [{ taskId, polling: EVERY_SECOND }] };
      const first = await failureOf(env.temporal.client.workflow.execute('generateVideo', again));
      expect(String(Object(first).cause)).toContain(`belongs to the job ${names[winner]}`);
      expect(emulator.generations()).toHaveLength(1);
    });
  });
});

/** A request with exactly this size as JSON. */
function requestOf(bytes: number) {
  const small = { prompt: 'A red fox', image_url: 'data:image/png;base64,' };
  return { ...small, image_url: small.image_url + 'A'.repeat(bytes - JSON.stringify(small).length) };
}

test('the largest allowed request can be started, submitted in one call, joined and stored', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ videos, emulator }) => {
    const largest = requestOf(LARGEST_REQUEST_BYTES);
    const workflowId = newName();
    const { job, taskId } = await videos.submit({ request: largest }, { workflowId });
    expect(await job.result()).toMatchObject({ taskId });
    const joined = await videos.start({ request: largest }, { workflowId });
    expect(await joined.result()).toMatchObject({ taskId });
    const other = { ...largest, image_url: `${largest.image_url.slice(0, -1)}B` };
    await expect(videos.start({ request: other }, { workflowId })).rejects.toThrow('image_url');
    expect(emulator.generations()).toHaveLength(1);
  });
});
