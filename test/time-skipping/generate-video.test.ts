import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import type { JobInput } from '../../src/contract/job';
import type { SubmitDecision } from '../../src/contract/lost-submit';
import { COST_MEMO } from '../../src/contract/names';
import type { ServiceProfile } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { AnswerFault } from '../../src/testing/faults';
import { expectRow } from '../support/expect-row';
import { activities, historyOf, timers } from '../support/history';
import { captureLogs, type LogLine } from '../support/logs';
import { atLength } from '../support/nightly';
import { shortHistories } from '../support/short-histories';
import { startWebhookReceiver, WEBHOOK_SECRET, type WebhookReceiver } from '../support/webhook-receiver';
import {
  failureOf,
  inWorld,
  keepRunning,
  pause,
  quickWorkflows,
  untilProgress,
  type World,
} from '../support/world';

// How a job ends when answers fail, workers die and histories grow is for test/model.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const request = { prompt: 'A red fox' };

let env: VideoTestEnvironment;
let logs: LogLine[];
beforeAll(async () => {
  logs = captureLogs();
  env = await createVideoTestEnvironment({ emulator: { jobTimeMs: 0, videoBytes: 65_536 } });
});
afterAll(() => env.teardown());

const handleOf = (workflowId: string) => env.temporal.client.workflow.getHandle(workflowId);

const detailsOf = async ({ workflowId }: VideoJob) =>
  JSON.stringify(await handleOf(workflowId).query('__temporal_workflow_metadata'));

/** Has a price. */
const priced = { ...request, resolution: '720p', duration: 5 } as const;
const usd = (amount: number) => ({ amount, currency: 'USD' });
const profile: ServiceProfile = {
  name: 'Ark',
  prices: { currency: 'USD', table: [{ resolution: '720p', perSecond: 0.1 }, { perVideo: 0.3 }] },
};
test('one POST makes one file with the hash of the result, and the history is readable without decoding a payload', async () => {
  const full = { ...request, resolution: '480p', duration: 5, seed: 7 } as const;
  await inWorld(env, { jobTimeMs: 1.5 * MINUTE }, async ({ emulator, videos, storedFiles }) => {
    const job = await videos.start({ request: full, polling: { min: '1m', max: '1m' } });
    const { taskId, video, seed, polls, ...more } = await job.result();

    const file = await readFile(fileURLToPath(video.uri));
    expect(createHash('sha256').update(file).digest('hex')).toBe(video.sha256);
    expect(file.equals(await emulator.video(taskId))).toBe(true);
    expect(video).toMatchObject({ bytes: file.length, contentType: 'video/mp4' });
    expect({ seed, polls }).toEqual({ seed: 7, polls: 2 });
    // It has no prices.
    expect(more).not.toHaveProperty('cost');
    expect((await handleOf(job.workflowId).describe()).memo).not.toHaveProperty(COST_MEMO);
    const name = basename(fileURLToPath(video.uri));
    expect(await storedFiles()).toEqual([name, `${name}.json`]);
    expect(emulator.calls.filter(({ call }) => call === 'submit')).toEqual([
      expect.objectContaining({
        path: '/v1/videos/text-to-video',
        body: full,
        contentType: 'application/json',
        authorized: true,
      }),
    ]);

    const history = await historyOf(env.temporal.client, job.workflowId);
    expect(activities(history).map(({ type, summary }) => `${type} ${summary}`)).toEqual([
      'routeJob queues',
      'submitVideo text to video, 480p 5 s: "A red fox"',
      'pollVideo poll 1',
      'pollVideo poll 2',
      `downloadVideo task ${taskId}`,
    ]);
    expect(timers(history).map(({ summary }) => summary)).toEqual(['next poll in 60 s', 'next poll in 60 s']);
    // It has no receiver either.
    expect(JSON.stringify(history)).not.toMatch(/webhook|hasReceiver|startChild|core_patch/i);
    expect(await detailsOf(job)).toMatch(/The video is stored.*Task `task_.*SHA-256/s);
  });
});

test('a poll is a local activity, and one without an answer in time is made again at once by a regular one', async () => {
  await inWorld(env, { jobTimeMs: 1.5 * MINUTE }, async ({ emulator, videos }) => {
    emulator.next('status', { kind: 'hang' });
    const job = await videos.start({ request, polling: { min: '1m', max: '1m' } });
    const { polls } = await job.result();
    const history = await historyOf(env.temporal.client, job.workflowId);
    const made = activities(history).filter(({ type }) => type === 'pollVideo');
    expect(made.map(({ isLocal, summary }) => [isLocal ? 'local' : 'regular', summary])).toEqual([
      ['local', 'poll 1'],
      ['regular', 'poll 1'],
      ['local', 'poll 2'],
    ]);
    expect(polls).toBe(2);
    expect(timers(history)).toHaveLength(2);
  });
});

test('progress has the task, its state and percentage and the next poll, and each pollNow polls at once', async () => {
  await inWorld(env, { jobTimeMs: 10 * MINUTE }, async ({ emulator, videos }) => {
    const job = await videos.start({
      request,
      deadline: '10h',
      polling: { min: '2h', max: '2h' },
    });
    const taskId = await job.taskId();
    expect(taskId).toBe(emulator.generations()[0]?.taskId);
    const early = await untilProgress(job, ({ nextPollAt }) => nextPollAt !== undefined);
    expect(early).toMatchObject({ phase: 'waiting', taskId, polls: 0 });
    expect(Date.parse(early.deadlineAt) - Date.parse(early.startedAt)).toBe(600 * MINUTE);

    await env.temporal.sleep(5 * MINUTE);
    await job.pollNow();
    const later = await untilProgress(job, (now) => now.polls === 1 && now.nextPollAt !== early.nextPollAt);
    expect(later).toMatchObject({ phase: 'waiting', task: { state: 'running', word: 'running' } });
    expect(later.task?.percent).toBeGreaterThan(40);
    expect(Date.parse(later.nextPollAt ?? '')).toBeGreaterThan(Date.parse(early.nextPollAt ?? ''));

    await env.temporal.sleep(5 * MINUTE);
    await job.pollNow();
    const result = await job.result();
    expect(result).toMatchObject({ taskId, polls: 2 });
    expect(result.waitedMs).toBeLessThan(60 * MINUTE);
    expect(await job.progress()).toMatchObject({ phase: 'succeeded', task: { state: 'succeeded' } });
  });
});

test('a refused key while polling is shown as a problem, which clears once the key works again', async () => {
  await inWorld(env, { jobTimeMs: MINUTE }, async ({ emulator, videos }) => {
    const refused = { kind: 'refused', status: 401, message: 'key expired' } as const;
    emulator.next('status', refused, refused);
    const job = await videos.start({ request, polling: { min: '10s', max: '10s' } });
    await job.taskId();
    await env.temporal.sleep(30 * SECOND);
    const { problem } = await untilProgress(job, (now) => now.problem?.count === 2);
    expect(problem).toMatchObject({ type: 'Unauthorized', message: expect.stringContaining('key expired') });

    await job.result();
    const after = await job.progress();
    expect(after.phase).toBe('succeeded');
    expect(after.problem).toBeUndefined();
  });
});

test('a wait too long for one history continues as new with the same task, deadline, poll count, polling interval and estimate', async () => {
  const jobTimeMs = atLength(2, 45) * MINUTE;
  const quick = { ...profile, polling: { min: '5s', max: '5s' } };
  const worker = { workflowBundle: atLength(shortHistories, () => quickWorkflows().workflowBundle)() };
  await inWorld(env, { jobTimeMs, profile: quick, worker }, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'reset' });
    const job = await videos.start({ request: priced, deadline: '1h' });
    const held = await untilProgress(job, ({ phase }) => phase === 'needs-decision');
    await env.temporal.sleep(MINUTE);
    await job.decideSubmit({ decision: 'adopt', taskId: emulator.generations()[0]?.taskId ?? '' });
    const { deadlineAt } = await untilProgress(job, ({ phase }) => phase === 'waiting');
    expect(Date.parse(deadlineAt) - Date.parse(held.deadlineAt)).toBeGreaterThanOrEqual(MINUTE);

    const firstRun = await handleOf(job.workflowId).describe();
    const result = await job.result();
    const last = await handleOf(job.workflowId).describe();
    expect(last.runId).not.toBe(firstRun.runId);
    expect(last.memo).toMatchObject({ taskId: result.taskId });
    expect(await job.progress()).toMatchObject({ phase: 'succeeded', deadlineAt });
    // One status call was for the decision to adopt, and one for the link to the video.
    expect(result.polls).toBe(emulator.calls.filter(({ call }) => call === 'status').length - 2);
    // Since the task was adopted.
    expect(result.waitedMs).toBeGreaterThanOrEqual(jobTimeMs - 1.1 * MINUTE);
    const history = await historyOf(env.temporal.client, job.workflowId);
    const pauses = timers(history).map(({ ms }) => ms);
    expect(new Set(pauses)).toEqual(new Set([5_000]));
    expect(result.cost).toEqual({ estimated: usd(0.5), service: 'Ark' });
    // The estimate was in the memo already.
    expect(history.events?.filter((event) => event.workflowPropertiesModifiedEventAttributes)).toEqual([]);
    expect(emulator.generations()).toHaveLength(1);
    expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(1);
  });
}, 180_000);

test('a refused request fails the job at once with the service’s message, and a caller that waits for the task like the job', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    const refused = { kind: 'refused', status: 400, code: 'its_code', message: 'no foxes' } as const;
    emulator.next('submit', { kind: 'rate-limited', retryAfter: 2 }, refused);
    const job = await videos.start({ request });
    const task = failureOf(job.taskId());
    const failure = await failureOf(job.result());
    expectRow(failure, 'InvalidRequest', undefined);
    expect(failure).toMatchObject({
      details: { status: 400, code: 'its_code', message: 'no foxes', attempt: 2 },
    });
    expect(String(failure)).toContain('no foxes');
    expect(await task).toMatchObject({ type: 'InvalidRequest' });
    expect(emulator.calls).toHaveLength(2);
  });
});

test('an unknown state is logged once per word, not once per poll, and what is charged is said without prices', async () => {
  const workflowId = 'brewing-and-steeping';
  const linesWith = (text: string) =>
    logs.filter(({ message, meta }) => message === text && inspect(meta).includes(workflowId));
  await inWorld(env, { jobTimeMs: 0, charge: 0.45 }, async ({ emulator, videos }) => {
    const word = (name: string) => ({ kind: 'unknown-state', word: name }) as const;
    emulator.next('status', word('brewing'), word('brewing'), word('steeping'), word('brewing'));
    const { cost } = await videos.execute({ request }, { workflowId });
    expect(cost).toEqual({ charged: usd(0.45) });
    expect((await handleOf(workflowId).describe()).memo).toMatchObject({ [COST_MEMO]: cost });
    // The emulator charges nothing for a task that fails, which is not the same as saying nothing.
    emulator.next('submit', { kind: 'failed-task', code: 'foxes', message: 'no foxes' });
    const failed = await videos.start({ request });
    await failureOf(failed.result());
    expect((await failed.progress()).cost).toEqual({ charged: usd(0) });
    // Log lines arrive late; the line of the download is the last one.
    while (linesWith('stored').length === 0) await pause();
  });
  const warned = linesWith('unknown state, still polling').map(({ meta }) => meta);
  expect(warned).toMatchObject([{ state: 'brewing' }, { state: 'steeping' }]);
});

test('a job started without our client fails with one sentence for a wrong input or name, and takes null for not set', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, taskQueue }) => {
    const start = (workflowId: string, ...args: unknown[]) =>
      env.temporal.client.workflow.execute('generateVideo', { taskQueue, workflowId, args });
    // What else the contract refuses is the same for the client and the workflow: test/contract.
    for (const [workflowId, input, sentence] of [
      ['by-hand', undefined, 'either a request or the taskId'],
      ['jobs/fox', { request }, 'the name of a job must be text'],
    ] as const) {
      expect(await failureOf(start(workflowId, input))).toMatchObject({
        cause: { type: 'videogen.InvalidRequest', message: expect.stringContaining(sentence) },
      });
    }
    expect(emulator.calls).toHaveLength(0);

    const input = { request, taskId: null, deadline: null, storage: null, polling: null };
    // The second argument is not accepted as the state of an earlier run.
    const result = await start('by-hand', input, { taskId: 'made up', misses: 5 });
    expect(result).toMatchObject({ taskId: emulator.generations()[0]?.taskId, polls: 1 });
  });
});

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
    const lines = () =>
      logs
        .filter(({ meta }) => Object(meta).workflowId === job.workflowId)
        .map(({ message, meta }) => ({ ...Object(meta), message }));
    // Log lines arrive late.
    while (!lines().some(({ event }) => event === 'held')) await pause();
    expect(lines()).toContainEqual(
      expect.objectContaining({
        message: 'the submit is lost, waiting for a decision',
        heldUntil: hold?.until,
        decide: `videogen decide ${job.workflowId} --adopt TASK_ID (or --resubmit, or --abandon)`,
      }),
    );
    const taskId = lostTask(world);
    await job.decideSubmit({ decision: 'adopt', taskId });
    await job.result();
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

describe('the webhooks of a job', () => {
  /** The test server skips no more time once a job has left a workflow behind. */
  const polling = { min: '1s', max: '1s' } as const;
  const taskQueue = 'watched';
  let standard: WebhookReceiver;
  let videos: VideoClient;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    standard = await startWebhookReceiver();
    const webhooks = { secret: () => WEBHOOK_SECRET, url: standard.url, allow: ['127.0.0.1'] };
    const worker = await env.createWorker({ taskQueue, webhooks, worker: quickWorkflows() });
    stop = keepRunning(worker);
    videos = await createVideoClient({ client: env.temporal.client, taskQueue });
  });
  afterAll(async () => {
    await stop();
    await standard.close();
  });

  /** The workflow that delivers the last webhook of a job. */
  async function lastDelivery({ workflowId }: { workflowId: string }) {
    const { events } = await handleOf(workflowId).fetchHistory();
    const started = events?.flatMap(
      (event) => event.startChildWorkflowExecutionInitiatedEventAttributes ?? [],
    );
    return handleOf(started?.at(-1)?.workflowId ?? '');
  }

  /** The workflow that delivers the last webhook of a job that has ended. */
  async function deliveryAfter(workflowId: string) {
    const job = await videos.start({ request, polling }, { workflowId });
    await job.result().catch(() => undefined);
    return lastDelivery(job);
  }

  const refuseNext = () => env.emulator.next('submit', { kind: 'refused', status: 400, message: 'no' });

  test('the default receiver of a worker hears of each job that names none: stored, cancelled, and refused twice', async () => {
    await (await deliveryAfter('stored')).result();
    for (const _ of [1, 2]) {
      refuseNext();
      await (await deliveryAfter('refused')).result();
    }
    const job = await videos.start(
      { request, polling: { min: '1h', max: '1h' } },
      { workflowId: 'cancelled' },
    );
    const taskId = await job.taskId();
    await job.cancel();
    await failureOf(job.result());
    await (await lastDelivery(job)).result();

    const refused = { type: 'video.failed', data: { id: 'refused', failure: 'InvalidRequest' } };
    const events = ['stored', 'refused', 'cancelled'].flatMap((name) => standard.accepted(name));
    expect(events).toMatchObject([
      { type: 'video.completed', data: { id: 'stored' } },
      refused,
      refused,
      { type: 'video.failed', data: { id: 'cancelled', taskId, failure: 'Cancelled' } },
    ]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(4);
  });

  test('a hold is sent when it begins, and a second hold under an id of its own', async () => {
    env.emulator.next('submit', { kind: 'reset' }, { kind: 'reset' });
    const job = await videos.start({ request }, { workflowId: 'held' });
    const held = async (count: number) => {
      while (standard.accepted('held').length < count) await pause();
      return untilProgress(job, ({ phase }) => phase === 'needs-decision');
    };
    await held(1);
    await job.decideSubmit({ decision: 'resubmit' });
    await held(2);
    await job.decideSubmit({ decision: 'abandon' });
    await failureOf(job.result());
    await (await lastDelivery(job)).result();
    const events = standard.accepted('held');
    expect(events.map(({ type }) => type)).toEqual([
      'video.needs_decision',
      'video.needs_decision',
      'video.failed',
    ]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(3);
  });
});
