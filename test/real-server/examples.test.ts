import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { createVideoClient } from 'temporal-videogen';
import { createApp } from '../../examples/express-service/app';
import { createTrailerActivities } from '../../examples/trailer/activities';
import { createFilmActivities, NO_FFMPEG } from '../../examples/trailer/film/activities';
import type { makeFilm } from '../../examples/trailer/film/workflows';
import { storyboard } from '../../examples/trailer/storyboard';
import type { makeTrailer } from '../../examples/trailer/workflows';
import { FAILURES } from '../../src/contract/failure-table';
import { readFailure } from '../../src/contract/video-failure';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { type Film, readFilm } from '../support/example-film';
import { sha256Of } from '../support/images';
import { captureLogs } from '../support/logs';
import { failureOf, keepRunning, quickWorkflows, untilProgress } from '../support/world';

// Their copies run as programs in test/package/examples.test.ts.

// A worker of each bundles its workflows first.
jest.setTimeout(180_000);

let env: VideoTestEnvironment;
let storage: VideoStorage;
beforeAll(async () => {
  captureLogs();
  const emulator = { jobTimeMs: 0, fetchImages: true };
  env = await createVideoTestEnvironment({ server: 'dev', emulator });
  storage = createFileStorage(env.storageFolder);
});
afterAll(() => env.teardown());

/** A worker of an example, with the plugin. */
const workerOf = (taskQueue: string, workflowsPath: string, activities: object): Promise<Worker> =>
  Worker.create({
    connection: env.temporal.nativeConnection,
    taskQueue,
    workflowsPath,
    activities,
    plugins: [env.createPlugin()],
  });

/** The lengths of all shots together. */
const SECONDS = storyboard.reduce((sum, { duration = 0 }) => sum + duration, 0);

const picturesOf = ({ pictures }: Film) => pictures.map(({ data }) => data);

test('a trailer is one film of all shots in order, and a poster; without a shot it fails with the reason', async () => {
  const { emulator, storageFolder, temporal } = env;
  const workflows = require.resolve('../../examples/trailer/workflows');
  const worker = await workerOf('trailers', workflows, createTrailerActivities(storage));
  const make = (workflowId: string) =>
    temporal.client.workflow.execute<typeof makeTrailer>('makeTrailer', {
      taskQueue: 'trailers',
      workflowId,
      args: [storyboard],
    });
  await worker.runUntil(async () => {
    emulator.next('submit', { kind: 'failed-task', code: 'season', message: 'no foxes today' });
    const failure = readFailure(await failureOf(make('lacking')));
    const [{ taskId, request } = {}] = emulator.generations();
    const item = storyboard.findIndex(({ prompt }) => prompt === request?.prompt) + 1;
    expect(failure).toMatchObject({ type: 'GenerationFailed', taskId });
    expect(failure?.message).toContain(`code season, no foxes today; item ${item} failed`);
    await make('fox');
  });
  const folder = join(storageFolder, 'trailers/fox');
  const film = await readFilm(join(folder, 'trailer.mp4'));
  const shots = await Promise.all(
    storyboard.map((_, index) => readFilm(join(folder, `fox-shots-${index + 1}.mp4`))),
  );
  expect(picturesOf(film)).toEqual(shots.flatMap(picturesOf));
  // Ten pictures a second, with no gap between the shots.
  expect(film.pictures.map(({ at }) => at.toFixed(2))).toEqual(
    film.pictures.map((_, index) => (index / 10).toFixed(2)),
  );
  expect(film).toMatchObject({ tracks: 1, seconds: expect.closeTo(SECONDS) });
  const page = await readFile(join(folder, 'poster.html'), 'utf8');
  expect(page.match(/(?<=<video src=")[^"#]+/g)).toEqual(
    storyboard.map((_, index) => `fox-shots-${index + 1}.mp4`),
  );
  expect(page.match(/(?<=<figcaption>)[^<]+/g)).toEqual(storyboard.map(({ prompt }) => prompt));
});

const STAND_IN = `#!/bin/sh
[ "$1" = -version ] && exit
while [ $# -gt 1 ]; do [ "$1" = -i ] && video=$2; shift; done
/bin/cp "$video" "$1"
`;

test('each shot of a film begins with the last frame of the one before, and is paid for once however often the film is made', async () => {
  const { temporal, emulator, storageFolder } = env;
  // In place of ffmpeg, which a machine need not have: the frame that it takes of a video is the video itself.
  const ffmpeg = join(storageFolder, 'ffmpeg');
  await writeFile(ffmpeg, STAND_IN, { mode: 0o755 });
  const workflows = require.resolve('../../examples/trailer/film/workflows');
  const worker = await workerOf('films', workflows, createFilmActivities(storage, ffmpeg));
  const make = () =>
    temporal.client.workflow.execute<typeof makeFilm>('makeFilm', {
      taskQueue: 'films',
      workflowId: 'fox-film',
      args: [storyboard],
    });
  const before = emulator.generations().length;
  const paid = () => emulator.generations().slice(before);
  await worker.runUntil(async () => {
    emulator.next('submit', { kind: 'late', ms: 0 }, { kind: 'refused', status: 400, message: 'no foxes' });
    expect(readFailure(await failureOf(make()))).toMatchObject({ type: 'InvalidRequest' });
    expect(paid()).toHaveLength(1);
    expect(await make()).toMatch(/\/films\/fox-film\/film\.mp4$/);
    await make();
  });

  expect(paid().map(({ request }) => request.prompt)).toEqual(storyboard.map(({ prompt }) => prompt));
  const folder = join(storageFolder, 'films/fox-film');
  const shots = await Promise.all(
    paid().map((_, index) => readFile(join(folder, `fox-film-shot-${index + 1}.mp4`))),
  );
  const frames = shots.slice(0, -1).map(sha256Of);
  expect(paid().map(({ image }) => image?.sha256)).toEqual([undefined, ...frames]);
  expect(await readFilm(join(folder, 'film.mp4'))).toMatchObject({ seconds: expect.closeTo(SECONDS) });

  const { uri } = await storage.write('shot.mp4', 'a video', 'video/mp4');
  const withoutFfmpeg = createFilmActivities(storage, join(storageFolder, 'nowhere/ffmpeg'));
  await expect(withoutFfmpeg.takeLastFrame(uri)).rejects.toThrow(NO_FFMPEG);
});

describe('the Express service', () => {
  const request = { prompt: 'A red fox in the snow', duration: 5 };
  let server: Server;
  let stopWorker: () => Promise<void>;
  beforeAll(async () => {
    stopWorker = keepRunning(await env.createWorker({ worker: quickWorkflows() }));
    const videos = await createVideoClient({ client: env.temporal.client });
    server = createApp(videos).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(async () => {
    server.close();
    server.closeAllConnections();
    await stopWorker();
  });

  const get = (path: string, init?: RequestInit) =>
    fetch(`http://127.0.0.1:${Object(server.address()).port}${path}`, init);
  const post = (path: string, body: unknown, key?: string) =>
    get(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
      body: JSON.stringify(body),
    });

  /** All server-sent events of a video. */
  async function events(id: string): Promise<{ event: string; data: Record<string, unknown> }[]> {
    const parts = (await (await get(`/videos/${id}/events`)).text()).matchAll(/^event: (.*)\ndata: (.*)$/gm);
    return [...parts].map(([, event = '', data = '']) => ({ event, data: JSON.parse(data) }));
  }

  it('generates one video for a repeated request, and streams its progress until it is stored', async () => {
    const { emulator } = env;
    const before = emulator.generations().length;
    const answers = [await post('/videos', request, 'fox'), await post('/videos', request, 'fox')];
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    expect(answers.map(({ headers }) => headers.get('location'))).toEqual(['/videos/fox', '/videos/fox']);
    expect(await answers[0]?.json()).toEqual({ id: 'fox' });

    const sent = await events('fox');
    const end = sent.pop();
    expect(new Set(sent.map(({ event }) => event))).toEqual(new Set(['progress']));
    expect(sent.at(-1)?.data).toMatchObject({ phase: 'succeeded' });
    const [generation, ...others] = emulator.generations().slice(before);
    expect(others).toEqual([]);
    expect(end).toMatchObject({ event: 'succeeded', data: { taskId: generation?.taskId } });

    const found = await get('/videos/fox');
    expect(found.status).toBe(200);
    expect(await found.json()).toMatchObject({ id: 'fox', phase: 'succeeded', result: end?.data });
    for (const [body, words] of [
      [{ ...request, duration: 6 }, 'it differs in duration'],
      [{ promt: 'a fox' }, 'the fields are prompt, image_url'],
    ] as const) {
      const refused = await post('/videos', body, 'fox');
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({ message: expect.stringContaining(words) });
    }
    const nobody = await get('/videos/nobody');
    expect([nobody.status, await nobody.json()]).toEqual([
      404,
      expect.objectContaining({ type: 'NoSuchVideo' }),
    ]);
  });

  it('accepts a decision about a lost submit', async () => {
    const { emulator } = env;
    emulator.next('submit', { kind: 'reset' });
    await post('/videos', request, 'held');
    const held = env.videos.handle('web-video-held');
    await untilProgress(held, ({ phase }) => phase === 'needs-decision');
    expect(await (await get('/videos/held')).json()).toMatchObject({ phase: 'needs-decision' });
    const { taskId } = emulator.generations().at(-1) ?? {};
    const wrong = await post('/videos/held/decision', { decision: 'adopt' });
    expect(wrong.status).toBe(409);
    expect(await wrong.json()).toMatchObject({ message: expect.stringContaining('taskId must be') });
    expect((await post('/videos/held/decision', { decision: 'adopt', taskId })).status).toBe(204);
    expect((await events('held')).at(-1)).toMatchObject({ event: 'succeeded', data: { taskId } });
  });

  it('cancels its videos, and no other workflow', async () => {
    const { emulator, videos } = env;
    const name = 'another-workflow';
    emulator.next('submit', { kind: 'reset' });
    const other = await videos.start({ request }, { workflowId: name });
    await untilProgress(other, ({ phase }) => phase === 'needs-decision');
    expect((await get(`/videos/${name}`, { method: 'DELETE' })).status).toBe(404);

    // It never ends, so it keeps waiting.
    const brewing = { kind: 'unknown-state', word: 'brewing' } as const;
    emulator.next('status', ...Array.from({ length: 100 }, () => brewing));
    await post('/videos', request, 'cancelled');
    await videos.handle('web-video-cancelled').taskId();
    expect((await get('/videos/cancelled', { method: 'DELETE' })).status).toBe(202);
    expect((await events('cancelled')).at(-1)).toMatchObject({
      event: 'failed',
      data: { type: 'Cancelled' },
    });
    expect((await get('/videos/cancelled')).status).toBe(FAILURES.Cancelled.httpStatus);
    expect(await other.progress()).toMatchObject({ phase: 'needs-decision' });
  });
});
