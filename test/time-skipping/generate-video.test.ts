import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import type { VideoService } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { activities, historyOf, timers } from '../support/history';
import { captureLogs, type LogLine } from '../support/logs';
import { atLength } from '../support/nightly';
import { fullHistories, shortHistories } from '../support/short-histories';
import { failureOf, inWorld, pause, untilProgress } from '../support/world';

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

const statusOf = async (workflowId: string) =>
  (await env.temporal.client.workflow.getHandle(workflowId).describe()).status.name;

test('at the deadline the job polls once more and fails with the task id; the task can be adopted later', async () => {
  await inWorld(env, { jobTimeMs: 15 * MINUTE }, async ({ emulator, videos }) => {
    const job = await videos.start({ request, deadline: '10m', polling: { min: '1h', max: '1h' } });
    const failure = await failureOf(job.result());
    const taskId = emulator.generations()[0]?.taskId ?? '';
    expectRow(failure, 'DeadlineExceeded', taskId);
    expect(String(failure)).toContain('the task was last seen running');
    const { deadlineAt, polls } = await job.progress();
    expect(polls).toBe(1);
    expect(Date.parse(deadlineAt)).toBeLessThanOrEqual(await env.temporal.currentTimeMs());

    expect((await videos.execute({ taskId })).taskId).toBe(taskId);
    expect(emulator.generations()).toHaveLength(1);
  });
});

test('the failure of a cancelled or terminated job has the task id', async () => {
  await inWorld(env, { jobTimeMs: 30 * MINUTE }, async ({ videos }) => {
    const [cancelled, terminated] = [await videos.start({ request }), await videos.start({ request })];
    const taskId = await cancelled.taskId();
    await cancelled.cancel();
    expectRow(await failureOf(cancelled.result()), 'Cancelled', taskId);
    expect(await statusOf(cancelled.workflowId)).toBe('CANCELLED');
    expect(await cancelled.progress()).toMatchObject({ phase: 'cancelled' });
    // How its submit ended is known, and not asked for.
    const history = await historyOf(env.temporal.client, cancelled.workflowId);
    expect(activities(history).map(({ type }) => type)).toEqual(['routeJob', 'submitVideo', 'cancelVideo']);

    const itsTaskId = await terminated.taskId();
    await env.temporal.client.workflow.getHandle(terminated.workflowId).terminate('tidying up');
    expectRow(await failureOf(terminated.result()), 'Cancelled', itsTaskId);
  });
});

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

test('a video that does not arrive in time leaves at most its partial file, which workers remove a day later', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, storedFiles }) => {
    const late = { kind: 'rate-limited', retryAfter: 600 } as const;
    emulator.next('download', { kind: 'cut', afterBytes: 40_000 }, late, late, late);
    const failure = await failureOf(videos.execute({ request, deadline: '1m' }));
    expectRow(failure, 'RateLimited', emulator.generations()[0]?.taskId);
    expect((await storedFiles()).filter((name) => !/^[.]videogen-.*[.]part$/.test(name))).toEqual([]);
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
    'a misspelt field',
    { request: { ...request, aspectRatio: '1:1' } },
    '"aspectRatio": not a field of the request',
  ],
  [
    'a request of 1.6 MB',
    { request: { ...request, image_url: `data:image/png;base64,${'A'.repeat(1_550_000)}` } },
    'the request is 1.6 MB; at most 1.5 MB fit into a Temporal message: give image_url as a link',
  ],
  ['a deadline of a megabyte', { request, deadline: 'x'.repeat(1_200_000) }, 'deadline must be'],
  ['a task id that is an object', { taskId: { toString: 1, valueOf: 1 } }, 'taskId must be text'],
  ['a service that is an object', { request, service: { name: 'a' } }, 'service must be a name'],
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

test.each([
  [3 * SECOND, 3, 6 * SECOND],
  [2 * MINUTE, 25, 130 * SECOND],
])(
  'the first video of a worker, ready after %d ms, needs at most %d polls and is found within %d ms',
  async (jobTimeMs, most, within) => {
    await inWorld(env, { jobTimeMs }, async ({ videos }) => {
      const job = await videos.start({ request });
      const { polls, waitedMs } = await job.result();
      expect(polls).toBeLessThanOrEqual(most);
      expect(waitedMs).toBeLessThan(within);
      const history = await historyOf(env.temporal.client, job.workflowId);
      expect(timers(history)).toHaveLength(polls);
      const made = activities(history).filter(({ type }) => type === 'pollVideo');
      expect(made.map(({ isLocal }) => isLocal)).toEqual(Array(polls).fill(true));
    });
  },
);

test('a worker learns from its jobs: later ones need fewer polls', async () => {
  const wrapService = (service: VideoService) => ({ ...service, address: 'https://learned.example/' });
  await inWorld(env, { jobTimeMs: 90 * SECOND, wrapService }, async ({ videos }) => {
    const polls: number[] = [];
    for (let job = 0; job < 6; job++) polls.push((await (await videos.start({ request })).result()).polls);
    const [first = 0, last = 0] = [polls[0], polls.at(-1)];
    expect(last).toBeLessThan(0.75 * first);
  });
});

test('failed polls are made again after ever longer delays, or after what the service asks for', async () => {
  await inWorld(env, { jobTimeMs: 10 * SECOND }, async ({ emulator, videos }) => {
    const refused = { kind: 'refused', status: 401, message: 'key expired' } as const;
    emulator.next('status', refused, refused, { kind: 'rate-limited', retryAfter: 300 });
    const job = await videos.start({ request, polling: { min: '10s', max: '10s' } });
    expect(await job.result()).toMatchObject({ polls: 4 });
    const delays = timers(await historyOf(env.temporal.client, job.workflowId)).map(({ ms }) => ms);
    expect(delays.slice(0, 3)).toEqual([10, 20, 40].map((seconds) => seconds * SECOND));
    expect(delays[3]).toBeGreaterThanOrEqual(300 * SECOND);
  });
});
