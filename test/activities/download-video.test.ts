import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CancelledFailure } from '@temporalio/common';
import { createVideoActivities } from '../../activities';
import type { FailureType } from '../../src/contract/failure-table';
import type { Faults } from '../../src/emulator';
import type { VideoService, VideoServiceOptions } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import {
  closed,
  type RawRequest,
  type RawServer,
  reply,
  replyJson,
  startRawServer,
} from '../service/raw-server';
import { type ActivityWorld, createActivityWorld, failureOf } from './activity-world';

const VIDEO_BYTES = 300_000;

let world: ActivityWorld;
let taskId: string;
beforeEach(async () => {
  world = await createActivityWorld({ videoBytes: VIDEO_BYTES });
  const { submitVideo } = world.activities;
  ({ taskId } = await world.run(submitVideo, { request: { prompt: 'A red fox' } }).result);
});
afterEach(async () => {
  expect(world.emulator.scriptIsSpent()).toBe(true);
  expect(world.everythingTold()).not.toContain(world.emulator.linkSignature);
  expect(world.everythingTold()).not.toContain(world.emulator.apiKey);
  await world.close();
});

const download = (storage?: string, info = {}) =>
  world.run(world.activities.downloadVideo, { taskId, storage }, info);
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** As a real service behind which one thing is not what it says. */
const downloadThrough = (change: Partial<VideoService>) => {
  const storage = createFileStorage(world.folder);
  const { downloadVideo } = createVideoActivities({ service: { ...world.service, ...change }, storage });
  return world.run(downloadVideo, { taskId });
};

describe('a download', () => {
  it('ends with a file that is the service’s video byte for byte', async () => {
    const stored = await download().result;
    const video = await world.emulator.video(taskId);
    expect(stored).toEqual({
      uri: pathToFileURL(join(world.folder, 'test.mp4')).href,
      bytes: VIDEO_BYTES,
      sha256: sha256(video),
      contentType: 'video/mp4',
    });
    expect(video.equals(await readFile(fileURLToPath(stored.uri)))).toBe(true);
    expect(await world.files()).toEqual(['test.mp4']);
  });

  it('asks for a fresh link each time, and sends the key along to the service’s own files', async () => {
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
    ['nothing', undefined, 'job%2F1.mp4'],
  ])('goes where %s says', async (_what, storage, file) => {
    const info = { workflowExecution: { workflowId: 'job/1', runId: 'r' } };
    const { uri } = await download(storage, info).result;
    expect(fileURLToPath(uri)).toBe(join(world.folder, file));
    expect((await world.emulator.video(taskId)).equals(await readFile(join(world.folder, file)))).toBe(true);
  });

  it('replaces what an earlier attempt has stored', async () => {
    await writeFile(join(world.folder, 'test.mp4'), 'older');
    await download().result;
    expect((await world.emulator.video(taskId)).equals(await readFile(join(world.folder, 'test.mp4')))).toBe(
      true,
    );
  });

  it('beats from the start, with the bytes that have arrived', async () => {
    world.emulator.next('download', { kind: 'stall', afterBytes: 1_000 });
    const attempt = download();
    await attempt.beat((details) => details !== undefined);
    expect(attempt.beats[0]).toEqual({ bytes: 0 });
    await attempt.beat((details) => JSON.stringify(details) === '{"bytes":1000}');
    attempt.cancel();
    await expect(attempt.result).rejects.toThrow();
  });

  it('that stands still and is cancelled ends as cancelled and leaves nothing', async () => {
    world.emulator.next('download', { kind: 'stall', afterBytes: 1_000 });
    const attempt = download();
    await attempt.beat((details) => JSON.stringify(details) === '{"bytes":1000}');
    expect(await world.files()).toHaveLength(1);
    attempt.cancel();
    const error: unknown = await attempt.result.catch((reason: unknown) => reason);
    // Temporal takes either for a cancellation.
    expect(error instanceof CancelledFailure || Reflect.get(Object(error), 'name') === 'AbortError').toBe(
      true,
    );
    expect(await world.files()).toEqual([]);
  });

  it('that stands still for too long is given up, to be tried again', async () => {
    world.emulator.next('download', { kind: 'stall', afterBytes: 1_000 });
    const { downloadVideo } = world.activitiesAt(world.emulator.url, {
      timeouts: { video: { headersTimeout: 200, bodyTimeout: 200 } },
    });
    const { failure } = await failureOf(world.run(downloadVideo, { taskId }));
    expect([failure.type, failure.nonRetryable]).toEqual(['ServiceUnreachable', false]);
    expect(await world.files()).toEqual([]);
  });
});

describe('a download fails as its row says, with the task id and nothing left behind,', () => {
  it.each<[what: string, fault: Faults['download'], type: FailureType, said: string | RegExp]>([
    [
      'when it is cut',
      { kind: 'cut', afterBytes: 100_000 },
      'ServiceUnreachable',
      /other side closed|ECONNRESET/,
    ],
    ['when it is cut at once', { kind: 'cut', afterBytes: 0 }, 'ServiceUnreachable', /closed|ECONNRESET/],
    ['when it is reset', { kind: 'reset' }, 'ServiceUnreachable', /ECONNRESET|closed/],
    ['when the link brings a page', { kind: 'web-page' }, 'VideoCorrupt', 'the link answered text/html'],
    ['when the link brings JSON', { kind: 'bad-json' }, 'VideoCorrupt', 'the link answered application/json'],
    [
      'when the link has expired',
      { kind: 'refused', status: 403, code: 'AccessDenied', message: 'Request has expired' },
      'VideoUnavailable',
      'HTTP 403 AccessDenied Request has expired',
    ],
    [
      'when the video is gone',
      { kind: 'refused', status: 410, message: 'gone' },
      'VideoUnavailable',
      'HTTP 410',
    ],
    [
      'when the storage of the service fails',
      { kind: 'server-error', status: 503 },
      'ServiceFailed',
      'HTTP 503',
    ],
  ])('%s', async (_what, fault, type, said) => {
    world.emulator.next('download', fault);
    const { failure, details } = await failureOf(download(undefined, { attempt: 3 }));
    expect([failure.type, failure.nonRetryable]).toEqual([type, false]);
    expect(details).toMatchObject({ taskId, attempt: 3 });
    expect(failure.message).toMatch(said);
    expect(failure.message).toContain(`(task ${taskId})`);
    expect(await world.files()).toEqual([]);
  });

  it.each<[what: string, fault: Faults['status'], type: FailureType, retryable: boolean]>([
    ['when there is no video', { kind: 'no-video' }, 'NoVideo', true],
    ['when the task runs after all', { kind: 'unknown-state', word: 'running' }, 'NoVideo', true],
    ['when its state is not known', { kind: 'unknown-state', word: 'brewing' }, 'NoVideo', true],
    ['when it was cancelled', { kind: 'unknown-state', word: 'cancelled' }, 'GenerationCancelled', false],
    [
      'when it failed',
      { kind: 'failed-task', code: 'nsfw', message: 'No\u0000.' },
      'GenerationFailed',
      false,
    ],
  ])('%s', async (_what, fault, type, retryable) => {
    world.emulator.next('status', fault);
    const { failure, details } = await failureOf(download());
    expect([failure.type, !failure.nonRetryable]).toEqual([type, retryable]);
    expect(details).toMatchObject({
      taskId,
      ...(type === 'GenerationFailed' && { code: 'nsfw', message: 'No .' }),
    });
    expect(world.emulator.calls.filter(({ call }) => call === 'download')).toHaveLength(0);
    expect(await world.files()).toEqual([]);
  });

  it('when the file is of another length than was announced', async () => {
    const attempt = downloadThrough({
      openVideo: async (link, options) => ({
        ...(await world.service.openVideo(link, options)),
        bytes: VIDEO_BYTES + 1,
      }),
    });
    const { failure, details } = await failureOf(attempt);
    expect([failure.type, failure.nonRetryable]).toEqual(['VideoCorrupt', false]);
    expect(details).toMatchObject({ taskId, message: '300000 of 300001 bytes arrived' });
    expect(await world.files()).toEqual([]);
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

  it('when a folder stands where the file should be', async () => {
    await mkdir(join(world.folder, 'test.mp4'));
    const { failure } = await failureOf(download());
    expect(failure.type).toBe('StorageFailed');
    expect(await world.files()).toEqual(['test.mp4']);
  });

  it.each([
    [4, false],
    [5, true],
  ])('when storing fails at attempt %d, which is the last one: %s', async (attempt, isLast) => {
    await mkdir(join(world.folder, 'test.mp4'));
    const run = world.run(world.activities.downloadVideo, { taskId }, { attempt });
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

describe('from a file server of the test’s own, a download', () => {
  let files: RawServer;
  let service: RawServer;
  afterEach(async () => {
    await service.close();
    await files.close();
  });

  async function downloadFrom(
    answer: (request: RawRequest) => void,
    options: Partial<VideoServiceOptions> = {},
  ) {
    files = await startRawServer(answer);
    const video_url = `${files.url}/v.mp4?signature=${world.emulator.linkSignature}`;
    service = await startRawServer((request) => replyJson(request, { status: 'succeeded', video_url }));
    const { downloadVideo } = world.activitiesAt(service.url, options);
    return world.run(downloadVideo, { taskId });
  }

  it('does not take the key along', async () => {
    const attempt = await downloadFrom((request) =>
      reply(request, { headers: { 'content-type': 'video/mp4' } }),
    );
    await attempt.result;
    expect(files.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    expect(service.requests.map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${world.emulator.apiKey}`,
    ]);
  });

  it.each([
    ['video/webm', 'test.webm', 'video/webm'],
    ['video/quicktime', 'test.mov', 'video/quicktime'],
    ['Video/MP4; codecs="avc1"', 'test.mp4', 'video/mp4'],
    ['binary/octet-stream', 'test.mp4', 'binary/octet-stream'],
  ])('of the type %s is named %s', async (type, name, contentType) => {
    const attempt = await downloadFrom((request) =>
      reply(request, { headers: { 'content-type': type }, body: 'video' }),
    );
    expect(await attempt.result).toMatchObject({ contentType, bytes: 5 });
    expect(await world.files()).toEqual([name]);
  });

  it('whose length is not told is taken when it ends properly', async () => {
    const attempt = await downloadFrom(({ socket }) => {
      socket.end(
        'HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\ntransfer-encoding: chunked\r\n\r\n5\r\nvideo\r\n0\r\n\r\n',
      );
    });
    expect(await attempt.result).toMatchObject({ bytes: 5, sha256: sha256(Buffer.from('video')) });
  });

  it.each<[what: string, answer: (request: RawRequest) => void, type: FailureType, said: RegExp]>([
    [
      'of no bytes is no video',
      (request) => reply(request, { headers: { 'content-type': 'video/mp4' }, body: '' }),
      'VideoCorrupt',
      /0 of 0 bytes arrived/,
    ],
    [
      'of no bytes and no told length is no video',
      ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\n\r\n'),
      'VideoCorrupt',
      /0 of an unknown number of bytes arrived/,
    ],
    [
      'that ends before its told length is cut',
      ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nvideo'),
      'ServiceUnreachable',
      /closed/,
    ],
    [
      'that ends within a chunk is cut',
      ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nvideo'),
      'ServiceUnreachable',
      /closed/,
    ],
    [
      'of an XML error with status 200 is no video',
      (request) => reply(request, { headers: { 'content-type': 'application/xml' }, body: '<Error/>' }),
      'VideoCorrupt',
      /the link answered application\/xml, not a video/,
    ],
    [
      'whose refusal quotes the signed link does not repeat it',
      (request) => reply(request, { status: 403, body: `refused: ${request.line}` }),
      'VideoUnavailable',
      /refused: GET \/v\.mp4\?… HTTP/,
    ],
  ])('%s', async (_what, answer, type, said) => {
    const { failure } = await failureOf(await downloadFrom(answer));
    expect([failure.type, failure.nonRetryable]).toEqual([type, false]);
    expect(failure.message).toMatch(said);
    expect(await world.files()).toEqual([]);
  });

  it('lets the connection go when what comes is not a video', async () => {
    const headers = { 'content-type': 'text/html', 'content-length': 1_000_000 };
    const attempt = await downloadFrom((request) => reply(request, { headers, body: '<p>' }), {
      // No time limit is to end what the download itself must end.
      timeouts: { video: { headersTimeout: 0, bodyTimeout: 0 } },
    });
    const { failure } = await failureOf(attempt);
    expect(failure.type).toBe('VideoCorrupt');
    const { socket } = await files.nextRequest();
    await closed(socket);
  });

  it('closes the socket when it is cancelled before the headers', async () => {
    const attempt = await downloadFrom(() => undefined);
    const { socket } = await files.nextRequest();
    attempt.cancel();
    await expect(attempt.result).rejects.toBeInstanceOf(CancelledFailure);
    await closed(socket);
    expect(await world.files()).toEqual([]);
  });
});
