import { randomUUID } from 'node:crypto';
import { RateGate } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { VideoJob } from '../../src/video-job';
import { captureLogs } from '../support/logs';
import { bundlePath, inWorld, pause, type World } from '../support/world';

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig: ONE_PARTITION });
});
afterAll(() => env.teardown());

/** On a server of several partitions the order holds within each. */
const ONE_PARTITION = {
  'matching.numTaskqueueReadPartitions': '1',
  'matching.numTaskqueueWritePartitions': '1',
};

const polling = { min: '1s', max: '1s' };

const pendingSubmit = async ({ workflowId }: VideoJob) => {
  const { raw } = await env.temporal.client.workflow.getHandle(workflowId).describe();
  return raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'submitVideo');
};

/** Works on a submit queue alone, with a gate that has met a limit just now: one submit at a time, after a second. */
async function startSubmitting(world: World, submitQueue: string): Promise<() => Promise<void>> {
  const gate = new RateGate();
  const entry = gate.enter('submit');
  if (entry.open) entry.leave({ kind: 'limited' });
  const worker = await env.createWorker({
    taskQueue: `unused-${randomUUID()}`,
    submitQueue,
    gate,
    service: world.service,
    worker: { workflowBundle: { codePath: bundlePath() } },
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
  };
}

test('submits wait in Temporal, where the caller’s priority orders them', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const submit = `submits-${randomUUID()}`;
    const order = [5, 5, 3, 3, 1];
    const jobs: VideoJob[] = [];
    for (const [index, priorityKey] of order.entries()) {
      const request = { prompt: `${priorityKey} ${index}` };
      const temporal = { priority: { priorityKey } };
      jobs.push(await world.videos.start({ request, polling, queues: { submit } }, { temporal }));
    }
    for (const job of jobs) while ((await pendingSubmit(job)) === undefined) await pause();
    expect(world.emulator.calls).toEqual([]);

    const stop = await startSubmitting(world, submit);
    for (const job of jobs) await job.result();
    await stop();
    const posted = world.emulator.generations().map(({ request }) => Number(request.prompt[0]));
    expect(posted).toEqual([1, 3, 3, 5, 5]);
  });
});

test('while the service asks for a pause, submits are not even taken from Temporal', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    const limited = { kind: 'rate-limited', retryAfter: 3_600 } as const;
    emulator.next('submit', ...Array.from({ length: 40 }, () => limited));
    const first = await videos.start({ request: { prompt: 'first' } });
    while (((await pendingSubmit(first))?.attempt ?? 0) < 2) await pause();
    const jobs: VideoJob[] = [];
    for (let i = 0; i < 30; i++) jobs.push(await videos.start({ request: { prompt: `fox ${i}` } }));
    // Those that were being asked for when the pause began still come, and are sent back without a call.
    const attempted = async () => {
      const submits = await Promise.all(jobs.map(pendingSubmit));
      expect(submits.every((submit) => submit !== undefined)).toBe(true);
      return submits.filter((submit) => (submit?.attempt ?? 0) > 1).length;
    };
    for (const job of jobs) while ((await pendingSubmit(job)) === undefined) await pause();
    expect(await attempted()).toBeLessThanOrEqual(8);
    expect(emulator.calls).toHaveLength(1);
    for (const job of [first, ...jobs]) await job.cancel();
  });
});
