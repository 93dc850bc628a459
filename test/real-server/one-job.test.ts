import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { activityInfo, cancelled } from '@temporalio/activity';
import { type ActivityInboundCallsInterceptor, Worker } from '@temporalio/worker';
import { type BatchProgress, itemName } from '../../src/contract/batch';
import { BATCH_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../../src/contract/names';
import { LARGEST_REQUEST_BYTES } from '../../src/contract/sizes';
import { createFailure } from '../../src/contract/video-failure';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type Emulator, type VideoTestEnvironment } from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { historiesOf, historyOf } from '../support/history';
import { captureLogs } from '../support/logs';
import { postsOf } from '../support/posts';
import { submittingHere, submittingOn } from '../support/redirect-submits';
import { reset } from '../support/reset';
import { withConstants } from '../support/short-histories';
import { failureOf, inWorld, pause, untilProgress, type World } from '../support/world';

const request = { prompt: 'A red fox', duration: 5 };
const other = { ...request, duration: 10 };
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
const handleOf = ({ workflowId }: { workflowId: string }) =>
  env.temporal.client.workflow.getHandle(workflowId);
const lostTask = ({ emulator }: World) => emulator.generations()[0]?.taskId ?? '';
const isHeld = ({ phase }: { phase: string }) => phase === 'needs-decision';

describe('callers of one name', () => {
  /** Starts a workflow as the SDK of any language does, without our memo. */
  const startElsewhere = async (taskQueue: string, input: object, type = WORKFLOW_TYPE) => {
    const workflowId = newName();
    await env.temporal.client.workflow.start(type, { workflowId, taskQueue, args: [input] });
    return workflowId;
  };

  test('join a job that another program started, with null for unset fields and in another order, or learn what differs', async () => {
    const ordered = { duration: 5, prompt: 'A red fox' };
    const input = { polling, taskId: null, deadline: null, request: ordered };
    await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, taskQueue }) => {
      const workflowId = await startElsewhere(taskQueue, input);
      expect(String(await failureOf(videos.start({ request: other }, { workflowId })))).toContain(
        'it differs in duration',
      );
      expect(String(await failureOf(videos.submit({ request: other }, { workflowId })))).toContain(
        'duration',
      );
      const adopting = await failureOf(videos.start({ taskId: 'task_1' }, { workflowId }));
      expect(String(adopting)).toContain('it differs in duration, prompt, taskId');
      const { job, taskId } = await videos.submit({ request }, { workflowId });
      const result = await job.result();
      expect(result.taskId).toBe(taskId);
      expect(await videos.execute({ request }, { workflowId })).toEqual(result);
      expect(emulator.generations()).toHaveLength(1);
    });
  });

  test('do not join a batch that another program started, whose requests only our memo identifies, but can await it', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, taskQueue }) => {
      const input = { requests: [request], requestsFrom: null, polling };
      const workflowId = await startElsewhere(taskQueue, input, BATCH_WORKFLOW_TYPE);
      expect(String(await failureOf(videos.startBatch({ requests: [request] }, { workflowId })))).toContain(
        'it differs in requests',
      );
      expect(await videos.batch(workflowId).result()).toMatchObject({ succeeded: 1, failed: 0 });
      expect(emulator.generations()).toHaveLength(1);
    });
  });

  test('may be more than the updates that Temporal allows a workflow', async () => {
    await inWorld(env, { jobTimeMs: 60_000 }, async ({ emulator, videos }) => {
      const workflowId = newName();
      const submit = () => videos.submit({ request, polling: { min: '1h', max: '1h' } }, { workflowId });
      const { job, taskId } = await submit();
      for (let asked = 0; asked < MAX_UPDATES + 1; asked++) {
        expect((await submit()).taskId).toBe(taskId);
        expect(await job.taskId()).toBe(taskId);
      }
      expect(emulator.generations()).toHaveLength(1);
    });
  });

  test('who wait for the task each learn that the job is held and how to decide, and then get the task', async () => {
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
      // One for the callers before the hold, the decision, and one for those who asked before the memo had the task.
      const { events } = await historyOf(env.temporal.client, workflowId);
      const updates = events?.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
      expect(updates?.length).toBeLessThanOrEqual(3);
    });
  });
});

describe('the name of a job that has ended', () => {
  const submits = (emulator: Emulator) => postsOf(emulator).length;

  test('after a cancellation before the submit is free; eight concurrent callers start one job', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
      const workflowId = newName();
      const unsent = await videos.start({ request }, submittingOn(newName(), workflowId));
      await unsent.cancel();
      expectRow(await failureOf(unsent.result()), 'Cancelled', undefined);
      const again = submittingHere(workflowId);
      const all = await Promise.all(
        Array.from({ length: 8 }, () => videos.submit({ request, polling }, again)),
      );
      expect(new Set(all.map(({ taskId }) => taskId)).size).toBe(1);
      await videos.handle(workflowId).result();
      expect(submits(emulator)).toBe(1);
    });
  });

  test('with a task is not reused: the failure says when the job ended and how to continue', async () => {
    await inWorld(env, { jobTimeMs: 60_000 }, async ({ emulator, videos }) => {
      const workflowId = newName();
      const { job, taskId } = await videos.submit({ request, polling }, { workflowId });
      await job.cancel();
      const first = await failureOf(job.result());
      expectRow(first, 'Cancelled', taskId);
      expect(String(first)).not.toContain('ended like this at');
      const { closeTime } = await handleOf(job).describe();
      const again = await failureOf(videos.execute({ request }, { workflowId }));
      expectRow(again, 'Cancelled', taskId);
      expect(String(again)).toContain(`the job ${workflowId} ended like this at ${closeTime?.toISOString()}`);
      expect(String(again)).toContain(`continue with videogen retry ${workflowId}`);
      expect((await videos.submit({ request }, { workflowId })).taskId).toBe(taskId);
      expect(submits(emulator)).toBe(1);
    });
  });

  test('whose submit was lost is not reused, even if a resubmission was refused', async () => {
    await inWorld(env, { onLostSubmit: 'fail' }, async ({ emulator, videos }) => {
      emulator.next('submit', { kind: 'reset' });
      const lost = newName();
      const failed = videos.execute({ request }, { workflowId: lost });
      expectRow(await failureOf(failed), 'SubmitUnconfirmed', undefined);
      const again = await failureOf(videos.submit({ request }, { workflowId: lost }));
      expectRow(again, 'SubmitUnconfirmed', undefined);
      expect(String(again)).toContain('continue with videogen retry');

      emulator.next('submit', { kind: 'reset' }, { kind: 'refused', status: 401, message: 'no such key' });
      const job = await videos.start({ request, onLostSubmit: 'hold' }, { workflowId: newName() });
      await untilProgress(job, isHeld);
      await job.decideSubmit({ decision: 'resubmit' });
      expectRow(await failureOf(job.result()), 'Unauthorized', undefined);
      const refused = videos.execute({ request }, { workflowId: job.workflowId });
      expectRow(await failureOf(refused), 'Unauthorized', undefined);
      expect(submits(emulator)).toBe(3);
    });
  });

  test('that was terminated starts again, and its record says what was sent: nothing, or a task that came too late', async () => {
    await inWorld(env, { jobTimeMs: 60_000 }, async ({ emulator, videos }) => {
      const unsent = newName();
      const job = await videos.start({ request }, submittingOn(newName(), unsent));
      await handleOf(job).terminate('too many foxes');
      expectRow(await failureOf(job.result()), 'Cancelled', undefined);
      await videos.submit({ request }, submittingHere(unsent));
      expect(submits(emulator)).toBe(1);

      emulator.next('submit', { kind: 'late', ms: 2_000 });
      const sending = await videos.start({ request }, { workflowId: newName() });
      const waiting = failureOf(sending.taskId());
      while (submits(emulator) < 2) await pause();
      await handleOf(sending).terminate('too many foxes');
      expectRow(await waiting, 'Cancelled', undefined);
      const { taskId } = await videos.submit({ request }, { workflowId: sending.workflowId });
      expect(taskId).toBe(emulator.generations()[1]?.taskId);
      expect(submits(emulator)).toBe(2);
    });
  });

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

describe('a retry', () => {
  test('of a job that sent nothing last keeps the key of what it sent before, and has its own deadline', async () => {
    const options = { jobTimeMs: 0, idempotencyKeys: 'honoured' } as const;
    await inWorld(env, options, async ({ emulator, videos }) => {
      emulator.next('submit', { kind: 'reset' }, { kind: 'refused', status: 401, message: 'no' });
      const job = await videos.start({ request, polling, onLostSubmit: 'resubmit' });
      expect(await failureOf(job.result())).toMatchObject({ type: 'Unauthorized' });
      const { workflowId: next } = await videos.retry(job.workflowId, { deadline: '1m' });
      await videos.handle(next).result();
      expect(emulator.generations()).toHaveLength(1);
      const { startedAt, deadlineAt } = await videos.handle(next).progress();
      expect(Date.parse(deadlineAt) - Date.parse(startedAt)).toBe(60_000);
    });
  });

  test('at the same time as others is one job with them, with the key that the caller gave', async () => {
    await inWorld(env, { jobTimeMs: 60_000 }, async ({ emulator, videos }) => {
      emulator.next('submit', { kind: 'refused', status: 401, message: 'no' });
      const workflowId = newName();
      const given = { request, polling, idempotencyKey: 'order-7' };
      await failureOf((await videos.start(given, { workflowId })).result());
      const tried = await Promise.allSettled(Array.from({ length: 8 }, () => videos.retry(workflowId)));
      expect(tried.filter(({ status }) => status === 'fulfilled')).not.toHaveLength(0);
      await untilProgress(videos.handle(workflowId), ({ taskId }) => taskId !== undefined);
      expect(emulator.generations()).toMatchObject([{ idempotencyKey: 'order-7' }]);
    });
  });
});

test('the task of a job that ended without its video is picked up under another name, by one job', async () => {
  let nowMs = 0;
  const options = { jobTimeMs: 60_000, clock: () => nowMs };
  await inWorld(env, options, async ({ emulator, videos, taskQueue }) => {
    const { job, taskId } = await videos.submit({ request, polling }, { workflowId: newName() });
    await handleOf(job).terminate('a test');
    nowMs += 60_000;
    const names = [newName(), newName(), newName()];
    const ends = await Promise.allSettled(
      names.map((name) => videos.execute({ taskId, polling }, { workflowId: name })),
    );
    const winner = ends.findIndex(({ status }) => status === 'fulfilled');
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const end of ends)
      if (end.status === 'rejected')
        expect(String(end.reason)).toContain(`belongs to the job ${names[winner]}`);

    // Not even the job that made the task gets it back.
    const again = { taskQueue, workflowId: job.workflowId, args: [{ taskId, polling }] };
    const first = await failureOf(env.temporal.client.workflow.execute('generateVideo', again));
    expect(String(Object(first).cause)).toContain(`belongs to the job ${names[winner]}`);
    expect(emulator.generations()).toHaveLength(1);
  });
});

describe('at the deadline of a job', () => {
  test('a submit that was refused and then waited for a worker has lost nothing', async () => {
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

  test('a task that only the last heartbeat of a submit names is polled, and the job not held', async () => {
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
      const job = await videos.start({ request, deadline: '6s' });
      expect((await job.result()).taskId).toBe(emulator.generations()[0]?.taskId);
      expect(emulator.generations()).toHaveLength(1);
    });
  });
});

describe('a large request', () => {
  /** A request with exactly this size as JSON. */
  function requestOf(bytes: number) {
    const small = { prompt: 'A red fox', image_url: 'data:image/png;base64,' };
    return { ...small, image_url: small.image_url + 'A'.repeat(bytes - JSON.stringify(small).length) };
  }

  test('of the largest allowed size can be started, submitted in one call, joined and stored', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ videos, emulator }) => {
      const largest = requestOf(LARGEST_REQUEST_BYTES);
      const workflowId = newName();
      const { job, taskId } = await videos.submit({ request: largest }, { workflowId });
      expect(await job.result()).toMatchObject({ taskId });
      const joined = await videos.start({ request: largest }, { workflowId });
      expect(await joined.result()).toMatchObject({ taskId });
      const differs = { ...largest, image_url: `${largest.image_url.slice(0, -1)}B` };
      await expect(videos.start({ request: differs }, { workflowId })).rejects.toThrow('image_url');
      expect(emulator.generations()).toHaveLength(1);
    });
  });

  test('is one of many in a batch that continues as new while items are held, and each is resubmitted', async () => {
    // One run of the batch may have hardly more than the requests of three items.
    const worker = { workflowBundle: withConstants({ LARGEST_BATCH_HISTORY_BYTES: 500_000 }) };
    const options = { jobTimeMs: 0, idempotencyKeys: 'honoured', worker } as const;
    await inWorld(env, options, async ({ emulator, videos, storageFolder, storedFiles }) => {
      const all = [1, 2, 3, 4, 5].map((number) => ({ ...requestOf(150_000), prompt: `Fox ${number}` }));
      emulator.next('submit', ...all.map(() => ({ kind: 'reset' }) as const));
      const lines = all.map((one) => `${JSON.stringify(one)}\n`).join('');
      await createFileStorage(storageFolder).write('in/foxes.jsonl', lines, 'application/x-ndjson');
      const input = { requestsFrom: 'in/foxes.jsonl', window: 20, polling };
      const batch = await videos.startBatch(input, { workflowId: 'large' });
      const heldItems = ({ running }: BatchProgress) => running.filter((item) => item.isHeld).length;
      await untilProgress(batch, (progress) => heldItems(progress) === all.length);
      expect((await historiesOf(env.temporal.client, 'large')).length).toBeGreaterThan(1);
      const items = all.map((_, index) => videos.handle(itemName('large', index + 1)));
      await Promise.all(items.map((item) => item.decideSubmit({ decision: 'resubmit' })));
      expect(await batch.result()).toMatchObject({ items: 5, succeeded: 5, failed: 0 });
      const paid = emulator.generations().map(({ request: { prompt } }) => prompt);
      expect(paid.sort()).toEqual(all.map(({ prompt }) => prompt));
      expect((await storedFiles()).filter((name) => name.endsWith('.mp4'))).toHaveLength(all.length);
    });
  });
});
