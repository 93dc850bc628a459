import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { createVideoService, type VideoService } from '../../src/service';
import { closed, type RawRequest, type RawServer, type Reply, reply, startRawServer } from './raw-server';

/** Large enough to come in several pieces, and does not shrink when it is encoded. */
const VIDEO = randomBytes(300_000);

const ENCODINGS: [name: string, encoded: Buffer][] = [
  ['gzip', gzipSync(VIDEO)],
  ['x-gzip', gzipSync(VIDEO)],
  ['GZIP', gzipSync(VIDEO)],
  ['deflate', deflateSync(VIDEO)],
  ['br', brotliCompressSync(VIDEO)],
];

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function serve(answer: (request: RawRequest) => void): Promise<RawServer & { service: VideoService }> {
  const server = await startRawServer(answer);
  // No time limit is to close what the service itself must close.
  const timeouts = { video: { headersTimeout: 0, bodyTimeout: 0 } };
  const service = createVideoService({ baseUrl: server.url, apiKey: () => 'key', timeouts });
  opened.push(server, service);
  return { ...server, service };
}

const encodedAs =
  (encoding: string, body: Buffer, headers: Reply['headers'] = {}) =>
  (request: RawRequest) =>
    reply(request, { headers: { 'content-encoding': encoding, etag: '"v1"', ...headers }, body });

describe.each(ENCODINGS)('a video that is encoded as %s, unasked,', (name, encoded) => {
  it('is decoded, and its length and offsets are not known', async () => {
    const { service, requests } = await serve(encodedAs(name, encoded));
    const video = await service.open('/v.mp4');
    expect([video.offset, video.bytes, video.validator]).toEqual([0, undefined, undefined]);
    expect((await buffer(video.stream)).equals(VIDEO)).toBe(true);
    expect(requests[0]?.headers['accept-encoding']).toBe('identity');
  });

  it('fails for its reader when it is cut', async () => {
    const { service } = await serve(encodedAs(name, encoded.subarray(0, encoded.length - 1_000)));
    const { stream } = await service.open('/v.mp4');
    await expect(buffer(stream)).rejects.toThrow('unexpected end of file');
  });

  it('fails for its reader when the connection ends within it', async () => {
    const { service } = await serve((request) => {
      encodedAs(name, encoded.subarray(0, 1_000), { 'content-length': encoded.length })(request);
      request.socket.end();
    });
    const { stream } = await service.open('/v.mp4');
    await expect(buffer(stream)).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
  });

  it('fails for its reader when it is corrupt, and is let go', async () => {
    const garbage = Buffer.alloc(encoded.length, 0xff);
    const { service, nextRequest } = await serve(
      encodedAs(name, garbage, { 'content-length': garbage.length + 1 }),
    );
    const { stream } = await service.open('/v.mp4');
    await expect(buffer(stream)).rejects.toThrow();
    const { socket } = await nextRequest();
    await closed(socket);
  });

  it('is let go together with its stream', async () => {
    const { service, nextRequest } = await serve(
      encodedAs(name, encoded, { 'content-length': encoded.length + 1 }),
    );
    const { stream } = await service.open('/v.mp4');
    stream.destroy();
    const { socket } = await nextRequest();
    await closed(socket);
  });

  it('is let go when its reader is aborted', async () => {
    const { service, nextRequest } = await serve(
      encodedAs(name, encoded, { 'content-length': encoded.length + 1 }),
    );
    const abort = new AbortController();
    const { stream } = await service.open('/v.mp4', { signal: abort.signal });
    const reading = buffer(stream);
    abort.abort(new Error('cancelled'));
    await expect(reading).rejects.toThrow('cancelled');
    const { socket } = await nextRequest();
    await closed(socket);
  });
});

it.each(['identity', 'Identity', ''])('the encoding %j is none', async (encoding) => {
  const { service } = await serve(encodedAs(encoding, VIDEO));
  const video = await service.open('/v.mp4');
  expect(video).toMatchObject({ bytes: VIDEO.length, validator: '"v1"' });
  expect((await buffer(video.stream)).equals(VIDEO)).toBe(true);
});

it.each(['zstd', 'gzip, br', 'constructor'])('a video in the encoding %s is unreadable', async (encoding) => {
  const { service, nextRequest } = await serve(
    encodedAs(encoding, VIDEO, { 'content-length': VIDEO.length + 1 }),
  );
  await expect(service.open('/v.mp4')).rejects.toMatchObject({
    kind: 'unreadable',
    facts: {
      status: 200,
      message: `the video is encoded as ${encoding}, which is not supported`,
    },
  });
  const { socket } = await nextRequest();
  await closed(socket);
});

it.each([
  ['plain', undefined],
  ['gzip', gzipSync(VIDEO).subarray(0, 1_000)],
])('a %s video that fails while nobody listens does not end the process', async (encoding, encoded) => {
  const body = encoded ?? VIDEO.subarray(0, 1_000);
  const { service } = await serve((request) => {
    const headers = { 'content-length': VIDEO.length, 'content-encoding': encoding };
    reply(request, { headers: encoded ? headers : { 'content-length': VIDEO.length }, body });
    request.socket.end();
  });
  const { stream } = await service.open('/v.mp4');
  if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve).resume());
  await setImmediate();
  expect(stream.errored).not.toBeNull();
});
