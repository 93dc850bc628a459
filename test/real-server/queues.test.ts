import { randomUUID } from 'node:crypto';
import type { VideoJob } from '../../src/client/video-job';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import {
  ONE_PARTITION,
  pendingSubmit,
  startSubmitting,
  untilQueued,
  untilWaiting,
} from '../support/submit-backlog';
import { inWorld, pause } from '../support/world';

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig: ONE_PARTITION });
});
afterAll(() => env.teardown());

const polling = { min: '1s', max: '1s' };

test('submits wait in Temporal’s queue, ordered by the caller’s priority', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const submit = `submits-${randomUUID()}`;
    const order = [5, 5, 3, 3, 1];
    const jobs: VideoJob[] = [];
    for (const [index, priorityKey] of order.entries()) {
      const request = { prompt: `${priorityKey} ${index}` };
      const temporal = { priority: { priorityKey } };
      jobs.push(await world.videos.start({ request, polling, queues: { submit } }, { temporal }));
    }
    await untilQueued(env, submit, jobs);
    expect(world.emulator.calls).toEqual([]);

    const stop = await startSubmitting(env, world, submit);
    for (const job of jobs) await job.result();
    await stop();
    const posted = world.emulator.generations().map(({ request }) => Number(request.prompt[0]));
    expect(posted).toEqual([1, 3, 3, 5, 5]);
  });
});

test('during a pause of the rate limiter, the worker takes no submits from Temporal', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    const limited = { kind: 'rate-limited', retryAfter: 3_600 } as const;
    emulator.next('submit', ...Array.from({ length: 40 }, () => limited));
    const first = await videos.start({ request: { prompt: 'first' } });
    while (((await pendingSubmit(env, first))?.attempt ?? 0) < 2) await pause();
    const jobs: VideoJob[] = [];
    for (let i = 0; i < 30; i++) jobs.push(await videos.start({ request: { prompt: `fox ${i}` } }));
    // Polls in flight when the pause began still get submits, which go back without a call.
    const attempted = async () => {
      const submits = await Promise.all(jobs.map((job) => pendingSubmit(env, job)));
      expect(submits.every((submit) => submit !== undefined)).toBe(true);
      return submits.filter((submit) => (submit?.attempt ?? 0) > 1).length;
    };
    await untilWaiting(env, jobs);
    expect(await attempted()).toBeLessThanOrEqual(8);
    expect(emulator.calls).toHaveLength(1);
    for (const job of [first, ...jobs]) await job.cancel();
  });
});
