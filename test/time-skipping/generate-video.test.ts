import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { builtInProfile, createVideoService, proposeProfile } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { noiseVideo } from '../../src/testing/video/make-video';
import { dialectOf } from '../dialects';
import { reply, replyJson, startRawServer } from '../service/raw-server';
import { expectRow } from '../support/expect-row';
import { activities, historyOf, timers } from '../support/history';
import { SINKS } from '../support/hostile-sinks';
import { captureLogs, type LogLine } from '../support/logs';
import { atLength } from '../support/nightly';
import { S3_SERVER_TIMEOUT_MS } from '../support/s3-server';
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

test(
  'a job stores its video in S3, also after attempts that were cut and refused',
  async () => {
    const { storage, everythingIn, close } = await SINKS.S3();
    try {
      await inWorld(env, { jobTimeMs: 0, storage }, async ({ emulator, videos }) => {
        emulator.next(
          'download',
          { kind: 'cut', afterBytes: 40_000 },
          { kind: 'server-error' },
          { kind: 'web-page' },
        );
        const { taskId, video } = await videos.execute({ request, storage: 'foxes/red.{ext}' });
        expect(video.uri).toBe('s3://videos/videos/foxes/red.mp4');
        const stored = await storage.read('foxes/red.mp4');
        expect(stored && (await buffer(stored)).equals(await emulator.video(taskId))).toBe(true);
        expect((await everythingIn('foxes')).sort()).toEqual(['red.mp4', 'red.mp4.json']);
        expect(emulator.scriptIsSpent()).toBe(true);
      });
    } finally {
      await close();
    }
  },
  S3_SERVER_TIMEOUT_MS,
);

test.each([
  ['answers', 'pixverse'],
  ['answers and requests', 'kling'],
] as const)(
  'a job at a service with %s like %s stores the video of its one task, whose id is too long for a number',
  async (_, dialect) => {
    const options = { jobTimeMs: 0, dialect: dialectOf(dialect), profile: builtInProfile(dialect) };
    await inWorld(env, options, async ({ emulator, videos }) => {
      const request = { prompt: 'A red fox', duration: 5 };
      emulator.next('submit', { kind: 'rate-limited', retryAfter: 5 });
      emulator.next('status', { kind: 'refused', status: 401, message: 'no such key' });
      const { taskId, video } = await videos.execute({ request });
      expect(taskId).toMatch(/^\d{18}$/);
      const file = await readFile(fileURLToPath(video.uri));
      expect(file.equals(await emulator.video(taskId))).toBe(true);
      expect(emulator.generations()).toHaveLength(1);
    });
  },
);

test('an unknown answer format works with the profile that is proposed from its answers', async () => {
  const video = await noiseVideo(request, 10_000);
  const finished = { ticket: { no: 7, phase: 'P9' }, deliverable: { href: '/files/a.mp4' } };
  let polls = 0;
  const strange = await startRawServer((asked) => {
    if (asked.line.includes('/files/a.mp4')) return reply(asked, { body: video });
    const isDone = asked.line.startsWith('GET') && ++polls > 3;
    replyJson(asked, isDone ? finished : { ticket: { no: 7, phase: 'P1' } });
  });
  const { profile } = proposeProfile([{ status: 200, body: JSON.stringify(finished) }]);
  expect(profile).toEqual({
    read: { taskId: 'ticket.no', state: 'ticket.phase', video: 'deliverable.href' },
  });
  const service = createVideoService({ baseUrl: strange.url, apiKey: () => 'sk-x', profile });
  await inWorld(env, { wrapService: () => service }, async ({ videos }) => {
    const result = await videos.execute({ request });
    expect(result).toMatchObject({ taskId: '7', polls: 4 });
    expect((await readFile(fileURLToPath(result.video.uri))).equals(video)).toBe(true);
  });
  await service.close();
  await strange.close();
});

const statusOf = async (workflowId: string) =>
  (await env.temporal.client.workflow.getHandle(workflowId).describe()).status.name;

test('a failed task fails the job as GenerationFailed with the service’s code and message', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, storedFiles }) => {
    emulator.next('submit', { kind: 'failed-task', code: 'foxes', message: 'too many foxes' });
    const job = await videos.start({ request });
    const failure = await failureOf(job.result());
    expectRow(failure, 'GenerationFailed', emulator.generations()[0]?.taskId);
    expect(failure).toMatchObject({ details: { code: 'foxes', message: 'too many foxes' } });
    expect(await statusOf(job.workflowId)).toBe('FAILED');
    expect(await job.progress()).toMatchObject({ phase: 'failed', task: { state: 'failed' } });
    expect(await storedFiles()).toEqual([]);
  });
});

test('a task that the service cancelled fails the job as GenerationCancelled with the service’s word', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    emulator.next('status', { kind: 'unknown-state', word: 'cancelled' });
    const failure = await failureOf(videos.execute({ request }));
    expectRow(failure, 'GenerationCancelled', emulator.generations()[0]?.taskId);
    expect(failure).toMatchObject({ details: { message: 'cancelled' } });
  });
});

test.each([
  ['prompt', 'default', { status: 400, code: 'content_policy_violation', field: 'prompt' }],
  ['image', 'fal', { code: 'content_policy_violation', field: 'image_url' }],
  ['output', 'veo', { message: expect.stringContaining('58061214') }],
] as const)(
  'a refused %s fails the job as ContentRefused at a service like %s, once',
  async (stage, dialect, details) => {
    await inWorld(
      env,
      { jobTimeMs: 0, dialect: dialectOf(dialect) },
      async ({ emulator, videos, storedFiles }) => {
        emulator.next('submit', { kind: 'refused-content', stage });
        const input = { request: { ...request, image_url: 'https://example.com/fox.png' } };
        const job = await videos.start(input, { workflowId: `refused-${stage}` });
        const failure = await failureOf(job.result());
        const [task] = emulator.generations();
        const taskId = task && emulator.idOf(task);
        expect(failure).toMatchObject({ type: 'ContentRefused', taskId, details: { stage, ...details } });
        expect(await statusOf(job.workflowId)).toBe('FAILED');
        expect(await job.progress()).toMatchObject({ phase: 'failed' });

        const again = await failureOf(videos.execute(input, { workflowId: job.workflowId }));
        expect(again).toMatchObject({ type: 'ContentRefused', taskId });
        expect(String(again)).toContain('was not retried');
        expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(1);
        expect(await storedFiles()).toEqual([]);
      },
    );
  },
);

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

test('a refusal of every poll does not fail the job until the deadline, and the failure quotes it', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    const refused = { kind: 'refused', status: 422, message: 'No image' } as const;
    emulator.next('status', ...Array.from({ length: 30 }, () => refused));
    const failure = await failureOf(
      videos.execute({ request, deadline: '2m', polling: { min: '1m', max: '1m' } }),
    );
    expectRow(failure, 'DeadlineExceeded', emulator.generations()[0]?.taskId);
    expect(String(failure)).toMatch(/HTTP 422 .*No image/);
  });
});

test('a submit to an unreachable service is retried until the deadline', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    await emulator.close();
    const failure = await failureOf(videos.execute({ request, deadline: '1m' }));
    expect(failure).toMatchObject({ type: 'ServiceUnreachable', details: { code: 'ECONNREFUSED' } });
    expect(failure).toMatchObject({ details: { attempt: expect.any(Number) } });
    expect(Number(Object(failure).details.attempt)).toBeGreaterThan(3);
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

test('a storage that cannot store the video fails the job as StorageFailed with the task id, and the task can be adopted', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, storedFiles }) => {
    await videos.execute({ request, storage: 'fox.mp4' });
    expect(await storedFiles()).toContain('fox.mp4');
    const failure = await failureOf(videos.execute({ request, storage: 'fox.mp4/inside-a-file.mp4' }));
    const taskId = emulator.generations()[1]?.taskId ?? '';
    expectRow(failure, 'StorageFailed', taskId);
    expect((await videos.execute({ taskId })).taskId).toBe(taskId);
  });
});

/** What the contract refuses is the same for the client and the workflow: test/contract/job-input.test.ts. */
test.each([
  ['nothing', undefined, 'either a request or the taskId'],
  [
    'a misspelt field',
    { request: { ...request, aspectRatio: '1:1' } },
    '"aspectRatio": not a field of the request',
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
