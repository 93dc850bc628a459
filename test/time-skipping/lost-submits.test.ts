import type { VideoJob } from '../../src/client/video-job';
import { type JobInput, type LostSubmitPolicy, type SubmitDecision, VideoFailure } from '../../src/contract';
import { type AnswerFault, createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
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

const lostTask = ({ emulator }: World) => emulator.generations()[0]?.taskId ?? '';

/** Skips time until the decision is refused: the activity retries, but a pending update does not skip time. */
async function refusalWhileTimePasses(decided: Promise<unknown>): Promise<unknown> {
  const refused = failureOf(decided);
  let isRefused = false;
  void refused.then(() => {
    isRefused = true;
  });
  while (!isRefused) await Promise.all([env.temporal.sleep('5s'), pause()]);
  return refused;
}

const detailsOf = async (job: VideoJob) => {
  const handle = env.temporal.client.workflow.getHandle(job.workflowId);
  return JSON.stringify(await handle.query('__temporal_workflow_metadata'));
};

test('a lost submit is held: progress and the Temporal UI show what happened, when, and the three decisions', async () => {
  await inWorld(env, {}, async (world) => {
    const job = await heldJob(world, { holdFor: '2h' });
    const { hold } = await job.progress();
    expect(Date.parse(hold?.until ?? '') - Date.parse(hold?.since ?? '')).toBe(2 * HOUR);
    expect(hold?.message).toContain('so a paid task may exist: read ECONNRESET');
    const details = await detailsOf(job);
    for (const part of [
      'Needs a decision',
      hold?.since,
      hold?.until,
      `videogen decide ${job.workflowId} --adopt TASK_ID`,
      `videogen decide ${job.workflowId} --resubmit`,
      `videogen decide ${job.workflowId} --abandon`,
      'decideSubmit',
    ]) {
      expect(details).toContain(part);
    }
    // Log lines arrive late.
    const warnings = () =>
      logs.flatMap(({ message, meta }) =>
        message === 'the submit is lost, waiting for a decision' ? [meta] : [],
      );
    while (warnings().length === 0) await pause();
    expect(warnings()).toContainEqual(
      expect.objectContaining({
        workflowId: job.workflowId,
        heldUntil: hold?.until,
        decide: `videogen decide ${job.workflowId} --adopt TASK_ID (or --resubmit, or --abandon)`,
      }),
    );
    await job.decideSubmit({ decision: 'abandon' });
    await failureOf(job.result());
  });
});

test('adopt continues with the task, after one POST', async () => {
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
  'a resubmission answered %d is held again: the service knows the key, so a task may exist',
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

test('abandon fails the job as SubmitUnconfirmed with all known details', async () => {
  await inWorld(env, {}, async (world) => {
    const job = await heldJob(world);
    await job.decideSubmit({ decision: 'abandon' });
    const failure = await failureOf(job.result());
    expectRow(failure, 'SubmitUnconfirmed', undefined);
    expect(failure).toMatchObject({ details: { code: 'ECONNRESET', attempt: 1, onLostSubmit: 'hold' } });
    expect(String(failure)).toContain('abandoned by decision');
  });
});

test('a hold without a decision fails the job as SubmitUnconfirmed after holdFor, by default 24 hours', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    for (const [holdFor, length] of [
      [undefined, '24 h'],
      ['90m', '1 h 30 min'],
    ]) {
      emulator.next('submit', { kind: 'empty' });
      const job = await videos.start({ request, holdFor });
      const failure = await failureOf(job.result());
      expectRow(failure, 'SubmitUnconfirmed', undefined);
      expect(String(failure)).toContain(`nobody decided within ${length}`);
      expect(String(failure)).toContain('the answer names no task: it is empty');
    }
    expect(emulator.calls).toHaveLength(2);
  });
});

test('the time of a hold does not count towards the deadline', async () => {
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
])('a decision with %s is refused with a reason, and the job stays held', async (_what, decision, reason) => {
  await inWorld(env, {}, async (world) => {
    const job = await heldJob(world);
    const refusal = await failureOf(job.decideSubmit(decision as SubmitDecision));
    expect(refusal).toMatchObject({ name: 'DecisionRefused', message: expect.stringContaining(reason) });
    expect((await job.progress()).phase).toBe('needs-decision');
    await job.decideSubmit({ decision: 'abandon' });
    await failureOf(job.result());
  });
});

test('a decision is refused when none is needed: while waiting, after another one, after the end', async () => {
  await inWorld(env, { jobTimeMs: HOUR }, async (world) => {
    const job = await world.videos.start({ request });
    await job.taskId();
    const decide = () => failureOf(job.decideSubmit({ decision: 'resubmit' }));
    expect(String(await decide())).toContain('No decision is needed: the job is waiting.');
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

describe('a task to adopt', () => {
  test('that the service does not know is refused: the job stays held, and accepts the right one', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const job = await heldJob(world);
      const refusal = await failureOf(job.decideSubmit({ decision: 'adopt', taskId: 'WRONG99' }));
      expect(refusal).toMatchObject({ name: 'DecisionRefused' });
      expect(String(refusal)).toContain('Task "WRONG99" is not adopted: the service does not know it.');
      expect((await job.progress()).phase).toBe('needs-decision');
      const taskId = lostTask(world);
      await job.decideSubmit({ decision: 'adopt', taskId });
      expect((await job.result()).taskId).toBe(taskId);
    });
  });

  test.each<[string, AnswerFault, number, string]>([
    ['the key is refused', { kind: 'refused', status: 401, message: 'no such key' }, 1, 'no such key'],
    ['the service fails', { kind: 'server-error' }, 3, 'HTTP 500'],
    ['the connection is cut', { kind: 'reset' }, 3, 'ECONNRESET'],
    ['the answer is unreadable', { kind: 'bad-json' }, 3, 'could not be understood'],
  ])('that cannot be polled because %s is refused with the reason', async (_why, fault, attempts, reason) => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const job = await heldJob(world);
      world.emulator.next('status', ...Array.from({ length: attempts }, () => fault));
      const adopt = () => job.decideSubmit({ decision: 'adopt', taskId: lostTask(world) });
      const refusal = String(await refusalWhileTimePasses(adopt()));
      expect(refusal).toContain('because polling it failed');
      expect(refusal).toContain(reason);
      expect(refusal).toContain('decide again');
      expect((await job.progress()).phase).toBe('needs-decision');
      await adopt();
      await job.result();
    });
  });

  test('that has failed at the service is adopted, and the job fails like the task', async () => {
    await inWorld(env, { jobTimeMs: HOUR }, async (world) => {
      const job = await heldJob(world);
      const taskId = lostTask(world);
      const failed = { kind: 'failed-task', code: 'foxes', message: 'too many foxes' } as const;
      world.emulator.next('status', failed, failed);
      await job.decideSubmit({ decision: 'adopt', taskId });
      expectRow(await failureOf(job.result()), 'GenerationFailed', taskId);
    });
  });

  test('is polled before the next decision, and the first valid decision wins', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const job = await heldJob(world);
      const taskId = lostTask(world);
      const ends = await Promise.allSettled([
        job.decideSubmit({ decision: 'adopt', taskId: 'WRONG99' }),
        job.decideSubmit({ decision: 'adopt', taskId }),
        job.decideSubmit({ decision: 'adopt', taskId }),
        job.decideSubmit({ decision: 'adopt', taskId: 'WRONG99' }),
      ]);
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(ends[0]?.status).toBe('rejected');
      expect(ends[3]?.status).toBe('rejected');
      expect((await job.result()).taskId).toBe(taskId);
      expect(world.emulator.generations()).toHaveLength(1);
    });
  });

  test('is adopted even if the hold ends while it is polled', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const job = await heldJob(world, { holdFor: '1h' });
      world.emulator.next('status', { kind: 'server-error' });
      const adopted = job.decideSubmit({ decision: 'adopt', taskId: lostTask(world) });
      while (!world.emulator.calls.some(({ call }) => call === 'status')) await pause();
      await env.temporal.sleep('2h');
      await adopted;
      expect((await job.result()).taskId).toBe(lostTask(world));
    });
  });
});

describe('a decision by signal', () => {
  const signal = (job: VideoJob, ...args: unknown[]) =>
    env.temporal.client.workflow.getHandle(job.workflowId).signal('decideSubmit', ...args);

  test('works like one by update', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const job = await heldJob(world);
      await signal(job, { decision: 'adopt', taskId: lostTask(world) });
      expect((await job.result()).taskId).toBe(lostTask(world));
    });
  });

  test('that is refused is logged and shown in the progress and in the Temporal UI', async () => {
    await inWorld(env, {}, async (world) => {
      const job = await heldJob(world);
      for (const [decision, reason] of [
        [{ decision: 'adopt', taskId: 'WRONG99' }, 'the service does not know it'],
        [{ decision: 'forget' }, 'decision must be one of resubmit'],
        [undefined, 'decision must be one of resubmit'],
      ] as const) {
        const id = `${reason} ${decision?.decision}`;
        await signal(job, decision, id);
        const { signalled } = await untilProgress(job, (now) => now.signalled?.id === id);
        expect(signalled?.refused).toContain(reason);
        expect(await detailsOf(job)).toContain(reason);
      }
      while (!logs.some(({ message }) => message === 'a decision by signal was refused')) await pause();
      expect((await job.progress()).phase).toBe('needs-decision');
      await signal(job, { decision: 'abandon' });
      expectRow(await failureOf(job.result()), 'SubmitUnconfirmed', undefined);
    });
  });
});

test('a cancellation ends a hold, and the failure still says that a task may exist', async () => {
  await inWorld(env, {}, async (world) => {
    const job = await heldJob(world);
    await job.cancel();
    const failure = await failureOf(job.result());
    expectRow(failure, 'SubmitUnconfirmed', undefined);
    expect(String(failure)).toContain('the job was cancelled before anybody decided');
  });
});

describe('a caller that waits for the task', () => {
  const expectHeld = (failure: unknown, job: VideoJob, until: string | undefined) => {
    expectRow(failure, 'SubmitUnconfirmed', undefined);
    expect(String(failure)).toContain(`the job is held until ${until}`);
    expect(String(failure)).toContain(`videogen decide ${job.workflowId} --adopt TASK_ID`);
  };

  test('learns at once that the job is held, and how to decide', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
      emulator.next('submit', { kind: 'reset' });
      const job = await videos.start({ request });
      const failure = await failureOf(job.taskId());
      expectHeld(failure, job, (await job.progress()).hold?.until);
      await job.decideSubmit({ decision: 'abandon' });
      await failureOf(job.result());
    });
  });

  test('gets the same failure during the hold, and the task after the decision', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async (world) => {
      const job = await heldJob(world);
      expectHeld(await failureOf(job.taskId()), job, (await job.progress()).hold?.until);
      await job.decideSubmit({ decision: 'adopt', taskId: lostTask(world) });
      expect(await job.taskId()).toBe(lostTask(world));
      await job.result();
      expect(await job.taskId()).toBe(lostTask(world));
    });
  });

  test('never gets the failure of an earlier hold: neither in the next hold nor with a task', async () => {
    await inWorld(env, { jobTimeMs: HOUR }, async (world) => {
      world.emulator.next('submit', { kind: 'reset' }, { kind: 'reset' });
      const workflowId = 'held-twice';
      const submit = () => world.videos.submit({ request }, { workflowId });
      // These two wait when the first hold begins, so Temporal stores their answers under their update ids.
      const waiting = [submit(), world.videos.start({ request }, { workflowId }).then((job) => job.taskId())];
      const first = await Promise.all(waiting.map(failureOf));
      const job = world.videos.handle(workflowId);
      const { hold } = await job.progress();

      for (const failure of first) expectHeld(failure, job, hold?.until);
      await env.temporal.sleep('1m');
      await job.decideSubmit({ decision: 'resubmit' });
      const again = await untilProgress(
        job,
        (now) => now.hold !== undefined && now.hold.since !== hold?.since,
      );
      for (const ask of [submit, () => job.taskId()]) {
        expectHeld(await failureOf(ask()), job, again.hold?.until);
      }
      await job.decideSubmit({ decision: 'resubmit' });
      await untilProgress(job, ({ taskId }) => taskId !== undefined);
      const taskId = world.emulator.generations().at(-1)?.taskId;
      expect(await job.taskId()).toBe(taskId);
      expect((await submit()).taskId).toBe(taskId);
      await job.cancel();
      await failureOf(job.result());
      expect(await job.taskId()).toBe(taskId);
    });
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
])('a job with onLostSubmit %s on a worker with %s uses %s', async (onLostSubmit, worker, applies) => {
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
    // The policy fail does not hold the job.
    if (applies === 'fail') expect(String(outcome)).not.toContain('nobody decided');
    expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(POSTS[applies]);
  });
});

test('a request in flight at the deadline may have made a task, and the failure says so', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'late', ms: 10_000 });
    const job = await videos.start({ request, onLostSubmit: 'fail', deadline: '5s' });
    expectRow(await failureOf(job.result()), 'SubmitUnconfirmed', undefined);
  });
});

test('resubmit follows the retry policy until the deadline, and the failure then says that a task may exist', async () => {
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

test('at a service that honours idempotency keys, resubmit pays once', async () => {
  await inWorld(env, { jobTimeMs: 0, idempotencyKeys: 'honoured' }, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'cut-headers' });
    const { taskId } = await videos.execute({ request, onLostSubmit: 'resubmit' });
    expect(emulator.generations().map((task) => task.taskId)).toEqual([taskId]);
    expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(2);
  });
});

test('an idempotency key in the input replaces ours, and a 422 to it may mean that a task exists', async () => {
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
