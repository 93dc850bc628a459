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
    // An eager activity skips the queue and gets no priority.
    'system.enableActivityEagerExecution': 'false',
  };
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig, emulator: { jobTimeMs: 0 } });
});
afterAll(() => env.teardown());

const DOWNLOAD_QUEUE = 'downloads-by-priority';
const polling = { min: '1s', max: '1s' } as const;

/** A worker that records the priority of each activity; the history has it only for the start of the workflow. */
async function startRecordingWorker() {
  const recorded: { type: string; priority: Priority | undefined }[] = [];
  const record = ({ info }: ActivityContext) => {
    recorded.push({ type: info.activityType, priority: info.priority });
    return {};
  };
  const worker = await env.createWorker({
    downloadQueue: DOWNLOAD_QUEUE,
    worker: { workflowBundle: { codePath: bundlePath() }, interceptors: { activity: [record] } },
  });
  return { worker, recorded };
}

test.each(['start', 'submit'] as const)(
  'the priority given to %s applies to every activity of the job, on all its queues',
  async (method) => {
    const { worker, recorded } = await startRecordingWorker();
    const priority = { priorityKey: 2, fairnessKey: 'acme', fairnessWeight: 2.5 };
    await worker.runUntil(async () => {
      const input = { request: { prompt: 'A red fox' }, polling, queues: { download: DOWNLOAD_QUEUE } };
      const started = await env.videos[method](input, { temporal: { priority } });
      await ('job' in started ? started.job : started).result();
    });
    expect(recorded).toEqual(
      ['submitVideo', 'pollVideo', 'downloadVideo'].map((type) => ({ type, priority })),
    );
  },
);

test('the priority of a batch applies to each of its activities', async () => {
  const { worker, recorded } = await startRecordingWorker();
  const priority = { priorityKey: 4, fairnessKey: 'acme', fairnessWeight: 0.5 };
  await worker.runUntil(async () => {
    const requests = [{ prompt: 'A red fox' }, { prompt: 'A grey fox' }];
    const batch = await env.videos.startBatch({ requests, polling }, { temporal: { priority } });
    expect(await batch.result()).toMatchObject({ succeeded: 2 });
  });
  const types = new Set(recorded.map(({ type }) => type));
  expect(types).toEqual(
    new Set(['openBatch', 'submitVideo', 'pollVideos', 'downloadVideo', 'recordResults']),
  );
  expect(recorded).toEqual(recorded.map(({ type }) => ({ type, priority })));
});

test('submits of equal priority take turns by fairness key, the heavier more often', async () => {
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
    // In order of arrival it would be six, and without weights four.
    const beforeLastHeavy = posted.slice(0, posted.lastIndexOf('heavy')).filter((key) => key === 'early');
    expect(beforeLastHeavy.length).toBeLessThanOrEqual(3);
  });
});
