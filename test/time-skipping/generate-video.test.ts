import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { type BatchResult, parseResults } from '../../src/contract/batch';
import { COST_MEMO } from '../../src/contract/names';
import type { ServiceProfile } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { activities, type HistoryEvent, historyOf, timers } from '../support/history';
import { captureLogs, type LogLine } from '../support/logs';
import { atLength } from '../support/nightly';
import { fullHistories, shortHistories } from '../support/short-histories';
import { recordsIn } from '../support/stored-files';
import { failureOf, inWorld, pause, untilProgress, type World } from '../support/world';

// How a job ends when answers fail, workers die and histories grow is for test/model.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const request = { prompt: 'A red fox' };

let env: VideoTestEnvironment;
let logs: LogLine[];
beforeAll(async () => {
  logs = captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

test('one POST makes one file with the hash of the result, and the history is readable without decoding a payload', async () => {
  const full = { ...request, resolution: '480p', duration: 5, seed: 7 } as const;
  await inWorld(env, { jobTimeMs: 1.5 * MINUTE }, async ({ emulator, videos, storedFiles }) => {
    const job = await videos.start({ request: full, polling: { min: '1m', max: '1m' } });
    const { taskId, video, seed, polls } = await job.result();

    const file = await readFile(fileURLToPath(video.uri));
    expect(createHash('sha256').update(file).digest('hex')).toBe(video.sha256);
    expect(file.equals(await emulator.video(taskId))).toBe(true);
    expect(video).toMatchObject({ bytes: file.length, contentType: 'video/mp4' });
    expect({ seed, polls }).toEqual({ seed: 7, polls: 2 });
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

test('a wait too long for one history continues as new with the same task, deadline, poll count and polling interval', async () => {
  const jobTimeMs = atLength(2, 45) * MINUTE;
  const profile = { polling: { min: '5s', max: '5s' } };
  const worker = { workflowBundle: atLength(shortHistories, fullHistories)() };
  await inWorld(env, { jobTimeMs, profile, worker }, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'reset' });
    const job = await videos.start({ request: { prompt: 'Slow' }, deadline: '1h' });
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
    const pauses = timers(await historyOf(env.temporal.client, job.workflowId)).map(({ ms }) => ms);
    expect(new Set(pauses)).toEqual(new Set([5_000]));
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

test('an unknown state is logged once per word, not once per poll', async () => {
  const workflowId = 'brewing-and-steeping';
  const linesWith = (text: string) =>
    logs.filter(({ message, meta }) => message === text && inspect(meta).includes(workflowId));
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    const word = (name: string) => ({ kind: 'unknown-state', word: name }) as const;
    emulator.next('status', word('brewing'), word('brewing'), word('steeping'), word('brewing'));
    await videos.execute({ request }, { workflowId });
    // Log lines arrive late; the line of the download is the last one.
    while (linesWith('stored').length === 0) await pause();
  });
  const warned = linesWith('unknown state, still polling').map(({ meta }) => meta);
  expect(warned).toMatchObject([{ state: 'brewing' }, { state: 'steeping' }]);
});

/** What the contract refuses is the same for the client and the workflow: test/contract/job-input.test.ts. */
test.each([
  ['nothing', undefined, 'either a request or the taskId'],
  [
    'a request of 1.6 MB',
    { request: { ...request, image_url: `data:image/png;base64,${'A'.repeat(1_550_000)}` } },
    'the request is 1.6 MB; at most 1.5 MB fit into a Temporal message: give image_url as a link',
  ],
  ['a reserved name', { request }, 'the name of a job must be text', 'jobs/fox'],
])(
  'a job started without our client with %s fails with one sentence',
  async (_, input, sentence, name = '') => {
    await inWorld(env, {}, async ({ emulator, taskQueue }) => {
      const started = env.temporal.client.workflow.execute('generateVideo', {
        taskQueue,
        workflowId: name || `by-hand-${Math.random()}`,
        args: [input],
      });
      const failure = await failureOf(started);
      expect(failure).toMatchObject({
        cause: { type: 'videogen.InvalidRequest', message: expect.stringContaining(sentence) },
      });
      expect(emulator.calls).toHaveLength(0);
    });
  },
);

test('fields that are null count as not set, and a second argument is not accepted as the state of an earlier run', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, taskQueue }) => {
    const result = await env.temporal.client.workflow.execute('generateVideo', {
      taskQueue,
      workflowId: `by-hand-${Math.random()}`,
      args: [
        { request, taskId: null, deadline: null, storage: null, polling: null },
        { taskId: 'made up', misses: 5 },
      ],
    });
    expect(result).toMatchObject({ taskId: emulator.generations()[0]?.taskId, polls: 1 });
  });
});

/** Has a price. */
const priced = { ...request, resolution: '720p', duration: 5 } as const;
const usd = (amount: number) => ({ amount, currency: 'USD' });
const profile: ServiceProfile = {
  name: 'Ark',
  prices: { currency: 'USD', table: [{ resolution: '720p', perSecond: 0.1 }, { perVideo: 0.3 }] },
};
/** What is charged is less than the estimate. */
const charge = 0.45;

const describeJob = (workflowId: string) => env.temporal.client.workflow.getHandle(workflowId).describe();

async function eventsOf(workflowId: string): Promise<HistoryEvent[]> {
  return (await historyOf(env.temporal.client, workflowId)).events ?? [];
}

async function jsonAt({ storageFolder }: Pick<World, 'storageFolder'>, key: string): Promise<unknown> {
  return JSON.parse(await readFile(join(storageFolder, key), 'utf8'));
}

async function recordOf({ storageFolder }: World): Promise<unknown[]> {
  const entries = (await recordsIn(storageFolder)).filter((name) => name.startsWith('jobs/priced.'));
  return Promise.all(entries.map((name) => jsonAt({ storageFolder }, name)));
}

test('the estimate is there with the task, and what was charged beside it at the end', async () => {
  await inWorld(env, { jobTimeMs: 30 * MINUTE, profile, charge }, async (world) => {
    const { videos, emulator } = world;
    emulator.next('submit', { kind: 'rate-limited', retryAfter: 600 });
    const job = await videos.start({ request: priced }, { workflowId: 'priced' });
    const estimate = { estimated: usd(0.5), service: 'Ark' };
    await env.temporal.sleep(15 * MINUTE);
    const waiting = await untilProgress(job, ({ phase }) => phase === 'waiting');
    expect(waiting.cost).toEqual(estimate);
    expect((await describeJob('priced')).memo).toMatchObject({ [COST_MEMO]: estimate });

    const cost = { ...estimate, charged: usd(charge) };
    const result = await job.result();
    expect(result.cost).toEqual(cost);
    expect((await job.progress()).cost).toEqual(cost);
    expect((await describeJob('priced')).memo).toMatchObject({ [COST_MEMO]: cost });
    expect(await jsonAt(world, 'priced.mp4.json')).toMatchObject({ cost });
    expect(await recordOf(world)).toMatchObject([
      { event: 'sending', cost: estimate, at: expect.stringMatching(/^\d{4}-/) },
      { event: 'refused' },
      { event: 'sending', cost: estimate },
      { event: 'task', cost: estimate },
      { event: 'stored', cost },
    ]);
    expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(2);
    const history = await eventsOf('priced');
    expect(history.filter((event) => event.workflowExecutionSignaledEventAttributes)).toEqual([]);
  });
});

test('a job without prices costs no event more, and what is charged is still said', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ videos }) => {
    const result = await (await videos.start({ request: priced }, { workflowId: 'unpriced' })).result();
    expect(result).not.toHaveProperty('cost');
    const history = await eventsOf('unpriced');
    const more = history.filter(
      (event) =>
        event.workflowExecutionSignaledEventAttributes ||
        event.markerRecordedEventAttributes?.markerName === 'core_patch',
    );
    expect(more).toEqual([]);
    expect((await describeJob('unpriced')).memo).not.toHaveProperty(COST_MEMO);
  });
  await inWorld(env, { jobTimeMs: 0, charge }, async ({ videos }) => {
    const result = await (await videos.start({ request: priced }, { workflowId: 'charged' })).result();
    expect(result.cost).toEqual({ charged: usd(charge) });
    expect((await describeJob('charged')).memo).toMatchObject({ [COST_MEMO]: { charged: usd(charge) } });
  });
});

test('a job that continues as new keeps its estimate, and its memo is not written again', async () => {
  const quick = { ...profile, polling: { min: '5s', max: '5s' } };
  const options = { jobTimeMs: 2 * MINUTE, profile: quick, worker: { workflowBundle: shortHistories() } };
  await inWorld(env, options, async ({ videos }) => {
    const job = await videos.start({ request: priced }, { workflowId: 'continued' });
    const { runId } = await describeJob('continued');
    expect((await job.result()).cost).toEqual({ estimated: usd(0.5), service: 'Ark' });
    expect((await describeJob('continued')).runId).not.toBe(runId);
    const last = await eventsOf('continued');
    expect(last.filter((event) => event.workflowPropertiesModifiedEventAttributes)).toEqual([]);
  });
});

test('a batch says what it will cost before its first submit, and at the end what it did', async () => {
  await inWorld(env, { jobTimeMs: MINUTE, profile, charge }, async ({ videos, emulator }) => {
    const requests = [
      priced,
      { prompt: 'A hare', resolution: '480p' } as const,
      { prompt: 'A lynx' },
      priced,
    ];
    emulator.next('submit', { kind: 'refused', status: 400, message: 'No foxes.' });
    const start = () => videos.startBatch({ requests, window: 1 }, { workflowId: 'costs' });
    const batch = await start();
    const estimated = { sums: [usd(1.3)], unknown: 1 };
    const { cost } = await untilProgress(batch, ({ running }) => running.length > 0);
    expect(cost).toEqual({ estimated });

    // The first was never paid for.
    const result = await batch.result();
    expect(result.cost).toEqual({ estimated, spent: { sums: [usd(1.35)], unknown: 0 } });
    const items = parseResults(await readFile(fileURLToPath(result.results.uri), 'utf8'));
    expect(items.map((item) => item.cost?.charged)).toEqual([undefined, usd(0.45), usd(0.45), usd(0.45)]);
    expect(items[1]?.cost).toEqual({ estimated: usd(0.3), charged: usd(0.45), service: 'Ark' });

    const again: BatchResult = await (await start()).result();
    expect(again.cost).toEqual(result.cost);
  });
});
