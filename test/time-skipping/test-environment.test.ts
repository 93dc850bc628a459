import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import { createVideoActivities } from '../../activities';
import { createVideoClient } from '../../src/client/video-client';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { EmulatedCall } from '../../src/testing/faults';
import { ChildProcesses } from '../support/child-processes';
import { blocksOf, readPage } from '../support/docs-page';
import { createHostProject } from '../support/host-project';
import { captureLogs } from '../support/logs';
import { testAtNight } from '../support/nightly';
import { quickWorkflows } from '../support/world';

/** The longest pause that is respected: without skipped time the test would time out. */
const limited = { kind: 'rate-limited', retryAfter: 600 } as const;
/** Without a Retry-After. */
const limitedWithoutRetryAfter = { kind: 'rate-limited' } as const;
/** More refusals than a worker has concurrent polls for submits. */
const MORE_THAN_POLLS = 9;
const HOUR = 3_600_000;

const HOSTS: Record<string, () => Partial<WorkerOptions>> = {
  'with the plugin': () => ({ plugins: [env.createPlugin()] }),
  'with the activities alone': () => ({ activities: createVideoActivities({ service, storage }) }),
};

let env: VideoTestEnvironment;
let service: OpenedVideoService;
let storage: VideoStorage;
beforeAll(async () => {
  captureLogs();
  const emulator = { jobTimeMs: 0, videoBytes: 64 * 1024 };
  env = await createVideoTestEnvironment({ emulator });
  service = createVideoService({ baseUrl: env.emulator.url, apiKey: () => env.emulator.apiKey });
  storage = createFileStorage(env.storageFolder);
});
afterAll(async () => {
  await service.close();
  await env.teardown();
});

/** An environment with this script as its test server. */
async function environmentOn(script: string): Promise<VideoTestEnvironment> {
  const path = join(env.storageFolder, `test-server-${randomUUID()}`);
  await writeFile(path, script, { mode: 0o755 });
  return createVideoTestEnvironment({ env: { ...process.env, VIDEOGEN_TEST_SERVER: path } });
}

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

test('a test server that ends instead of starting is reported with its last output', async () => {
  await expect(environmentOn('#!/bin/sh\necho no memory left\nexit 3\n')).rejects.toThrow(
    /^The time-skipping test server \S+test-server-\S+ on 127\.0\.0\.1:\d+ ended with code 3: no memory left/,
  );
});

testAtNight('a test server may take longer to start than the SDK’s five seconds', async () => {
  const late = await environmentOn(`#!/bin/sh\nsleep 6\nexec "${process.env.VIDEOGEN_TEST_SERVER}" "$@"\n`);
  const { temporal } = late;
  const before = await temporal.currentTimeMs();
  await temporal.sleep('1h');
  expect((await temporal.currentTimeMs()) - before).toBeGreaterThanOrEqual(HOUR);
  await late.teardown();
});

/** The files on a page. The first line of a block is the file's name. */
function filesOf(page: string): Record<string, string> {
  const blocks = ['js', 'ts'].flatMap((language) => blocksOf(page, language));
  const named = blocks.map((code) => [code.match(/^\/\/ (\S+)\n/)?.[1], code]);
  return Object.fromEntries(named.filter(([name]) => name !== undefined));
}

testAtNight(
  'the test of a host’s workflow on the page about testing passes unchanged',
  async () => {
    const files = filesOf(readPage('testing.md'));
    expect(Object.keys(files).sort()).toEqual(['jest.config.js', 'trailer.test.ts', 'workflows.ts']);
    const host = createHostProject();
    const processes = new ChildProcesses();
    try {
      host.write(files);
      const { VIDEOGEN_TEST_SERVER } = process.env;
      const jest = processes.start([join(host.folder, 'node_modules/jest/bin/jest.js')], {
        cwd: host.folder,
        env: { VIDEOGEN_TEST_SERVER },
      });
      const code = await jest.ended;
      expect(jest.err()).toMatch(/^Tests: +1 passed, 1 total$/m);
      expect(code).toBe(0);
    } finally {
      await processes.killAll();
      host.remove();
    }
  },
  180_000,
);
