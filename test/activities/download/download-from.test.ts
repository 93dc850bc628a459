import { CancelledFailure } from '@temporalio/common';
import { createVideoActivities } from '../../../activities';
import type { FailureType } from '../../../src/contract/failure-table';
import type { VideoServiceOptions } from '../../../src/service';
import { createFileStorage } from '../../../src/storage';
import { makeVideo } from '../../media/make-video';
import {
  closed,
  type RawRequest,
  type RawServer,
  reply,
  replyJson,
  startRawServer,
} from '../../service/raw-server';
import { type ActivityWorld, failureOf } from '../activity-world';
import { sha256, useDownloadWorld, VIDEO_BYTES } from './download-world';

const here = useDownloadWorld();
let world: ActivityWorld;
let taskId: string;
beforeEach(() => {
  ({ world, taskId } = here);
});

describe('from another file server, a download', () => {
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

  it('does not send the API key', async () => {
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
    'is named after its content, not after the content type %j',
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

  it('that is a QuickTime film gets its extension', async () => {
    const body = await world.emulator.video(taskId);
    body.write('qt  ', 8, 'latin1');
    const attempt = await downloadFrom((request) => reply(request, { body }));
    expect((await attempt.result).video.contentType).toBe('video/quicktime');
    expect(await world.files()).toEqual(['test.mov', 'test.mov.json']);
  });

  it('without a length is stored when it ends properly', async () => {
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

  it('whose length neither the server nor the file states is stored with a warning', async () => {
    const file = await makeVideo('MP4 of fragments');
    const body = file.subarray(0, file.indexOf('mfra') - 4);
    const send = (head: string) => downloadFrom(({ socket }) => socket.write(head) && socket.end(body));
    const unknown = await (await send('HTTP/1.1 200 OK\r\n\r\n')).result;
    expect(unknown.video).toMatchObject({ bytes: body.length, durationSeconds: 4 });
    expect(unknown.warnings).toEqual([
      'the server sent no length and the container does not say where the video ends, so completeness could not be checked',
    ]);
  });

  it('whose tables would need gigabytes of memory is VideoCorrupt', async () => {
    const body = Buffer.from(await makeVideo('MP4 of fragments'));
    const run = body.indexOf('trun') - 4;
    body.writeUInt32BE(0, run + 8);
    body.writeUInt32BE(0x7fffffff, run + 12);
    const { failure } = await failureOf(await downloadFrom((request) => reply(request, { body })));
    expect(failure.type).toBe('VideoCorrupt');
    expect(failure.nonRetryable).toBe(false);
    expect(await world.files()).toEqual([]);
  });

  it('without a length that ends inside the video is VideoCorrupt', async () => {
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

  it('that never ends is stopped', async () => {
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

  it.each<[what: string, answer: (request: RawRequest) => void, type: FailureType, message: RegExp]>([
    [
      'of no bytes is not a video',
      (request) => reply(request, { headers: { 'content-type': 'video/mp4' }, body: '' }),
      'VideoCorrupt',
      /it is empty/,
    ],
    [
      'of no bytes and no length is not a video',
      ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\n\r\n'),
      'VideoCorrupt',
      /it is empty/,
    ],
    [
      'that ends before its stated length is cut',
      ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nvideo'),
      'ServiceUnreachable',
      /closed/,
    ],
    [
      'that ends inside a chunk is cut',
      ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nvideo'),
      'ServiceUnreachable',
      /closed/,
    ],
    [
      'of an XML error with status 200 is not a video',
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
  ])('%s', async (_what, answer, type, message) => {
    const { failure } = await failureOf(await downloadFrom(answer));
    expect([failure.type, failure.nonRetryable]).toEqual([type, false]);
    expect(failure.message).toMatch(message);
    expect(await world.files()).toEqual([]);
  });

  it('closes the connection when the content is not a video', async () => {
    const headers = { 'content-type': 'text/html', 'content-length': 1_000_000 };
    const attempt = await downloadFrom((request) => reply(request, { headers, body: '<p>'.repeat(2_000) }));
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
