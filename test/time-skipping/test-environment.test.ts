import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import { createVideoActivities } from '../../activities';
import { createFilmActivities, NO_FFMPEG } from '../../examples/trailer/film/activities';
import type { makeFilm } from '../../examples/trailer/film/workflows';
import { storyboard } from '../../examples/trailer/storyboard';
import { createVideoClient } from '../../src/client/video-client';
import { readFailure } from '../../src/contract/video-failure';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { EmulatedCall } from '../../src/testing/faults';
import { VideoPlugin } from '../../src/worker/video-plugin';
import { ChildProcesses } from '../support/child-processes';
import { blocksOf, readPage } from '../support/docs-page';
import { readFilm } from '../support/example-film';
import { createHostProject } from '../support/host-project';
import { sha256Of } from '../support/images';
import { captureLogs } from '../support/logs';
import { testAtNight } from '../support/nightly';
import { failureOf, quickWorkflows } from '../support/world';

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
/** Starts while other tests run. */
let late: Promise<VideoTestEnvironment>;
beforeAll(async () => {
  captureLogs();
  const emulator = { jobTimeMs: 0, videoBytes: 64 * 1024, fetchImages: true };
  env = await createVideoTestEnvironment({ emulator });
  service = createVideoService({ baseUrl: env.emulator.url, apiKey: () => env.emulator.apiKey });
  storage = createFileStorage(env.storageFolder);
  late = environmentOn(`#!/bin/sh\nsleep 6\nexec "${process.env.VIDEOGEN_TEST_SERVER}" "$@"\n`);
});
afterAll(async () => {
  await (await late).teardown();
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

test('a test server may take longer to start than the SDK’s five seconds', async () => {
  const { temporal } = await late;
  const before = await temporal.currentTimeMs();
  await temporal.sleep('1h');
  expect((await temporal.currentTimeMs()) - before).toBeGreaterThanOrEqual(HOUR);
});

testAtNight(
  'each shot of a film begins with the last frame of the one before, and is paid for once however often the film is made',
  async () => {
    const { temporal, emulator, storageFolder } = env;
    const ffmpeg = join(storageFolder, 'ffmpeg');
    await writeStandIn(ffmpeg);
    const worker = await Worker.create({
      connection: temporal.nativeConnection,
      taskQueue: 'films',
      workflowsPath: require.resolve('../../examples/trailer/film/workflows'),
      activities: createFilmActivities(storage, ffmpeg),
      plugins: [new VideoPlugin({ env: {}, service, storage })],
    });
    const make = () =>
      temporal.client.workflow.execute<typeof makeFilm>('makeFilm', {
        taskQueue: 'films',
        workflowId: 'fox',
        args: [storyboard],
      });
    const before = emulator.generations().length;
    const paid = () => emulator.generations().slice(before);
    await worker.runUntil(async () => {
      emulator.next('submit', { kind: 'late', ms: 0 }, { kind: 'refused', status: 400, message: 'no foxes' });
      expect(readFailure(await failureOf(make()))).toMatchObject({ type: 'InvalidRequest' });
      expect(paid()).toHaveLength(1);
      expect(await make()).toMatch(/\/films\/fox\/film\.mp4$/);
      await make();
    });

    expect(paid().map(({ request }) => request.prompt)).toEqual(storyboard.map(({ prompt }) => prompt));
    const folder = join(storageFolder, 'films/fox');
    const shots = await Promise.all(
      paid().map((_, index) => readFile(join(folder, `fox-shot-${index + 1}.mp4`))),
    );
    const frames = shots.slice(0, -1).map(sha256Of);
    expect(paid().map(({ image }) => image?.sha256)).toEqual([undefined, ...frames]);
    const seconds = storyboard.reduce((sum, { duration = 0 }) => sum + duration, 0);
    expect(await readFilm(join(folder, 'film.mp4'))).toMatchObject({ seconds: expect.closeTo(seconds) });

    const { uri } = await storage.write('shot.mp4', 'a video', 'video/mp4');
    const withoutFfmpeg = createFilmActivities(storage, join(storageFolder, 'nowhere/ffmpeg'));
    await expect(withoutFfmpeg.takeLastFrame(uri)).rejects.toThrow(NO_FFMPEG);
  },
);

/** The files on a page: the blocks whose first line is a file's name. */
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

const STAND_IN = `#!/bin/sh
[ "$1" = -version ] && exit
while [ $# -gt 1 ]; do [ "$1" = -i ] && video=$2; shift; done
/bin/cp "$video" "$1"
`;

/** In place of ffmpeg, which a machine need not have: the frame that it takes of a video is the video itself. */
const writeStandIn = (path: string) => writeFile(path, STAND_IN, { mode: 0o755 });
