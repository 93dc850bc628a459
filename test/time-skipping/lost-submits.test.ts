import type { VideoJob } from '../../src/client/video-job';
import type { JobInput } from '../../src/contract/job';
import type { SubmitDecision } from '../../src/contract/lost-submit';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { AnswerFault } from '../../src/testing/faults';
import { expectRow } from '../support/expect-row';
import { historyOf } from '../support/history';
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

test('a lost submit is held: progress, Temporal UI and log say what happened, the three decisions, and what was decided', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
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
    const taskId = lostTask(world);
    await job.decideSubmit({ decision: 'adopt', taskId });
    await job.result();
    const lines = () =>
      logs.map(({ meta }) => Object(meta)).filter((one) => one.workflowId === job.workflowId);
    while (!lines().some(({ event }) => event === 'stored')) await pause();
    expect(lines().filter(({ event }) => event === 'decided' || event === 'adopted')).toMatchObject([
      { event: 'decided', decision: 'adopt', taskId },
      { event: 'adopted', taskId },
    ]);
  });
});

/** Why a task cannot be polled, and after how many attempts that is clear. */
const UNPOLLED: [fault: AnswerFault, attempts: number, reason: string][] = [
  [{ kind: 'refused', status: 401, message: 'no such key' }, 1, 'no such key'],
  [{ kind: 'server-error' }, 3, 'HTTP 500'],
];

test('a task to adopt is refused with the reason if the service does not know it or it cannot be polled, and the job stays held', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const job = await heldJob(world);
    const unknown = await failureOf(job.decideSubmit({ decision: 'adopt', taskId: 'WRONG99' }));
    expect(unknown).toMatchObject({ name: 'DecisionRefused' });
    expect(String(unknown)).toContain('Task "WRONG99" is not adopted: the service does not know it.');
    const taskId = lostTask(world);
    for (const [fault, attempts, reason] of UNPOLLED) {
      world.emulator.next('status', ...Array.from({ length: attempts }, () => fault));
      const refusal = String(await refusalWhileTimePasses(job.decideSubmit({ decision: 'adopt', taskId })));
      expect(refusal).toContain('because polling it failed');
      expect(refusal).toContain(reason);
      expect(refusal).toContain('decide again');
      expect((await job.progress()).phase).toBe('needs-decision');
    }
    await job.decideSubmit({ decision: 'adopt', taskId });
    expect((await job.result()).taskId).toBe(taskId);
    expect(world.emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(1);
  });
});

const REFUSED: [decision: unknown, reason: string][] = [
  [{ decision: 'adopt' }, 'taskId must be text'],
  [undefined, 'decision must be one of resubmit, adopt'],
];

test('a malformed decision is refused with the reason, and the failure of an abandoned job has all known details', async () => {
  await inWorld(env, {}, async (world) => {
    const job = await heldJob(world);
    for (const [decision, reason] of REFUSED) {
      const refusal = await failureOf(job.decideSubmit(decision as SubmitDecision));
      expect(refusal).toMatchObject({ name: 'DecisionRefused', message: expect.stringContaining(reason) });
    }
    const { phase, hold } = await job.progress();
    expect([phase, hold?.lostSubmit]).toEqual(['needs-decision', expect.any(String)]);
    await job.decideSubmit({ decision: 'abandon' });
    // Temporal allows a run so many updates; those that are refused at once are not in its history.
    const { events } = await historyOf(env.temporal.client, job.workflowId);
    const taken = (events ?? []).filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
    expect(taken).toHaveLength(1);
    const failure = await failureOf(job.result());
    expectRow(failure, 'SubmitUnconfirmed', undefined);
    const { lostSubmit } = hold ?? {};
    expect(failure).toMatchObject({
      details: { code: 'ECONNRESET', attempt: 1, onLostSubmit: 'hold', lostSubmit },
    });
    expect(String(failure)).toContain('abandoned by decision');
  });
});

test('a hold without a decision fails the job as SubmitUnconfirmed after 24 hours', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'empty' });
    const failure = await failureOf(videos.execute({ request }));
    expectRow(failure, 'SubmitUnconfirmed', undefined);
    expect(String(failure)).toContain('nobody decided within 24 h');
    expect(String(failure)).toContain('the answer names no task: it is empty');
    expect(emulator.calls).toHaveLength(1);
  });
});

test('a task to adopt is polled before the next decision, the first valid decision wins, and later ones are refused', async () => {
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
    expect(String(await failureOf(job.decideSubmit({ decision: 'resubmit' })))).toContain('has ended');
  });
});

const expectHeld = (failure: unknown, job: VideoJob, until: string | undefined) => {
  expectRow(failure, 'SubmitUnconfirmed', undefined);
  expect(String(failure)).toContain(`the job is held until ${until}`);
  expect(String(failure)).toContain(`videogen decide ${job.workflowId} --adopt TASK_ID`);
};

test('a caller that waits for the task learns at once that the job is held and how to decide, and never gets the failure of an earlier hold', async () => {
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
    const again = await untilProgress(job, (now) => now.hold !== undefined && now.hold.since !== hold?.since);
    for (const ask of [submit, () => job.taskId()]) {
      expectHeld(await failureOf(ask()), job, again.hold?.until);
    }
    await job.decideSubmit({ decision: 'resubmit' });
    await untilProgress(job, ({ taskId }) => taskId !== undefined);
    const posts = world.emulator.calls.filter(({ call }) => call === 'submit');
    expect(posts).toHaveLength(3);
    expect(new Set(posts.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    const taskId = world.emulator.generations().at(-1)?.taskId;
    expect(await job.taskId()).toBe(taskId);
    expect((await submit()).taskId).toBe(taskId);
    await job.cancel();
    await failureOf(job.result());
    expect(await job.taskId()).toBe(taskId);
  });
});

test('the policy of a job replaces that of its worker, which replaces hold', async () => {
  await inWorld(env, { jobTimeMs: 0, onLostSubmit: 'fail' }, async ({ emulator, videos }) => {
    const posts = () => emulator.calls.filter(({ call }) => call === 'submit').length;
    emulator.next('submit', { kind: 'cut-body' });
    const { taskId } = await videos.execute({ request, onLostSubmit: 'resubmit' });
    expect(taskId).toBe(emulator.generations().at(-1)?.taskId);
    expect(posts()).toBe(2);

    emulator.next('submit', { kind: 'cut-body' });
    const failure = await failureOf(videos.execute({ request }));
    expectRow(failure, 'SubmitUnconfirmed', undefined);
    expect(String(failure)).not.toContain('nobody decided');

    // A request in flight at the deadline may have made a task.
    emulator.next('submit', { kind: 'late', ms: 6_000 });
    const late = await failureOf(videos.execute({ request, deadline: '5s' }));
    expectRow(late, 'SubmitUnconfirmed', undefined);
    expect(String(late)).toContain('attempt 1 ended before its answer was known');
    expect(String(late)).not.toContain('nobody decided');
    expect(posts()).toBe(4);
  });
});
