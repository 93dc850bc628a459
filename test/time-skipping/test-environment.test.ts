import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import { createVideoActivities } from '../../activities';
import { createVideoClient } from '../../src/client/video-client';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { EmulatedCall } from '../../src/testing/faults';
import { captureLogs } from '../support/logs';
import { quickWorkflows } from '../support/world';

/** The longest pause that is respected: without skipped time the test would time out. */
const limited = { kind: 'rate-limited', retryAfter: 600 } as const;
/** Without a Retry-After. */
const limitedWithoutRetryAfter = { kind: 'rate-limited' } as const;
/** More refusals than a worker has concurrent polls for submits. */
const MORE_THAN_POLLS = 9;

const HOSTS: Record<string, () => Partial<WorkerOptions>> = {
  'with the plugin': () => ({ plugins: [env.createPlugin()] }),
  'with the activities alone': () => ({
    activities: createVideoActivities({ service, storage: createFileStorage(env.storageFolder) }),
  }),
};

let env: VideoTestEnvironment;
let service: OpenedVideoService;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ emulator: { jobTimeMs: 0, videoBytes: 64 * 1024 } });
  service = createVideoService({ baseUrl: env.emulator.url, apiKey: () => env.emulator.apiKey });
});
afterAll(async () => {
  await service.close();
  await env.teardown();
});

/** Its pauses take more than an hour. */
const JOB = { request: { prompt: 'a fox' }, deadline: '6h' } as const;

/** Generates one video on a host's worker, and returns the statuses of each call to the service in order. */
async function generate(host: () => Partial<WorkerOptions>): Promise<(call: EmulatedCall) => unknown[]> {
  const taskQueue = `host-${randomUUID()}`;
  const worker = await Worker.create({
    connection: env.temporal.nativeConnection,
    taskQueue,
    ...quickWorkflows(),
    ...host(),
  });
  const videos = await createVideoClient({
    client: env.temporal.client,
    taskQueue,
    searchAttributes: false,
  });
  const before = env.emulator.calls.length;
  const { video } = await worker.runUntil(() => videos.execute(JOB));
  expect(video.bytes).toBeGreaterThan(0);
  const made = env.emulator.calls.slice(before);
  return (call) => made.filter((one) => one.call === call).map(({ status }) => status);
}

test.each(Object.entries(HOSTS))(
  'with skipped time, a host’s worker %s makes one call for each pause it was asked for, and then the last one',
  async (_, host) => {
    const refusals = Array.from({ length: MORE_THAN_POLLS }, (_, index) =>
      index % 2 ? limited : limitedWithoutRetryAfter,
    );
    env.emulator.next('submit', ...refusals);
    env.emulator.next('status', limited);
    env.emulator.next('download', limited);
    const statuses = await generate(host);
    expect(statuses('submit')).toEqual([...refusals.map(() => 429), 200]);
    // It polls again for a fresh link after the pause of the download.
    expect(statuses('status').slice(0, 2)).toEqual([429, 200]);
    expect(statuses('download')).toEqual([429, 200]);
  },
);

/** An environment with this script as its test server. */
async function environmentOn(script: string, settings = {}) {
  const path = join(env.storageFolder, 'test-server');
  await writeFile(path, script, { mode: 0o755 });
  return createVideoTestEnvironment({ env: { ...process.env, VIDEOGEN_TEST_SERVER: path, ...settings } });
}

test('a test server may take longer to start than the SDK’s five seconds', async () => {
  const late = await environmentOn(`#!/bin/sh\nsleep 6\nexec "${process.env.VIDEOGEN_TEST_SERVER}" "$@"\n`);
  try {
    const before = await late.temporal.currentTimeMs();
    await late.temporal.sleep('1h');
    expect((await late.temporal.currentTimeMs()) - before).toBeGreaterThanOrEqual(3_600_000);
  } finally {
    await late.teardown();
  }
}, 120_000);

test('a test server that ends instead of starting is reported with its last output', async () => {
  await expect(environmentOn('#!/bin/sh\necho no memory left\nexit 3\n')).rejects.toThrow(
    /^The time-skipping test server \S+test-server on 127\.0\.0\.1:\d+ ended with code 3: no memory left/,
  );
});
