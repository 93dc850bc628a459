import { type JobInput, type LostSubmitPolicy, type SubmitDecision, VideoFailure } from '../../src/contract';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { VideoJob } from '../../src/video-job';
import { expectRow } from '../support/expect-row';
import { activities, historyOf } from '../support/history';
import { captureLogs, type LogLine } from '../support/logs';
import { failureOf, inWorld, pause, untilProgress, type World } from '../support/world';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const request = { prompt: 'A red fox' };

let env: VideoTestEnvironment;
let logs: LogLine[];
beforeAll(async () => {
  logs = captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

/** A job whose submit made its task and lost the answer, held for a decision. */
async function heldJob({ emulator, videos }: World, input: Partial<JobInput> = {}): Promise<VideoJob> {
  emulator.next('submit', { kind: 'reset' });
  const job = await videos.start({ request, ...input } as JobInput);
  await untilProgress(job, ({ phase }) => phase === 'needs-decision');
  return job;
}

const detailsOf = async (job: VideoJob) => {
  const handle = env.temporal.client.workflow.getHandle(job.workflowId);
  return JSON.stringify(await handle.query('__temporal_workflow_metadata'));
};

test('a lost submit is held: progress and the Temporal UI tell what happened, when, and the three ways out', async () => {
  await inWorld(env, {}, async (world) => {
    const job = await heldJob(world, { holdFor: '2h' });
    const { hold } = await job.progress();
    expect(Date.parse(hold?.until ?? '') - Date.parse(hold?.since ?? '')).toBe(2 * HOUR);
    expect(hold?.message).toContain('a task may exist and be paid for: read ECONNRESET');
    const details = await detailsOf(job);
    for (const told of [
      'Needs a decision',
      hold?.since,
      hold?.until,
      `videogen decide ${job.workflowId} --adopt TASK_ID`,
      `videogen decide ${job.workflowId} --resubmit`,
      `videogen decide ${job.workflowId} --abandon`,
      'decideSubmit',
    ]) {
      expect(details).toContain(told);
    }
    // Log lines arrive a little later than what they tell of.
    while (!logs.some(({ message }) => message === 'the submit is lost, waiting for a decision'))
      await pause();
    await job.decideSubmit({ decision: 'abandon' });
    await failureOf(job.result());
  });
});

test('adopt goes on with the task that was found, for one POST', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const job = await heldJob(world);
    const taskId = world.emulator.generations()[0]?.taskId ?? '';
    await job.decideSubmit({ decision: 'adopt', taskId });
    expect((await job.result()).taskId).toBe(taskId);
    expect(world.emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(1);
    expect(world.emulator.generations()).toHaveLength(1);
  });
});

test('resubmit sends the request once more with the same key; lost again, it is held again', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const job = await heldJob(world);
    const { hold } = await job.progress();
    await env.temporal.sleep('1m');
    world.emulator.next('submit', { kind: 'reset' });
    await job.decideSubmit({ decision: 'resubmit' });
    await untilProgress(job, (now) => now.hold !== undefined && now.hold.since !== hold?.since);
    await job.decideSubmit({ decision: 'resubmit' });
    await job.result();
    const posts = world.emulator.calls.filter(({ call }) => call === 'submit');
    expect(posts).toHaveLength(3);
    expect(new Set(posts.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  });
});

test.each([409, 422])(
  'a resubmission answered %d is held again: the key is known there, so the task may exist',
  async (status) => {
    await inWorld(env, {}, async (world) => {
      const job = await heldJob(world);
      world.emulator.next('submit', { kind: 'refused', status, message: 'this key was used before' });
      await job.decideSubmit({ decision: 'resubmit' });
      const { hold } = await untilProgress(job, (now) => now.hold?.message.includes('this key') === true);
      expect(hold?.message).toContain(`HTTP ${status}`);
      await job.decideSubmit({ decision: 'abandon' });
      expectRow(await failureOf(job.result()), 'SubmitUnconfirmed', undefined);
    });
  },
);

test('abandon ends the job as SubmitUnconfirmed with everything known', async () => {
  await inWorld(env, {}, async (world) => {
    const job = await heldJob(world);
    await job.decideSubmit({ decision: 'abandon' });
    const failure = await failureOf(job.result());
    expectRow(failure, 'SubmitUnconfirmed', undefined);
    expect(failure).toMatchObject({ details: { code: 'ECONNRESET', attempt: 1, onLostSubmit: 'hold' } });
    expect(String(failure)).toContain('abandoned by decision');
  });
});

test('a hold that nobody ends fails as SubmitUnconfirmed after holdFor, 24 hours unless set', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    for (const [holdFor, told] of [
      [undefined, '24 h'],
      ['90m', '1 h 30 min'],
    ]) {
      emulator.next('submit', { kind: 'empty' });
      const job = await videos.start({ request, holdFor });
      const failure = await failureOf(job.result());
      expectRow(failure, 'SubmitUnconfirmed', undefined);
      expect(String(failure)).toContain(`nobody decided within ${told}`);
      expect(String(failure)).toContain('the answer names no task: it is empty');
    }
    expect(emulator.calls).toHaveLength(2);
  });
});

test('the deadline stands still during a hold', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const job = await heldJob(world, { deadline: '10m' });
    const before = await job.progress();
    await env.temporal.sleep('5h');
    await job.decideSubmit({ decision: 'adopt', taskId: world.emulator.generations()[0]?.taskId ?? '' });
    await job.result();
    const after = await job.progress();
    expect(after.phase).toBe('succeeded');
    const moved = Date.parse(after.deadlineAt) - Date.parse(before.deadlineAt);
    expect(moved).toBeGreaterThanOrEqual(5 * HOUR);
    expect(moved).toBeLessThan(5 * HOUR + 60 * SECOND);
  });
});

test.each<[string, unknown, string]>([
  ['no task id', { decision: 'adopt' }, 'taskId must be text'],
  ['an empty task id', { decision: 'adopt', taskId: '  ' }, 'taskId must be text'],
  ['a task id that is a number', { decision: 'adopt', taskId: 5 }, 'taskId must be text'],
  ['a task id beside resubmit', { decision: 'resubmit', taskId: 'x' }, 'resubmit takes no taskId'],
  ['another word', { decision: 'forget' }, 'decision must be one of resubmit, adopt'],
  ['nothing', undefined, 'decision must be one of resubmit, adopt'],
  ['text', 'resubmit', 'decision must be one of resubmit, adopt'],
])('a decision with %s is refused with a reason, and the job is held on', async (_what, decision, reason) => {
  await inWorld(env, {}, async (world) => {
    const job = await heldJob(world);
    const refusal = await failureOf(job.decideSubmit(decision as SubmitDecision));
    expect(refusal).toMatchObject({ name: 'DecisionRefused', message: expect.stringContaining(reason) });
    expect((await job.progress()).phase).toBe('needs-decision');
    await job.decideSubmit({ decision: 'abandon' });
    await failureOf(job.result());
  });
});

test('a decision when none is wanted is refused: while waiting, after another, after the end', async () => {
  await inWorld(env, { jobTimeMs: HOUR }, async (world) => {
    const job = await world.videos.start({ request });
    await job.taskId();
    const decide = () => failureOf(job.decideSubmit({ decision: 'resubmit' }));
    expect(String(await decide())).toContain('No decision is wanted: the job is waiting.');
    await job.cancel();
    await failureOf(job.result());
    expect(String(await decide())).toContain('has ended');

    const held = await heldJob(world);
    const both = await Promise.allSettled([
      held.decideSubmit({ decision: 'abandon' }),
      held.decideSubmit({ decision: 'resubmit' }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await held.result().catch(() => undefined);
  });
});

test('a task id that nobody knows at the service ends an adopting decision as TaskUnknown', async () => {
  await inWorld(env, {}, async (world) => {
    const job = await heldJob(world);
    await job.decideSubmit({ decision: 'adopt', taskId: 'mistyped' });
    expectRow(await failureOf(job.result()), 'TaskUnknown', 'mistyped');
  });
});

test('a cancellation during a hold ends it, and still tells that a task may exist', async () => {
  await inWorld(env, {}, async (world) => {
    const job = await heldJob(world);
    await job.cancel();
    const failure = await failureOf(job.result());
    expectRow(failure, 'SubmitUnconfirmed', undefined);
    expect(String(failure)).toContain('the job was cancelled before anybody decided');
  });
});

test('waitForTask waits through a hold for the task that comes of it', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const job = await heldJob(world);
    const taskId = job.taskId();
    await job.decideSubmit({ decision: 'adopt', taskId: world.emulator.generations()[0]?.taskId ?? '' });
    expect(await taskId).toBe(world.emulator.generations()[0]?.taskId);
    await job.result();
  });
});

const POSTS: Record<LostSubmitPolicy, number> = { hold: 1, resubmit: 2, fail: 1 };

test.each<
  [job: LostSubmitPolicy | undefined, worker: LostSubmitPolicy | undefined, applies: LostSubmitPolicy]
>([
  [undefined, undefined, 'hold'],
  [undefined, 'fail', 'fail'],
  [undefined, 'resubmit', 'resubmit'],
  ['fail', undefined, 'fail'],
  ['resubmit', 'fail', 'resubmit'],
  ['hold', 'resubmit', 'hold'],
])('of a job that says %s on a worker that says %s, %s applies', async (onLostSubmit, worker, applies) => {
  await inWorld(env, { jobTimeMs: 0, onLostSubmit: worker }, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'cut-body' });
    const job = await videos.start({ request, onLostSubmit });
    if (applies === 'hold') {
      await untilProgress(job, ({ phase }) => phase === 'needs-decision');
      await job.decideSubmit({ decision: 'abandon' });
    }
    const outcome = await job.result().catch((error: unknown) => error);
    if (applies === 'resubmit') expect(outcome).toMatchObject({ taskId: emulator.generations()[1]?.taskId });
    else expectRow(outcome, 'SubmitUnconfirmed', undefined);
    // What fails at once was not held until nobody had decided.
    if (applies === 'fail') expect(String(outcome)).not.toContain('nobody decided');
    expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(POSTS[applies]);
  });
});

test('a request that is under way at the deadline may have made a task, and the failure says so', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'late', ms: 10_000 });
    const job = await videos.start({ request, onLostSubmit: 'fail', deadline: '5s' });
    expectRow(await failureOf(job.result()), 'SubmitUnconfirmed', undefined);
  });
});

test('resubmit goes by the retry policy until the deadline, and then tells that a task may exist', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next('submit', ...Array.from({ length: 40 }, () => ({ kind: 'reset' }) as const));
    const job = await videos.start({ request, onLostSubmit: 'resubmit', deadline: '5m' });
    expectRow(await failureOf(job.result()), 'SubmitUnconfirmed', undefined);
    const [submit, ...others] = activities(await historyOf(env.temporal.client, job.workflowId));
    expect(others).toEqual([]);
    expect(submit?.attempts).toBe(emulator.calls.length);
    expect(submit?.attempts).toBeGreaterThan(5);
    expect(submit?.attempts).toBeLessThan(20);
  });
});

test('with a service that honours the key, resubmit pays once', async () => {
  await inWorld(env, { jobTimeMs: 0, idempotencyKeys: 'honoured' }, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'cut-headers' });
    const { taskId } = await videos.execute({ request, onLostSubmit: 'resubmit' });
    expect(emulator.generations().map((task) => task.taskId)).toEqual([taskId]);
    expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(2);
  });
});

test('the input’s own idempotency key is sent in place of ours, and a 422 to it may mean that the task exists', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    await videos.execute({ request, idempotencyKey: 'order-4711' });
    expect(emulator.calls[0]).toMatchObject({ idempotencyKey: 'order-4711' });
    emulator.next('submit', { kind: 'refused', status: 422, message: 'used before' });
    const again = videos.execute({ request, idempotencyKey: 'order-4711', onLostSubmit: 'fail' });
    expectRow(await failureOf(again), 'SubmitUnconfirmed', undefined);
    emulator.next('submit', { kind: 'refused', status: 422, message: 'no such ratio' });
    expect(await failureOf(videos.execute({ request }))).toBeInstanceOf(VideoFailure);
    emulator.next('submit', { kind: 'refused', status: 422, message: 'no such ratio' });
    expectRow(await failureOf(videos.execute({ request })), 'InvalidRequest', undefined);
  });
});
