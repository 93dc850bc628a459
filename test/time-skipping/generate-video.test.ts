import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { COST_MEMO } from '../../src/contract/names';
import type { ServiceProfile } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { activities, historyOf, timers } from '../support/history';
import { captureLogs, type LogLine } from '../support/logs';
import { atLength } from '../support/nightly';
import { shortHistories } from '../support/short-histories';
import { startWebhookReceiver, WEBHOOK_SECRET, type WebhookReceiver } from '../support/webhook-receiver';
import { failureOf, inWorld, keepRunning, pause, quickWorkflows, untilProgress } from '../support/world';

// How a job ends when answers fail, workers die and histories grow is for test/model.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const request = { prompt: 'A red fox' };

let env: VideoTestEnvironment;
let logs: LogLine[];
beforeAll(async () => {
  logs = captureLogs();
  env = await createVideoTestEnvironment({ emulator: { jobTimeMs: 0, videoBytes: 65_536 } });
});
afterAll(() => env.teardown());

const describeJob = ({ workflowId }: { workflowId: string }) =>
  env.temporal.client.workflow.getHandle(workflowId).describe();

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
    expect((await describeJob(job)).memo).not.toHaveProperty(COST_MEMO);
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
    const metadata = await env.temporal.client.workflow
      .getHandle(job.workflowId)
      .query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(metadata.currentDetails).toMatch(/The video is stored.*Task `task_.*SHA-256/s);
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

test('a refused submit is retried after its Retry-After, then at growing intervals, with the same idempotency key', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    const failed = { kind: 'server-error' } as const;
    emulator.next('submit', { kind: 'rate-limited', retryAfter: 90 }, failed, { ...failed, status: 503 });
    const job = await videos.start({ request });
    await job.result();

    const [, submit] = activities(await historyOf(env.temporal.client, job.workflowId));
    expect(submit).toMatchObject({ type: 'submitVideo', attempts: 4 });
    expect(submit?.waitedMs).toBeGreaterThanOrEqual((90 + 4 + 8) * SECOND);
    expect(submit?.waitedMs).toBeLessThan(130 * SECOND);
    const keys = emulator.calls.flatMap(({ call, idempotencyKey }) =>
      call === 'submit' ? [idempotencyKey] : [],
    );
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(emulator.generations()).toHaveLength(1);
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

    const { workflow } = env.temporal.client;
    const firstRun = await workflow.getHandle(job.workflowId).describe();
    const result = await job.result();
    const first = await workflow.getHandle(job.workflowId, firstRun.runId).describe();
    const last = await workflow.getHandle(job.workflowId).describe();
    expect(first.status.name).toBe('CONTINUED_AS_NEW');
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
    expect((await describeJob({ workflowId })).memo).toMatchObject({ [COST_MEMO]: cost });
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

describe('the webhooks of a job', () => {
  /** The test server skips no more time once a job has left a workflow behind. */
  const polling = { min: '1s', max: '1s' } as const;
  const taskQueue = 'watched';
  const receivers: WebhookReceiver[] = [];
  let standard: WebhookReceiver;
  let videos: VideoClient;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    standard = await receiver();
    const webhooks = { secret: () => WEBHOOK_SECRET, url: standard.url, allow: ['127.0.0.1'] };
    const worker = await env.createWorker({ taskQueue, webhooks, worker: quickWorkflows() });
    stop = keepRunning(worker);
    videos = await createVideoClient({ client: env.temporal.client, taskQueue });
  });
  afterAll(async () => {
    await stop();
    for (const one of receivers) await one.close();
  });

  async function receiver(statuses?: number[]): Promise<WebhookReceiver> {
    const one = await startWebhookReceiver(statuses);
    receivers.push(one);
    return one;
  }

  const handleOf = (workflowId: string) => env.temporal.client.workflow.getHandle(workflowId);

  /** The workflow that delivers the last webhook of a job. */
  async function lastDelivery({ workflowId }: { workflowId: string }) {
    const { events } = await handleOf(workflowId).fetchHistory();
    const started = events?.flatMap(
      (event) => event.startChildWorkflowExecutionInitiatedEventAttributes ?? [],
    );
    return handleOf(started?.at(-1)?.workflowId ?? '');
  }

  /** The workflow that delivers the last webhook of a job that has ended. */
  async function deliveryAfter(workflowId: string, more: { callbackUrl?: string } = {}) {
    const job = await videos.start({ request, polling, ...more }, { workflowId });
    await job.result().catch(() => undefined);
    return lastDelivery(job);
  }

  const refuseNext = () => env.emulator.next('submit', { kind: 'refused', status: 400, message: 'no' });

  test('a receiver that fails five times gets the event once, under one webhook-id and with a valid signature', async () => {
    const { url, received, accepted } = await receiver([500, 503, 429, 404, 302]);
    const delivery = await deliveryAfter('fox', { callbackUrl: url });
    expect(await delivery.result()).toEqual({ status: 204, attempt: 6 });
    expect(received.map(({ status }) => status)).toEqual([500, 503, 429, 404, 302, 204]);
    expect(new Set(received.map(({ id }) => id))).toEqual(new Set([delivery.workflowId]));
    const { taskId } = await videos.handle('fox').progress();
    expect(accepted('fox')).toEqual([
      expect.objectContaining({
        id: delivery.workflowId,
        type: 'video.completed',
        data: { id: 'fox', taskId },
      }),
    ]);
    // Thin: neither the prompt nor where the video is.
    expect(received[0]?.body).not.toMatch(/red fox|file:|prompt|uri/);
    expect(standard.received).toEqual([]);
  });

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
