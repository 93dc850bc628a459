import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
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
    ['a template', '{date}/{taskId}/{workflowId}-1.{ext}', '2026-11-15/TASK/job%2F1-1.mp4'],
  ])('goes where %s says', async (_what, storage, path) => {
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

  it('that was stored already, by an attempt that could not say so, is stored once', async () => {
    const first = await download().result;
    const again = await download(undefined, { attempt: 2 }).result;
    expect(again).toEqual(first);
    expect(await world.files()).toEqual(['test.mp4', 'test.mp4.json']);
  });

  it('does not take the place of another file', async () => {
    await writeFile(join(world.folder, 'test.mp4'), 'another');
    const { failure } = await failureOf(download());
    // There is no use in downloading it again.
    expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', true]);
    expect(failure.message).toContain('the key "test.mp4" is taken');
    expect(await readFile(join(world.folder, 'test.mp4'), 'utf8')).toBe('another');
    expect(await world.files()).toEqual(['test.mp4']);
  });

  it('is told of beside it, unless that is not wanted', async () => {
    const request = { prompt: 'A red fox', seed: 7 };
    const attempt = world.run(world.activities.downloadVideo, { taskId, request });
    const { video, warnings } = await attempt.result;
    expect(JSON.parse(await readFile(join(world.folder, 'test.mp4.json'), 'utf8'))).toEqual({
      workflowId: 'test',
      taskId,
      request,
      seed: 7,
      video,
      warnings,
    });
    await rm(join(world.folder, 'test.mp4.json'));
    const storage = createFileStorage(world.folder);
    const quiet = createVideoActivities({ service: world.service, storage, sidecar: false });
    await world.run(quiet.downloadVideo, { taskId }).result;
    expect(await world.files()).toEqual(['test.mp4']);
  });

  it('is compared with what was asked for', async () => {
    const request = { prompt: 'A red fox', resolution: '1080p', aspect_ratio: '1:1', duration: 9 } as const;
    const { warnings } = await world.run(world.activities.downloadVideo, { taskId, request }).result;
    expect(warnings).toEqual([
      '1080p was asked for, it is 1280x720',
      '1:1 was asked for, it is 1280x720',
      '9 s were asked for, it is 5 s long',
    ]);
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
    attempt.cancel();
    const error: unknown = await attempt.result.catch((reason: unknown) => reason);
    // Temporal takes either for a cancellation.
    expect(error instanceof CancelledFailure || Reflect.get(Object(error), 'name') === 'AbortError').toBe(
      true,
    );
    expect(await world.files()).toEqual([]);
  });

  it('that stands still for too long is given up, to be tried again', async () => {
    const stall = { kind: 'stall', afterBytes: 1_000 } as const;
    world.emulator.next('download', stall, stall, stall);
    const { downloadVideo } = world.activitiesAt(world.emulator.url, {
      timeouts: { video: { headersTimeout: 200, bodyTimeout: 200 } },
    });
    const { failure } = await failureOf(world.run(downloadVideo, { taskId }));
    expect([failure.type, failure.nonRetryable]).toEqual(['ServiceUnreachable', false]);
    expect(await world.files()).toEqual([]);
  });
});

/** What one attempt gets over by itself, once and even twice, and what it ends with when there is no end of it. */
const CONNECTIONS: [what: string, fault: Faults['download'], type: FailureType, said: string | RegExp][] = [
  ['cut', { kind: 'cut', afterBytes: 20_000 }, 'ServiceUnreachable', /closed|ECONNRESET/],
  ['cut at once', { kind: 'cut', afterBytes: 0 }, 'ServiceUnreachable', /closed|ECONNRESET/],
  ['reset', { kind: 'reset' }, 'ServiceUnreachable', /ECONNRESET|closed/],
  [
    'refused because the link has expired',
    { kind: 'refused', status: 403, code: 'AccessDenied', message: 'Request has expired' },
    'VideoUnavailable',
    'HTTP 403 AccessDenied Request has expired',
  ],
  [
    'refused because the link is of another key',
    { kind: 'refused', status: 401, message: 'no' },
    'VideoUnavailable',
    'HTTP 401',
  ],
  ['not there', { kind: 'refused', status: 404, message: 'no' }, 'VideoUnavailable', 'HTTP 404'],
  ['gone', { kind: 'refused', status: 410, message: 'gone' }, 'VideoUnavailable', 'HTTP 410'],
];

describe('a download that is', () => {
  it.each(CONNECTIONS)('%s asks for a fresh link and goes on', async (_what, fault) => {
    world.emulator.next('download', fault, fault);
    const { video } = await download().result;
    expect(video.sha256).toBe(sha256(await world.emulator.video(taskId)));
    const calls = world.emulator.calls.slice(1).map(({ call }) => call);
    expect(calls).toEqual(['status', 'download', 'status', 'download', 'status', 'download']);
    expect(await world.files()).toEqual(['test.mp4', 'test.mp4.json']);
  });

  it.each(CONNECTIONS)('%s again and again is left to the retry policy', async (_what, fault, type, said) => {
    world.emulator.next('download', fault, fault, fault);
    const { failure, details } = await failureOf(download(undefined, { attempt: 3 }));
    expect([failure.type, failure.nonRetryable]).toEqual([type, false]);
    expect(details).toMatchObject({ taskId, attempt: 3 });
    expect(failure.message).toMatch(said);
    expect(failure.message).toContain(`(task ${taskId})`);
  });

  it('refused for the eighth attempt is not tried again', async () => {
    const refused = { kind: 'refused', status: 403, message: 'no' } as const;
    world.emulator.next('download', refused, refused, refused);
    const { failure } = await failureOf(download(undefined, { attempt: 8 }));
    expect([failure.type, failure.nonRetryable]).toEqual(['VideoUnavailable', true]);
    expect(await world.files()).toEqual([]);
  });
});

it('a download is not given up while each connection brings a good part of it', async () => {
  const cut = { kind: 'cut', afterBytes: 70_000 } as const;
  world.emulator.next('download', cut, cut, cut, cut);
  await download().result;
  expect(ranges()).toEqual([undefined, ...Array(4).fill(expect.stringMatching(/^bytes=\d+-$/))]);
});

const ranges = () => world.emulator.calls.flatMap(({ call, range }) => (call === 'download' ? [range] : []));

describe('an attempt after another one', () => {
  /** Ends with a part of the video; what it told Temporal last is what the next one is told. */
  async function leavePart(info: object = { scheduleToCloseTimeoutMs: 3_600_000 }) {
    const cut = (afterBytes: number) => ({ kind: 'cut', afterBytes }) as const;
    world.emulator.next('download', cut(200_000), cut(10), cut(10), cut(10));
    const attempt = download(undefined, info);
    await failureOf(attempt);
    return attempt.beats.at(-1) as { key?: string; bytes: number };
  }
  const next = (heartbeatDetails: unknown) => download(undefined, { attempt: 2, heartbeatDetails });
  const expectWhole = async (attempt: ReturnType<typeof next>) => {
    const { video } = await attempt.result;
    expect(video.sha256).toBe(sha256(await world.emulator.video(taskId)));
    expect(await world.files()).toEqual(['test.mp4', 'test.mp4.json']);
  };

  it('goes on with what that one left, and nothing of it stays', async () => {
    const note = await leavePart();
    expect(note.key).toBe('test.mp4');
    // What was on its way when the connection broke is lost.
    expect(note.bytes).toBeGreaterThan(100_000);
    expect(await world.files()).toHaveLength(1);
    await expectWhole(next(note));
    expect(ranges().slice(4)).toEqual([`bytes=${note.bytes}-`]);
  });

  it('tells of what that one left until it has something itself', async () => {
    const note = await leavePart();
    world.emulator.next('status', { kind: 'server-error' });
    const attempt = next(note);
    await failureOf(attempt);
    expect(attempt.beats[0]).toEqual(note);
  });

  it.each<[what: string, harm: (path: string) => Promise<void>]>([
    ['is not there any more', (path) => rm(path)],
    ['is shorter than was told', (path) => truncate(path, 99_999)],
    ['was changed, as by a power cut', (path) => writeFile(path, Buffer.alloc(300_000))],
  ])('starts over when what that one left %s', async (_what, harm) => {
    const note = await leavePart();
    const [part = ''] = await world.files();
    await harm(join(world.folder, part));
    await expectWhole(next(note));
    expect(ranges().slice(4)).toEqual([undefined]);
  });

  it('starts over when the video is another one by now', async () => {
    const note = await leavePart();
    await expectWhole(next({ ...note, validator: '"another"' }));
    expect(ranges().slice(4)).toEqual([`bytes=${note.bytes}-`]);
  });

  it.each([undefined, null, 7, 'x', {}, { bytes: 1 }, { key: 'test.mp4', part: '../../x', bytes: 5 }])(
    'starts over when that one told %j',
    (note) => expectWhole(next(note)),
  );

  it('has nothing to go on with when that one was the last', async () => {
    const inTime = { scheduleToCloseTimeoutMs: 60_000, scheduledTimestampMs: 0 };
    const last = await leavePart({ ...inTime, currentAttemptScheduledTimestampMs: 59_500 });
    expect(last.key).toBeUndefined();
    expect(await world.files()).toEqual([]);
    expect(await leavePart({ ...inTime, currentAttemptScheduledTimestampMs: 30_000 })).toMatchObject({
      key: 'test.mp4',
    });
    expect(await world.files()).toHaveLength(1);
  });
});

describe('a download fails as its row says, with the task id and nothing left behind,', () => {
  it.each<[what: string, fault: Faults['download'], type: FailureType, said: string | RegExp]>([
    ['when the link brings a page', { kind: 'web-page' }, 'VideoCorrupt', 'it begins like a web page'],
    ['when the link brings JSON', { kind: 'bad-json' }, 'VideoCorrupt', 'it begins like JSON'],
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

  it('when it is larger than allowed, without a byte of it', async () => {
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
    const video = await world.emulator.video(taskId);
    const attempt = await downloadFrom((request) =>
      reply(request, { headers: { 'content-type': 'video/mp4' }, body: video }),
    );
    await attempt.result;
    expect(files.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    expect(service.requests.map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${world.emulator.apiKey}`,
    ]);
  });

  it.each(['video/mp4', 'video/webm', 'binary/octet-stream', 'text/html', ''])(
    'is named after what it is, not after its type %j',
    async (type) => {
      const body = await world.emulator.video(taskId);
      const attempt = await downloadFrom((request) =>
        reply(request, { headers: { 'content-type': type }, body }),
      );
      const { video } = await attempt.result;
      expect(video).toMatchObject({ contentType: 'video/mp4', bytes: VIDEO_BYTES });
      expect(await world.files()).toEqual(['test.mp4', 'test.mp4.json']);
    },
  );

  it('that is a QuickTime film is named so', async () => {
    const body = await world.emulator.video(taskId);
    body.write('qt  ', 8, 'latin1');
    const attempt = await downloadFrom((request) => reply(request, { body }));
    expect((await attempt.result).video.contentType).toBe('video/quicktime');
    expect(await world.files()).toEqual(['test.mov', 'test.mov.json']);
  });

  it('whose length is not told is taken when it ends properly', async () => {
    const body = await world.emulator.video(taskId);
    const attempt = await downloadFrom(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      socket.write(`${body.length.toString(16)}\r\n`);
      socket.write(body);
      socket.end('\r\n0\r\n\r\n');
    });
    const { video } = await attempt.result;
    expect(video).toMatchObject({ bytes: VIDEO_BYTES, sha256: sha256(body) });
  });

  it('whose length is not told and that ends within the video is found out', async () => {
    const body = await world.emulator.video(taskId);
    const attempt = await downloadFrom(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.end(body.subarray(0, 299_999));
    });
    const { failure } = await failureOf(attempt);
    expect(failure.type).toBe('VideoCorrupt');
    expect(failure.message).toContain('it ends within its free box');
    expect(await world.files()).toEqual([]);
  });

  it('that is no video is kept aside for whoever asks for that', async () => {
    const body = await world.emulator.video(taskId);
    files = await startRawServer((request) => reply(request, { body: body.subarray(0, 250_000) }));
    service = await startRawServer((request) =>
      replyJson(request, { status: 'succeeded', video_url: `${files.url}/v` }),
    );
    const { downloadVideo } = world.activitiesAt(service.url);
    const { failure } = await failureOf(world.run(downloadVideo, { taskId, keepBad: true }));
    const kept = join(world.folder, 'test.mp4.bad');
    expect(failure.message).toContain(`it is kept at ${pathToFileURL(kept).href}`);
    expect((await readFile(kept)).equals(body.subarray(0, 250_000))).toBe(true);
    expect(await world.files()).toEqual(['test.mp4.bad']);
  });

  it('without an end is ended', async () => {
    const video = await world.emulator.video(taskId);
    files = await startRawServer(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.write(video);
      const more = () => {
        if (socket.writable) socket.write(video, more);
      };
      more();
    });
    const video_url = `${files.url}/v.mp4`;
    service = await startRawServer((request) => replyJson(request, { status: 'succeeded', video_url }));
    const { downloadVideo } = createVideoActivities({
      service: world.serviceAt(service.url),
      storage: createFileStorage(world.folder),
      largestVideoBytes: 5_000_000,
    });
    const { failure } = await failureOf(world.run(downloadVideo, { taskId }));
    expect([failure.type, failure.nonRetryable]).toEqual(['VideoTooLarge', true]);
    expect(await world.files()).toEqual([]);
    const { socket } = await files.nextRequest();
    await closed(socket);
  });

  it.each<[what: string, answer: (request: RawRequest) => void, type: FailureType, said: RegExp]>([
    [
      'of no bytes is no video',
      (request) => reply(request, { headers: { 'content-type': 'video/mp4' }, body: '' }),
      'VideoCorrupt',
      /it is empty/,
    ],
    [
      'of no bytes and no told length is no video',
      ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\n\r\n'),
      'VideoCorrupt',
      /it is empty/,
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
      /it begins like XML/,
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
    const attempt = await downloadFrom((request) => reply(request, { headers, body: '<p>'.repeat(2_000) }), {
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
