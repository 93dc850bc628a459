import { randomUUID } from 'node:crypto';
import type { Context as ActivityContext } from '@temporalio/activity';
import type { Priority } from '@temporalio/common';
import type { VideoJob } from '../../src/client/video-job';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { ONE_PARTITION, startSubmitting, untilQueued } from '../support/submit-backlog';
import { bundlePath, inWorld } from '../support/world';

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  const dynamicConfig = {
    ...ONE_PARTITION,
    'matching.enableFairness': 'true',
    // An activity that comes with the answer to its workflow task waits on no queue, and is told no priority.
    'system.enableActivityEagerExecution': 'false',
  };
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig, emulator: { jobTimeMs: 0 } });
});
afterAll(() => env.teardown());

const DOWNLOAD_QUEUE = 'downloads-by-priority';
const polling = { min: '1s', max: '1s' } as const;

/** A worker, and what each of its activities was handed over with: the history tells a priority only of the start. */
async function startWatchedWorker() {
  const seen: { type: string; priority: Priority | undefined }[] = [];
  const watch = ({ info }: ActivityContext) => {
    seen.push({ type: info.activityType, priority: info.priority });
    return {};
  };
  const worker = await env.createWorker({
    downloadQueue: DOWNLOAD_QUEUE,
    worker: { workflowBundle: { codePath: bundlePath() }, interceptors: { activity: [watch] } },
  });
  return { worker, seen };
}

test.each(['start', 'submit'] as const)(
  'the priority that a job is given by %s is that of each of its activities, on all its queues',
  async (way) => {
    const { worker, seen } = await startWatchedWorker();
    const priority = { priorityKey: 2, fairnessKey: 'acme', fairnessWeight: 2.5 };
    await worker.runUntil(async () => {
      const input = { request: { prompt: 'A red fox' }, polling, queues: { download: DOWNLOAD_QUEUE } };
      const begun = await env.videos[way](input, { temporal: { priority } });
      await ('job' in begun ? begun.job : begun).result();
    });
    expect(seen).toEqual(['submitVideo', 'pollVideo', 'downloadVideo'].map((type) => ({ type, priority })));
  },
);

test('the priority that a batch is given is that of each of its activities', async () => {
  const { worker, seen } = await startWatchedWorker();
  const priority = { priorityKey: 4, fairnessKey: 'acme', fairnessWeight: 0.5 };
  await worker.runUntil(async () => {
    const requests = [{ prompt: 'A red fox' }, { prompt: 'A grey fox' }];
    const batch = await env.videos.startBatch({ requests, polling }, { temporal: { priority } });
    expect(await batch.result()).toMatchObject({ succeeded: 2 });
  });
  const types = new Set(seen.map(({ type }) => type));
  expect(types).toEqual(
    new Set(['openBatch', 'submitVideo', 'pollVideos', 'downloadVideo', 'recordResults']),
  );
  expect(seen).toEqual(seen.map(({ type }) => ({ type, priority })));
});

test('submits of equal priority take turns by their fairness keys, the heavier more often', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const submit = `submits-${randomUUID()}`;
    const jobs: VideoJob[] = [];
    const start = async (fairnessKey: string, fairnessWeight: number) => {
      const temporal = { priority: { fairnessKey, fairnessWeight } };
      const request = { prompt: fairnessKey };
      jobs.push(await world.videos.start({ request, polling, queues: { submit } }, { temporal }));
    };
    for (let i = 0; i < 6; i++) await start('early', 1);
    for (let i = 0; i < 4; i++) await start('heavy', 4);
    await untilQueued(env, submit, jobs);

    const stop = await startSubmitting(env, world, submit);
    for (const job of jobs) await job.result();
    await stop();
    const posted = world.emulator.generations().map(({ request }) => request.prompt);
    expect(posted).toHaveLength(10);
    // In the order of their coming six would be before it, and by turns without weights four.
    const beforeLastHeavy = posted.slice(0, posted.lastIndexOf('heavy')).filter((key) => key === 'early');
    expect(beforeLastHeavy.length).toBeLessThanOrEqual(3);
  });
});
