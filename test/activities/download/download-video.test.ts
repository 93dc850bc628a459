import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CancelledFailure } from '@temporalio/common';
import { createVideoActivities } from '../../../activities';
import type { FailureType } from '../../../src/contract/failure-table';
import type { VideoService } from '../../../src/service';
import { createFileStorage } from '../../../src/storage';
import type { Faults } from '../../../src/testing';
import { type ActivityWorld, failureOf } from '../activity-world';
import { sha256, useDownloadWorld, VIDEO_BYTES } from './download-world';

const here = useDownloadWorld();
let world: ActivityWorld;
let taskId: string;
beforeEach(() => {
  ({ world, taskId } = here);
});

const download = (storage?: string, info = {}) =>
  world.run(world.activities.downloadVideo, { taskId, storage }, info);

/** The real service, with one method changed. */
const downloadThrough = (change: Partial<VideoService>) => {
  const storage = createFileStorage(world.folder);
  const { downloadVideo } = createVideoActivities({ service: { ...world.service, ...change }, storage });
  return world.run(downloadVideo, { taskId });
};

describe('a download', () => {
  it('stores the service’s video byte for byte', async () => {
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

  it('asks for a fresh link each time, and sends the key to the service’s own files', async () => {
    await download().result;
    await download().result;
    expect(world.emulator.calls.slice(1).map(({ call, authorized }) => [call, authorized])).toEqual([
      ['status', true],
      ['download', true],
      ['status', true],
      ['download', true],
    ]);
  });

  it.each([
    ['a key', 'foxes/red.mp4', 'foxes/red.mp4'],
    ['a prefix', 'foxes/', 'foxes/job%2F1.mp4'],
    ['the default', undefined, 'job%2F1.mp4'],
    ['a template', '{date}/{taskId}/{workflowId}-1.{ext}', '2026-11-15/TASK/job%2F1-1.mp4'],
  ])('is stored under %s', async (_what, storage, path) => {
    const info = {
      workflowExecution: { workflowId: 'job/1', runId: 'r' },
      scheduledTimestampMs: Date.parse('2026-11-15T23:59:59Z'),
    };
    const file = path.replace('TASK', taskId);
    const { video } = await download(storage, info).result;
    const { uri } = video;
    expect(fileURLToPath(uri)).toBe(join(world.folder, file));
    expect((await world.emulator.video(taskId)).equals(await readFile(join(world.folder, file)))).toBe(true);
  });

  it('that an earlier attempt stored without reporting it is stored once', async () => {
    const first = await download().result;
    const again = await download(undefined, { attempt: 2 }).result;
    expect(again).toEqual(first);
    expect(await world.files()).toEqual(['test.mp4', 'test.mp4.json']);
  });

  it('does not overwrite another file', async () => {
    await writeFile(join(world.folder, 'test.mp4'), 'another');
    const { failure } = await failureOf(download());
    // Downloading it again would not help.
    expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', true]);
    expect(failure.message).toContain('the key "test.mp4" is taken');
    expect(await readFile(join(world.folder, 'test.mp4'), 'utf8')).toBe('another');
    expect(await world.files()).toEqual(['test.mp4']);
  });

  it('has a sidecar', async () => {
    const image_url = 'https://images.example.com/fox.png?signature=s3cret';
    const request = { prompt: 'A red fox', image_url, seed: 7 };
    const submitted = await world.run(world.activities.submitVideo, { request }).result;
    const { taskId, record } = submitted;
    const attempt = world.run(world.activities.downloadVideo, { taskId, record, expected: { seed: 7 } });
    const { video, warnings } = await attempt.result;
    expect(JSON.parse(await readFile(join(world.folder, 'test.mp4.json'), 'utf8'))).toEqual({
      namespace: 'test',
      workflowId: 'test',
      taskId,
      request: { ...request, image_url: 'https://images.example.com/fox.png?…' },
      seed: 7,
      video,
      warnings,
    });
  });

  it('does not overwrite another file with its sidecar', async () => {
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

  it('is compared with the request', async () => {
    const expected = { resolution: '1080p', aspect_ratio: '1:1', duration: 9 } as const;
    const { warnings } = await world.run(world.activities.downloadVideo, { taskId, expected }).result;
    expect(warnings).toEqual([
      '1080p was requested, but the video is 1280x720',
      '1:1 was requested, but the video is 1280x720',
      '9 s were requested, but the video is 5 s long',
    ]);
  });

  it('heartbeats with the bytes that have arrived, unless it is over before', async () => {
    const short = download();
    await short.result;
    expect(short.beats).toEqual([]);
    world.emulator.next('download', { kind: 'stall', afterBytes: 1_000 });
    const attempt = download();
    await attempt.beat((details) => JSON.stringify(details) === '{"bytes":1000}');
    attempt.cancel();
    await expect(attempt.result).rejects.toThrow();
  });

  it('that stalls and is cancelled ends as cancelled and leaves nothing', async () => {
    world.emulator.next('download', { kind: 'stall', afterBytes: 1_000 });
    const attempt = download();
    await attempt.beat((details) => JSON.stringify(details) === '{"bytes":1000}');
    attempt.cancel();
    const error: unknown = await attempt.result.catch((reason: unknown) => reason);
    // Temporal treats both as a cancellation.
    expect(error instanceof CancelledFailure || Reflect.get(Object(error), 'name') === 'AbortError').toBe(
      true,
    );
    expect(await world.files()).toEqual([]);
  });

  it('that stalls for too long fails and is retryable', async () => {
    const stall = { kind: 'stall', afterBytes: 1_000 } as const;
    world.emulator.next('download', stall, stall, stall);
    const { downloadVideo } = createVideoActivities({
      service: world.service,
      storage: createFileStorage(world.folder),
      pace: { windowMs: 200, leastBytes: 2_000 },
    });
    const { failure } = await failureOf(world.run(downloadVideo, { taskId }));
    expect([failure.type, failure.nonRetryable]).toEqual(['ServiceUnreachable', false]);
    expect(await world.files()).toEqual([]);
  });
});

describe('a download fails as the failure table says, with the task id, and leaves nothing behind,', () => {
  it.each<[what: string, fault: Faults['download'], type: FailureType, message: string | RegExp]>([
    ['when the link returns a web page', { kind: 'web-page' }, 'VideoCorrupt', 'it begins like a web page'],
    ['when the link returns JSON', { kind: 'bad-json' }, 'VideoCorrupt', 'it begins like JSON'],
    [
      'when the storage of the service fails',
      { kind: 'server-error', status: 503 },
      'ServiceFailed',
      'HTTP 503',
    ],
  ])('%s', async (_what, fault, type, message) => {
    world.emulator.next('download', fault);
    const { failure, details } = await failureOf(download(undefined, { attempt: 3 }));
    expect([failure.type, failure.nonRetryable]).toEqual([type, false]);
    expect(details).toMatchObject({ taskId, attempt: 3 });
    expect(failure.message).toMatch(message);
    expect(failure.message).toContain(`(task ${taskId})`);
    expect(await world.files()).toEqual([]);
  });

  it.each<[what: string, fault: Faults['status'], type: FailureType, retryable: boolean]>([
    ['when there is no video', { kind: 'no-video' }, 'NoVideo', true],
    ['when the task is running again', { kind: 'unknown-state', word: 'running' }, 'NoVideo', true],
    ['when its state is unknown', { kind: 'unknown-state', word: 'brewing' }, 'NoVideo', true],
    ['when it was cancelled', { kind: 'unknown-state', word: 'cancelled' }, 'GenerationCancelled', false],
    [
      'when it failed',
      { kind: 'failed-task', code: 'foxes', message: 'No\u0000.' },
      'GenerationFailed',
      false,
    ],
    ['when it was refused', { kind: 'failed-task', code: 'nsfw', message: 'No.' }, 'ContentRefused', false],
  ])('%s', async (_what, fault, type, retryable) => {
    world.emulator.next('status', fault);
    const { failure, details } = await failureOf(download());
    expect([failure.type, !failure.nonRetryable]).toEqual([type, retryable]);
    expect(details).toMatchObject({
      taskId,
      ...(type === 'GenerationFailed' && { code: 'foxes', message: 'No .' }),
    });
    expect(world.emulator.calls.filter(({ call }) => call === 'download')).toHaveLength(0);
    expect(await world.files()).toEqual([]);
  });

  it('when the file has another length than announced', async () => {
    const attempt = downloadThrough({
      open: async (link, options) => ({
        ...(await world.service.open(link, options)),
        bytes: VIDEO_BYTES + 1,
      }),
    });
    const { failure, details } = await failureOf(attempt);
    expect([failure.type, failure.nonRetryable]).toEqual(['VideoCorrupt', false]);
    expect(details).toMatchObject({ taskId, message: '300000 of 300001 bytes arrived' });
    expect(await world.files()).toEqual([]);
  });

  it('when it is larger than allowed, without a byte stored', async () => {
    const storage = createFileStorage(world.folder);
    const small = createVideoActivities({
      service: world.service,
      storage,
      largestVideoBytes: VIDEO_BYTES - 1,
    });
    const { failure } = await failureOf(world.run(small.downloadVideo, { taskId }));
    expect([failure.type, failure.nonRetryable]).toEqual(['VideoTooLarge', true]);
    expect(failure.message).toContain('it has more than 299999 bytes');
  });

  it('when the storage folder is a file', async () => {
    const path = join(world.folder, 'a-file');
    await writeFile(path, '');
    const storage = createFileStorage(path);
    const { downloadVideo } = createVideoActivities({ service: world.service, storage });
    const { failure, details } = await failureOf(world.run(downloadVideo, { taskId }));
    expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', false]);
    expect(details).toMatchObject({ taskId, attempt: 1 });
    expect(details.message).toMatch(/EEXIST|ENOTDIR/);
    expect(await world.files()).toEqual(['a-file']);
  });

  it('when a folder has the name of the file', async () => {
    await mkdir(join(world.folder, 'test.mp4'));
    const { failure } = await failureOf(download());
    expect(failure.type).toBe('StorageFailed');
    expect(await world.files()).toEqual(['test.mp4']);
  });

  it.each([
    [7, false],
    [8, true],
  ])('when storing fails at attempt %d, which is the last one: %s', async (attempt, isLast) => {
    const path = join(world.folder, 'a-file');
    await writeFile(path, '');
    const storage = createFileStorage(path);
    const { downloadVideo } = createVideoActivities({ service: world.service, storage });
    const run = world.run(downloadVideo, { taskId }, { attempt });
    const { failure } = await failureOf(run);
    expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', isLast]);
  });

  it.each(['../outside.mp4', '/etc/outside.mp4', '..'])('when its key is %s', async (key) => {
    const { failure, details } = await failureOf(download(key));
    expect(failure.type).toBe('StorageFailed');
    expect(details).toMatchObject({ taskId });
    expect(await world.files()).toEqual([]);
  });
});
