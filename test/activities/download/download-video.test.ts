import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CancelledFailure } from '@temporalio/common';
import { createVideoActivities } from '../../../activities';
import { hasControls } from '../../../src/contract/clean-text';
import type { FailureType } from '../../../src/contract/failure-table';
import { createFileStorage, JobRecord, type VideoStorage } from '../../../src/storage';
import type { Faults } from '../../../src/testing';
import { closed, reply, replyJson, startRawServer } from '../../service/raw-server';
import { openVideoBytes } from '../../support/open-video-bytes';
import { type ActivityWorld, createActivityWorld, failureOf } from '../activity-world';
import { createMemoryWorld, cutAfter, FILES, inMemory, inspectedVideo, sha256, TASK } from '../memory-world';

const VIDEO_BYTES = 300_000;

/** A new world for each test, with one task whose video is ready. No result, failure or log may contain a secret. */
let world: ActivityWorld;
let taskId: string;
beforeEach(async () => {
  world = await createActivityWorld({ videoBytes: VIDEO_BYTES });
  const request = { prompt: 'A red fox' };
  ({ taskId } = await world.run(world.activities.submitVideo, { request }).result);
});
afterEach(async () => {
  expect(world.emulator.scriptIsSpent()).toBe(true);
  expect(world.everythingReported()).not.toContain(world.emulator.linkSignature);
  expect(world.everythingReported()).not.toContain(world.emulator.apiKey);
  await world.close();
});

const download = (storage?: string, info = {}) =>
  world.run(world.activities.downloadVideo, { taskId, storage }, info);

test('a download stores the video of the service byte for byte', async () => {
  const { video: stored, warnings } = await download().result;
  const video = await world.emulator.video(taskId);
  expect(stored).toMatchObject({
    uri: pathToFileURL(join(world.folder, 'test.mp4')).href,
    bytes: VIDEO_BYTES,
    sha256: sha256(video),
    contentType: 'video/mp4',
    codec: 'avc',
  });
  expect(warnings).toEqual([]);
  expect(video.equals(await readFile(fileURLToPath(stored.uri)))).toBe(true);
  expect(await world.files()).toEqual(['test.mp4', 'test.mp4.json']);
});

test('each download asks for a fresh link, and what an earlier attempt stored without saying so is stored once', async () => {
  const first = await download().result;
  expect(await download(undefined, { attempt: 2 }).result).toEqual(first);
  expect(world.emulator.calls.slice(1).map(({ call, authorized }) => [call, authorized])).toEqual([
    ['status', true],
    ['download', true],
    ['status', true],
    ['download', true],
  ]);
  expect(await world.files()).toEqual(['test.mp4', 'test.mp4.json']);
});

test.each([
  ['a key', 'foxes/red.mp4', 'foxes/red.mp4'],
  ['a prefix', 'foxes/', 'foxes/job%2F1.mp4'],
  ['the default', undefined, 'job%2F1.mp4'],
  ['a template', '{date}/{taskId}/{workflowId}-1.{ext}', '2026-11-15/TASK/job%2F1-1.mp4'],
])('a video is stored under %s', async (_what, storage, path) => {
  const info = {
    workflowExecution: { workflowId: 'job/1', runId: 'r' },
    scheduledTimestampMs: Date.parse('2026-11-15T23:59:59Z'),
  };
  const { video } = await download(storage, info).result;
  expect(fileURLToPath(video.uri)).toBe(join(world.folder, path.replace('TASK', taskId)));
});

test.each([
  ['not after its content type', (body: Buffer) => body, 'video/mp4', 'test.mp4'],
  [
    'a QuickTime film',
    (body: Buffer) => Buffer.concat([body.subarray(0, 8), Buffer.from('qt  '), body.subarray(12)]),
    'video/quicktime',
    'test.mov',
  ],
])('a video is named after its content: %s', async (_what, change, contentType, name) => {
  const body = change(await world.emulator.video(taskId));
  const headers = { 'content-type': 'text/html' };
  const files = await startRawServer((request) => reply(request, { headers, body }));
  const video_url = `${files.url}/v.mp4`;
  const service = await startRawServer((request) => replyJson(request, { status: 'succeeded', video_url }));
  const { downloadVideo } = world.activitiesAt(service.url);
  expect((await world.run(downloadVideo, { taskId }).result).video.contentType).toBe(contentType);
  expect(await world.files()).toEqual([name, `${name}.json`]);
  await Promise.all([files.close(), service.close()]);
});

test('a download that is cancelled before its headers have come closes the socket and leaves nothing', async () => {
  const files = await startRawServer();
  const video_url = `${files.url}/v.mp4`;
  const service = await startRawServer((request) => replyJson(request, { status: 'succeeded', video_url }));
  const attempt = world.run(world.activitiesAt(service.url).downloadVideo, { taskId });
  const { socket } = await files.nextRequest();
  attempt.cancel();
  await expect(attempt.result).rejects.toBeInstanceOf(CancelledFailure);
  await closed(socket);
  expect(await world.files()).toEqual([]);
  await Promise.all([files.close(), service.close()]);
});

test('beside a video there is a sidecar, without the secrets of its request', async () => {
  const image_url = 'https://images.example.com/fox.png?signature=s3cret';
  const request = { prompt: 'A red fox', image_url, seed: 7 };
  const submitted = await world.run(world.activities.submitVideo, { request }).result;
  const { record } = submitted;
  const input = { taskId: submitted.taskId, record, expected: { seed: 7 } };
  const { video, warnings } = await world.run(world.activities.downloadVideo, input).result;
  expect(JSON.parse(await readFile(join(world.folder, 'test.mp4.json'), 'utf8'))).toEqual({
    namespace: 'test',
    workflowId: 'test',
    taskId: submitted.taskId,
    request: { ...request, image_url: 'https://images.example.com/fox.png?…' },
    seed: 7,
    video,
    warnings,
  });
});

test('beside a video another file is not overwritten by the sidecar, and the sidecar of the same task is', async () => {
  const path = join(world.folder, 'test.mp4.json');
  for (const other of ['my notes', '{"taskId":"another"}', '']) {
    await writeFile(path, other);
    const { warnings } = await download().result;
    expect(warnings).toEqual(['test.mp4.json exists already and was not overwritten']);
    expect(await readFile(path, 'utf8')).toBe(other);
  }
  await writeFile(path, JSON.stringify({ taskId }));
  expect((await download().result).warnings).toEqual([]);
  expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ taskId, workflowId: 'test' });
});

test.each<[what: string, fault: Faults['status'], type: FailureType, retryable: boolean]>([
  ['when there is no video', { kind: 'no-video' }, 'NoVideo', true],
  ['when its state is unknown', { kind: 'unknown-state', word: 'brewing' }, 'NoVideo', true],
  ['when it was cancelled', { kind: 'unknown-state', word: 'cancelled' }, 'GenerationCancelled', false],
  ['when it failed', { kind: 'failed-task', code: 'foxes', message: 'No\u0000.' }, 'GenerationFailed', false],
])(
  'a download fails as the failure table says, with the task id, and leaves nothing behind, %s',
  async (_what, fault, type, retryable) => {
    world.emulator.next('status', fault);
    const { failure, details } = await failureOf(download());
    expect([failure.type, !failure.nonRetryable]).toEqual([type, retryable]);
    expect(details).toMatchObject({
      taskId,
      ...(type === 'GenerationFailed' && { code: 'foxes', message: 'No .' }),
    });
    expect(world.emulator.calls.filter(({ call }) => call === 'download')).toHaveLength(0);
    expect(await world.files()).toEqual([]);
  },
);

test.each([
  [7, false],
  [8, true],
])(
  'a download fails as the failure table says, with the task id, and leaves nothing behind, when the storage folder is a file, at attempt %d, which is the last one: %s',
  async (attempt, isLast) => {
    const path = join(world.folder, 'a-file');
    await writeFile(path, '');
    const storage = createFileStorage(path);
    const { downloadVideo } = createVideoActivities({ service: world.service, storage });
    const run = world.run(downloadVideo, { taskId }, { attempt });
    const { failure, details } = await failureOf(run);
    expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', isLast]);
    expect(details).toMatchObject({ taskId, attempt, message: expect.stringMatching(/EEXIST|ENOTDIR/) });
    expect(await world.files()).toEqual(['a-file']);
  },
);

test('a download fails as the failure table says, with the task id, and leaves nothing behind, when another file has its key, for good: to download it again would not help', async () => {
  await writeFile(join(world.folder, 'test.mp4'), 'another');
  const { failure } = await failureOf(download());
  expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', true]);
  expect(failure.message).toContain('the key "test.mp4" is taken');
  expect(await readFile(join(world.folder, 'test.mp4'), 'utf8')).toBe('another');
  expect(await world.files()).toEqual(['test.mp4']);
});

test.each(['../outside.mp4', '/etc/outside.mp4', '..'])(
  'a download fails as the failure table says, with the task id, and leaves nothing behind, when its key is %s',
  async (key) => {
    const { failure, details } = await failureOf(download(key));
    expect(failure.type).toBe('StorageFailed');
    expect(details).toMatchObject({ taskId });
    expect(await world.files()).toEqual([]);
  },
);

let video: Buffer;
beforeAll(async () => {
  video = await inspectedVideo();
});

const cost = { charged: { amount: 2, currency: 'USD' } };

test('an error of the storage to write the sidecar is a warning in one short line', async () => {
  const write: VideoStorage['write'] = () =>
    Promise.reject(new Error(`no\u001b[2J room\n${'x'.repeat(10_000)}`));
  const { warnings } = await createMemoryWorld(video, { storage: { write } }).download().result;
  expect(warnings).toEqual([expect.stringMatching(/^test\.mp4\.json could not be written: no room x+…$/)]);
  expect(hasControls(warnings.join())).toBe(false);
  expect(warnings.join().length).toBeLessThan(1_000);
});

test('the sidecar and the record of the job say what the video cost, if that is known', async () => {
  const world = createMemoryWorld(video);
  const { record } = await world.submit().result;
  const { video: stored } = await world.download({ record, cost, expected: { seed: 7 } }).result;
  const sidecar = {
    namespace: 'test',
    workflowId: 'test',
    taskId: TASK,
    seed: 7,
    video: stored,
    warnings: [],
  };
  expect(world.json('test.mp4.json')).toEqual({ ...sidecar, request: { prompt: 'A red fox' }, cost });
  const entries = [...world.stored.keys()].filter((key) => key.startsWith('jobs/')).sort();
  const stores = { event: 'stored', taskId: TASK, key: 'test.mp4', cost };
  expect(world.json(entries.at(-1) ?? '')).toMatchObject(stores);
  await world.download({ expected: { seed: 7 } }).result;
  expect(world.json('test.mp4.json')).toEqual(sidecar);
});

test('a video that another worker has stored since, according to the record, is not downloaded again', async () => {
  const memory = inMemory();
  const world = createMemoryWorld(video, { storage: memory });
  const { record = '' } = await world.submit().result;
  const stored = {
    uri: 'memory:fox.mp4',
    bytes: video.length,
    sha256: sha256(video),
    contentType: 'video/mp4',
  };
  await memory.write('fox.mp4', video, 'video/mp4');
  const elsewhere = new JobRecord(memory, { namespace: 'test', job: 'test' }, record);
  await elsewhere.add({ event: 'stored', taskId: TASK, key: 'fox.mp4', video: stored, warnings: ['short'] });
  expect(await world.download({ record }).result).toEqual({ video: stored, warnings: ['short'] });
  expect(world.linesOf('downloading')).toEqual([]);
});

test('a storage with only the four methods that it must have receives a video whose connection is cut, and publishes it when it is complete', async () => {
  let connections = 0;
  const world = createMemoryWorld(video, {
    storage: { partsFolder: undefined },
    service: {
      open: async (_link, { from } = {}) => {
        const body = openVideoBytes(video, from && { from });
        return connections++ === 0 ? cutAfter(5_000, body) : body;
      },
    },
  });
  expect((await world.download().result).video.uri).toBe('memory:test.mp4');
  expect([...world.stored.keys()]).toEqual(FILES);
  expect(world.stored.get('test.mp4')?.equals(video)).toBe(true);
});
