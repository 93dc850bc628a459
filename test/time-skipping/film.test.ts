import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { createFilmActivities, NO_FFMPEG } from '../../examples/film/activities';
import type { makeFilm } from '../../examples/film/workflows';
import { storyboard } from '../../examples/trailer/storyboard';
import { readFailure } from '../../src/contract/video-failure';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { VideoPlugin } from '../../src/worker/video-plugin';
import { readFilm } from '../support/example-film';
import { writeStandIn } from '../support/ffmpeg-stand-in';
import { sha256Of } from '../support/images';
import { captureLogs } from '../support/logs';
import { failureOf } from '../support/world';

let env: VideoTestEnvironment;
let service: OpenedVideoService;
let storage: VideoStorage;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ emulator: { videoBytes: 1_024, fetchImages: true } });
  service = createVideoService({ baseUrl: env.emulator.url, apiKey: () => env.emulator.apiKey });
  storage = createFileStorage(env.storageFolder);
});
afterAll(async () => {
  await service.close();
  await env.teardown();
});

test('each shot of a film begins with the last frame of the one before, and is paid for once however often the film is made', async () => {
  const { temporal, emulator, storageFolder } = env;
  const ffmpeg = join(storageFolder, 'ffmpeg');
  await writeStandIn(ffmpeg);
  const worker = await Worker.create({
    connection: temporal.nativeConnection,
    taskQueue: 'films',
    workflowsPath: require.resolve('../../examples/film/workflows'),
    activities: createFilmActivities(storage, ffmpeg),
    plugins: [new VideoPlugin({ env: {}, service, storage })],
  });
  const make = () =>
    temporal.client.workflow.execute<typeof makeFilm>('makeFilm', {
      taskQueue: 'films',
      workflowId: 'fox',
      args: [storyboard],
    });
  await worker.runUntil(async () => {
    emulator.next('submit', { kind: 'late', ms: 0 }, { kind: 'refused', status: 400, message: 'no foxes' });
    expect(readFailure(await failureOf(make()))).toMatchObject({ type: 'InvalidRequest' });
    expect(emulator.generations()).toHaveLength(1);
    expect(await make()).toMatch(/\/films\/fox\/film\.mp4$/);
    await make();
  });

  const paid = emulator.generations();
  expect(paid.map(({ request }) => request.prompt)).toEqual(storyboard.map(({ prompt }) => prompt));
  const folder = join(storageFolder, 'films/fox');
  const shots = await Promise.all(
    paid.map((_, index) => readFile(join(folder, `fox-shot-${index + 1}.mp4`))),
  );
  const frames = shots.slice(0, -1).map(sha256Of);
  expect(paid.map(({ image }) => image?.sha256)).toEqual([undefined, ...frames]);
  const seconds = storyboard.reduce((sum, { duration = 0 }) => sum + duration, 0);
  expect(await readFilm(join(folder, 'film.mp4'))).toMatchObject({ seconds: expect.closeTo(seconds) });
});

test('a worker without ffmpeg says what to install', async () => {
  const { uri } = await storage.write('shot.mp4', 'a video', 'video/mp4');
  const { takeLastFrame } = createFilmActivities(storage, join(env.storageFolder, 'nowhere/ffmpeg'));
  await expect(takeLastFrame(uri)).rejects.toThrow(NO_FFMPEG);
});
