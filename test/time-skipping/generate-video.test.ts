import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { activities, historyOf, timers } from '../support/history';
import { captureLogs } from '../support/logs';
import { atLength } from '../support/nightly';
import { shortHistories } from '../support/short-histories';
import { inWorld, untilProgress } from '../support/world';

const MINUTE = 60_000;

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

test.each([
  ['text to video', { prompt: 'A red fox', resolution: '720p', aspect_ratio: '16:9', duration: 5, seed: 7 }],
  ['image to video', { prompt: 'It turns its head', image_url: 'https://example.com/fox.png' }],
] as const)('%s stores one file with the hash of the result, for one task', async (kind, request) => {
  await inWorld(env, { jobTimeMs: 2 * MINUTE }, async ({ emulator, videos, storedFiles }) => {
    const result = await videos.execute({ request });

    const file = await readFile(fileURLToPath(result.video.uri));
    expect(createHash('sha256').update(file).digest('hex')).toBe(result.video.sha256);
    expect(file.equals(await emulator.video(result.taskId))).toBe(true);
    expect(result.video).toMatchObject({ bytes: file.length, contentType: 'video/mp4' });
    expect(result.seed).toBe('seed' in request ? request.seed : undefined);
    expect(result.polls).toBe(emulator.calls.filter(({ call }) => call === 'status').length - 1);
    const name = basename(fileURLToPath(result.video.uri));
    expect(await storedFiles()).toEqual([name, `${name}.json`]);

    const submits = emulator.calls.filter(({ call }) => call === 'submit');
    expect(submits).toEqual([
      expect.objectContaining({
        path: `/v1/videos/${kind.replaceAll(' ', '-')}`,
        body: request,
        contentType: 'application/json',
        authorized: true,
      }),
    ]);
    expect(emulator.generations()).toHaveLength(1);
  });
});

test('a job waits 40 minutes for a generation with durable timers', async () => {
  await inWorld(env, { jobTimeMs: 40 * MINUTE }, async ({ videos }) => {
    const job = await videos.start({ request: { prompt: 'A long night' } });
    const result = await job.result();

    expect(result.waitedMs).toBeGreaterThanOrEqual(40 * MINUTE);
    const history = await historyOf(env.temporal.client, job.workflowId);
    const waited = timers(history).reduce((sum, { ms }) => sum + ms, 0);
    // The clock also runs while the activities do, which on a busy machine is seconds.
    expect(waited).toBeGreaterThanOrEqual(38 * MINUTE);
    expect(timers(history)).toHaveLength(result.polls);
  });
});

test('the history is readable without decoding a payload', async () => {
  await inWorld(env, { jobTimeMs: 1.5 * MINUTE }, async ({ videos }) => {
    const job = await videos.start({
      request: { prompt: 'A red fox', resolution: '480p', duration: 5 },
      polling: { min: '1m', max: '1m' },
    });
    const { taskId } = await job.result();

    const history = await historyOf(env.temporal.client, job.workflowId);
    expect(activities(history).map(({ type, summary }) => `${type} ${summary}`)).toEqual([
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

test('progress has the phase, the task, its state and percentage, and the next poll', async () => {
  await inWorld(env, { jobTimeMs: 10 * MINUTE }, async ({ videos }) => {
    const job = await videos.start({ request: { prompt: 'A red fox' }, deadline: '2h' });
    const early = await untilProgress(
      job,
      ({ phase, nextPollAt }) => phase === 'waiting' && nextPollAt !== undefined,
    );
    expect(early).toMatchObject({ phase: 'waiting', taskId: await job.taskId(), polls: 0 });
    expect(Date.parse(early.deadlineAt) - Date.parse(early.startedAt)).toBe(120 * MINUTE);

    await env.temporal.sleep(5 * MINUTE);
    const later = await job.progress();
    expect(later.task).toMatchObject({ state: 'running', word: 'running' });
    expect(later.task?.percent).toBeGreaterThan(40);
    expect(later.polls).toBeGreaterThan(0);
    expect(Date.parse(later.nextPollAt ?? '')).toBeGreaterThan(Date.parse(early.nextPollAt ?? ''));

    await job.result();
    expect(await job.progress()).toMatchObject({ phase: 'succeeded', task: { state: 'succeeded' } });
  });
});

test('waitForTask returns the task id while the video is still being generated', async () => {
  await inWorld(env, { jobTimeMs: 10 * MINUTE }, async ({ emulator, videos }) => {
    const job = await videos.start({ request: { prompt: 'A red fox' } });
    const taskId = await job.taskId();
    expect(taskId).toBe(emulator.generations()[0]?.taskId);
    expect((await job.result()).taskId).toBe(taskId);
  });
});

test('each pollNow polls at once, and the job keeps waiting', async () => {
  await inWorld(env, { jobTimeMs: 30_000 }, async ({ videos }) => {
    const job = await videos.start({
      request: { prompt: 'A red fox' },
      deadline: '10h',
      polling: { min: '2h', max: '2h' },
    });
    const { nextPollAt } = await untilProgress(job, (now) => now.nextPollAt !== undefined);
    await env.temporal.sleep(10_000);
    await job.pollNow();
    const early = await untilProgress(
      job,
      ({ polls, nextPollAt: next }) => polls === 1 && next !== nextPollAt,
    );
    expect(early).toMatchObject({ phase: 'waiting', task: { state: 'running' } });
    expect(Date.parse(early.nextPollAt ?? '')).toBeGreaterThan(Date.parse(nextPollAt ?? ''));
    await env.temporal.sleep(40_000);
    await job.pollNow();
    const result = await job.result();
    expect(result.polls).toBe(2);
    expect(result.waitedMs).toBeLessThan(60 * MINUTE);
  });
});

test('an existing task is adopted by its id: polled at once, and not submitted again', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, service, videos }) => {
    const { taskId = '' } = await service.submit({ prompt: 'Elsewhere' }, { idempotencyKey: 'elsewhere' });
    const result = await videos.execute({ taskId, storage: 'adopted/' });
    expect(result).toMatchObject({ taskId, polls: 1 });
    expect(result.video.uri).toMatch(/\/adopted\/video-[^/]+\.mp4$/);
    expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(1);
  });
});

test('the caller’s key names the file', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ videos, storedFiles }) => {
    await videos.execute({ request: { prompt: 'A red fox' }, storage: 'foxes/red.mp4' });
    expect(await storedFiles()).toEqual(expect.arrayContaining(['foxes/red.mp4']));
  });
});

test('a wait too long for one history continues as new with the same task, deadline, poll count and polling interval', async () => {
  const jobTimeMs = atLength(4, 25) * MINUTE;
  const profile = { polling: { min: '5s', max: '5s' } };
  const worker = { workflowBundle: shortHistories() };
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

test('polling uses the interval of the service’s profile, unless the job has its own', async () => {
  const profile = { polling: { min: '20s', max: '20s' } };
  await inWorld(env, { jobTimeMs: MINUTE, profile }, async ({ videos }) => {
    const lengthsOf = async (polling?: { min: string; max: string }) => {
      const job = await videos.start({ request: { prompt: 'A red fox' }, polling });
      await job.result();
      return timers(await historyOf(env.temporal.client, job.workflowId)).map(({ ms }) => ms);
    };
    expect(new Set(await lengthsOf())).toEqual(new Set([20_000]));
    expect(new Set(await lengthsOf({ min: '30s', max: '30s' }))).toEqual(new Set([30_000]));
  });
});
