import { randomUUID } from 'node:crypto';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import { createVideoActivities } from '../../activities';
import { createVideoClient } from '../../src/client/video-client';
import type { EmulatedCall, Faults } from '../../src/emulator';
import { createVideoService, type VideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { bundlePath } from '../support/world';

/** The longest pause that is respected: without skipped time the test would time out. */
const limited = { kind: 'rate-limited', retryAfter: 600 } as const;
/** Without a Retry-After. */
const limitedWithoutRetryAfter = { kind: 'rate-limited' } as const;
/** More refusals than a worker has concurrent polls for submits. */
const MORE_THAN_POLLS = 9;

type LimitedCall = EmulatedCall & ('submit' | 'status' | 'download');

interface HostKind {
  worker(taskQueue: string): Partial<WorkerOptions>;
  queues(taskQueue: string): { submit: string; download: string };
}

const oneQueue = (taskQueue: string) => ({ submit: taskQueue, download: taskQueue });
const ownQueues = (taskQueue: string) => ({ submit: `${taskQueue}-s`, download: `${taskQueue}-d` });

const HOSTS: Record<string, HostKind> = {
  'with the plugin': {
    worker: () => ({ plugins: [env.createPlugin()] }),
    queues: oneQueue,
  },
  'with the plugin and queues of their own': {
    worker: (taskQueue) => ({ plugins: [env.createPlugin({ queues: ownQueues(taskQueue) })] }),
    queues: ownQueues,
  },
  'with the activities alone': {
    worker: () => ({
      activities: createVideoActivities({ service, storage: createFileStorage(env.storageFolder) }),
    }),
    queues: oneQueue,
  },
};

let env: VideoTestEnvironment;
let service: VideoService;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ emulator: { jobTimeMs: 0, videoBytes: 64 * 1024 } });
  service = createVideoService({ baseUrl: env.emulator.url, apiKey: () => env.emulator.apiKey });
});
afterAll(async () => {
  await service.close();
  await env.teardown();
});

/** Generates one video on a host's worker after the faults, and returns how often the faulty call was made. */
async function callsOfOneVideo<Call extends LimitedCall>(
  host: HostKind,
  call: Call,
  ...faults: Faults[Call][]
): Promise<number> {
  const taskQueue = `host-${randomUUID()}`;
  const worker = await Worker.create({
    connection: env.temporal.nativeConnection,
    taskQueue,
    workflowBundle: { codePath: bundlePath() },
    ...host.worker(taskQueue),
  });
  const queues = host.queues(taskQueue);
  const videos = await createVideoClient({
    client: env.temporal.client,
    taskQueue,
    submitQueue: queues.submit,
    downloadQueue: queues.download,
    searchAttributes: false,
  });
  const before = env.emulator.calls.length;
  env.emulator.next(call, ...faults);
  const { video } = await worker.runUntil(() => videos.execute({ request: { prompt: 'a fox' } }));
  expect(video.bytes).toBeGreaterThan(0);
  return env.emulator.calls.slice(before).filter((made) => made.call === call).length;
}

describe.each(Object.entries(HOSTS))('with skipped time, a host’s worker %s', (_, host) => {
  it.each(['submit', 'status', 'download'] as const)(
    'generates the video although the service rate limits %s',
    async (call) => {
      await callsOfOneVideo(host, call, limited);
    },
  );

  it('sends one submit for each pause it was asked for, and then the last one', async () => {
    const refusals = Array.from({ length: MORE_THAN_POLLS }, (_, index) =>
      index % 2 ? limited : limitedWithoutRetryAfter,
    );
    expect(await callsOfOneVideo(host, 'submit', ...refusals)).toBe(refusals.length + 1);
  });
});
