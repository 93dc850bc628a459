import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createVideoActivities, type DownloadOptions } from '../../activities';
import type { VideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { type ActivityWorld, createActivityWorld, failureOf } from '../activities/activity-world';
import { type RawServer, replyJson, startRawServer } from '../service/raw-server';
import { FOX, serviceOf, useModelServer } from './models';

useModelServer();

let world: ActivityWorld;
let video: Buffer;
beforeAll(async () => {
  world = await createActivityWorld();
  const { taskId } = await world.run(world.activities.submitVideo, { request: FOX }).result;
  video = await world.emulator.video(taskId);
});
let host: RawServer | undefined;
afterEach(async () => {
  await host?.close();
  host = undefined;
});
afterAll(() => world.close());

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

const activitiesOf = (service: VideoService, options: DownloadOptions = {}) =>
  createVideoActivities({ service, storage: createFileStorage(world.folder), ...options });

/** A service whose task has this video. */
const withVideo = (made: object, more: object = {}) =>
  serviceOf({ status: () => ({ status: 'completed', videos: [made], warnings: [], ...more }) });

const download = (service: VideoService, options?: DownloadOptions) =>
  world.run(activitiesOf(service, options).downloadVideo, {
    taskId: 'task-1',
    storage: `${randomUUID()}.mp4`,
  });

const WAYS: [string, () => object][] = [
  ['bytes', () => ({ type: 'binary', data: new Uint8Array(video), mediaType: 'video/mp4' })],
  ['base64', () => ({ type: 'base64', data: video.toString('base64'), mediaType: 'video/mp4' })],
];

test.each(WAYS)('a video as %s is stored, hashed and inspected like any other', async (_, made) => {
  const { pollVideo } = activitiesOf(withVideo(made()));
  const status = await world.run(pollVideo, { taskId: 'task-1' }).result;
  expect(status).toMatchObject({ state: 'succeeded', hasVideo: true });
  expect(JSON.stringify(status).length).toBeLessThan(500);
  const stored = (await download(withVideo(made())).result).video;
  expect(stored).toMatchObject({ sha256: sha256(video), bytes: video.length, contentType: 'video/mp4' });
  expect(stored.durationSeconds).toBeGreaterThan(0);
});

test('a video as bytes is bounded by the largest video that the worker takes', async () => {
  const [, made] = WAYS[0] ?? [];
  const { failure } = await failureOf(download(withVideo(made?.() ?? {}), { largestVideoBytes: 1_000 }));
  expect(failure.type).toBe('VideoTooLarge');
});

test('links to addresses that are not public are refused, and the key in a link is in no failure', async () => {
  host = await startRawServer((request) => replyJson(request, { error: request.line }, { status: 400 }));
  const link = { type: 'url', url: `${host.url}/v.mp4?key=AIza-0123456789-secret` };
  const status = () => ({ status: 'completed', videos: [link] });
  const refused = await failureOf(download(serviceOf({ status })));
  expect([refused.failure.type, refused.failure.nonRetryable]).toEqual(['VideoUnavailable', true]);
  expect(host.requests).toHaveLength(0);
  const quoted = await failureOf(download(serviceOf({ status }, { downloadAllow: ['127.0.0.1'] })));
  expect(quoted.details).toMatchObject({ status: 400, message: 'GET /v.mp4?… HTTP/1.1' });
  expect(world.everythingReported()).not.toContain('0123456789-secret');
});

test('what the model does not support is in the record, and so in the result and next to the video', async () => {
  const unsupported = (feature: string) => ({ type: 'unsupported', feature });
  const status = () => ({ status: 'completed', videos: [WAYS[0]?.[1]()], warnings: [unsupported('fps')] });
  const start = () => ({ operation: 'task-1', warnings: [unsupported('seed'), unsupported('fps')] });
  const { submitVideo, downloadVideo } = activitiesOf(serviceOf({ start, status }));
  const job = randomUUID();
  const ofJob = { workflowExecution: { workflowId: job, runId: 'run' } };
  const submitted = await world.run(submitVideo, { request: FOX }, ofJob).result;
  expect(submitted).toEqual({
    taskId: 'task-1',
    record: expect.any(String),
    kind: expect.any(String),
    nextPollMs: expect.any(Number),
  });
  const input = { taskId: 'task-1', record: submitted.record, storage: `${job}.mp4` };
  const { warnings } = await world.run(downloadVideo, input, ofJob).result;
  expect(warnings).toEqual(['the model warns: unsupported seed', 'the model warns: unsupported fps']);
  const sidecar = JSON.parse(await readFile(join(world.folder, `${job}.mp4.json`), 'utf8'));
  expect(sidecar.warnings).toEqual(warnings);
  // Stored already: another job of the same name and request gets the same.
  expect((await world.run(downloadVideo, input, ofJob).result).warnings).toEqual(warnings);
  expect(submitted.record).toMatch(/^[0-9a-f]{16}$/);
});
