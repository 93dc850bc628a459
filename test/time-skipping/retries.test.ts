import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isVideoFailure } from '../../src/contract/video-failure';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { activities, historyOf } from '../support/history';
import { captureLogs } from '../support/logs';
import { failureOf, inWorld } from '../support/world';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const request = { prompt: 'A red fox' };

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

/** The attempts of a job's first activity of a type. */
async function attemptsOf(type: string, workflowId: string) {
  const found = activities(await historyOf(env.temporal.client, workflowId)).find(
    (activity) => activity.type === type,
  );
  if (!found) throw new Error(`no ${type} in the history of ${workflowId}`);
  return found;
}

const throttled = [
  ['in seconds', 90, 90 * SECOND, 110 * SECOND],
  ['as a date', () => new Date(Date.now() + 120 * SECOND), 100 * SECOND, 140 * SECOND],
  ['of a day (clamped to ten minutes)', 86_400, 10 * MINUTE, 11.1 * MINUTE],
  ['of zero (clamped to a second)', 0, 1 * SECOND, 10 * SECOND],
  ['that is missing (the policy’s first interval)', undefined, 2 * SECOND, 10 * SECOND],
] as const;

test.each(throttled)(
  'a submit answered 429 is retried after a Retry-After %s',
  async (_, given, least, most) => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
      emulator.next('submit', {
        kind: 'rate-limited',
        retryAfter: typeof given === 'function' ? given() : given,
      });
      const job = await videos.start({ request });
      await job.result();

      const { attempts, waitedMs } = await attemptsOf('submitVideo', job.workflowId);
      expect(attempts).toBe(2);
      expect(waitedMs).toBeGreaterThanOrEqual(least);
      expect(waitedMs).toBeLessThan(most);
      expect(emulator.generations()).toHaveLength(1);
    });
  },
);

test('a submit answered 5xx is retried at growing intervals, with the same idempotency key', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    emulator.next(
      'submit',
      { kind: 'server-error' },
      { kind: 'server-error', status: 503 },
      { kind: 'server-error' },
    );
    const job = await videos.start({ request });
    await job.result();

    const { attempts, waitedMs } = await attemptsOf('submitVideo', job.workflowId);
    expect(attempts).toBe(4);
    expect(waitedMs).toBeGreaterThanOrEqual((2 + 4 + 8) * SECOND);
    expect(waitedMs).toBeLessThan(25 * SECOND);
    const keys = emulator.calls
      .filter(({ call }) => call === 'submit')
      .map(({ idempotencyKey }) => idempotencyKey);
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(emulator.generations()).toHaveLength(1);
  });
});

test.each([
  [400, 'InvalidRequest', 'the prompt names a living person'],
  [401, 'Unauthorized', 'no such key'],
] as const)('a %d fails the job at once as %s, with the service’s message', async (status, type, message) => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'refused', status, code: 'its_code', message });
    const failure = await failureOf(videos.execute({ request }));
    expect(failure).toMatchObject({ type, details: { status, code: 'its_code', message, attempt: 1 } });
    expect(String(failure)).toContain(message);
    expect(emulator.calls).toHaveLength(1);
    expect(emulator.generations()).toHaveLength(0);
  });
});

test('a service that stays rate limited fails the job at its deadline as RateLimited, with nothing paid for', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    for (let i = 0; i < 40; i++) emulator.next('submit', { kind: 'rate-limited', retryAfter: 60 });
    const failure = await failureOf(videos.execute({ request, deadline: '10m' }));
    expect(failure).toMatchObject({ type: 'RateLimited', taskId: undefined });
    expect(isVideoFailure(failure, 'RateLimited')).toBe(true);
    expect(isVideoFailure(failure, 'ServiceFailed')).toBe(false);
    expect(emulator.generations()).toHaveLength(0);
    const tried = emulator.calls.length;
    expect(tried).toBeGreaterThan(7);
    expect(tried).toBeLessThan(12);
  });
});

test('a submit to an unreachable service is retried until the deadline', async () => {
  await inWorld(env, {}, async ({ emulator, videos }) => {
    await emulator.close();
    const failure = await failureOf(videos.execute({ request, deadline: '5m' }));
    expect(failure).toMatchObject({ type: 'ServiceUnreachable', details: { code: 'ECONNREFUSED' } });
  });
});

test('a poll answered 429 is retried after its Retry-After', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    emulator.next('status', { kind: 'rate-limited', retryAfter: 45 });
    const job = await videos.start({ request });
    const { polls } = await job.result();

    const { attempts, waitedMs } = await attemptsOf('pollVideo', job.workflowId);
    expect(polls).toBe(1);
    expect(attempts).toBe(2);
    expect(waitedMs).toBeGreaterThanOrEqual(45 * SECOND);
    expect(waitedMs).toBeLessThan(60 * SECOND);
  });
});

test('polling errors do not fail the job', async () => {
  await inWorld(env, { jobTimeMs: 2 * MINUTE }, async ({ emulator, videos }) => {
    emulator.next(
      'status',
      { kind: 'reset' },
      { kind: 'server-error' },
      { kind: 'bad-json' },
      { kind: 'empty-accepted' },
      { kind: 'refused', status: 418, message: 'odd' },
      { kind: 'refused', status: 404, message: 'not here yet' },
      { kind: 'unknown-state', word: 'marinating' },
    );
    const { taskId } = await videos.execute({ request });
    expect(emulator.generations().map((task) => task.taskId)).toEqual([taskId]);
    expect(emulator.scriptIsSpent()).toBe(true);
  });
});

test('a refused key while polling is shown as a problem, which clears once the key works again', async () => {
  await inWorld(env, { jobTimeMs: 5 * MINUTE }, async ({ emulator, videos }) => {
    for (let i = 0; i < 3; i++)
      emulator.next('status', { kind: 'refused', status: 401, message: 'key expired' });
    const job = await videos.start({ request });
    await job.taskId();
    await env.temporal.sleep(30 * SECOND);
    const { problem } = await job.progress();
    expect(problem).toMatchObject({ type: 'Unauthorized', message: expect.stringContaining('key expired') });
    expect(problem?.count).toBeGreaterThan(1);

    await job.result();
    const after = await job.progress();
    expect(after.phase).toBe('succeeded');
    expect(after.problem).toBeUndefined();
  });
});

test('a download that is cut, or answered with a web page or a 503, is retried until the video is complete', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, storedFiles }) => {
    emulator.next(
      'download',
      { kind: 'cut', afterBytes: 1_000 },
      { kind: 'web-page' },
      { kind: 'server-error', status: 503 },
      { kind: 'refused', status: 403, message: 'expired' },
      { kind: 'reset' },
    );
    const { video, taskId } = await videos.execute({ request });
    expect(video.bytes).toBe((await emulator.video(taskId)).length);
    expect(emulator.calls.filter(({ call }) => call === 'download')).toHaveLength(6);
    const name = basename(fileURLToPath(video.uri));
    expect(await storedFiles()).toEqual([name, `${name}.json`]);
  });
});
