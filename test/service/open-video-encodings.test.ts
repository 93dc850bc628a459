import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { createVideoService, type VideoService } from '../../src/service';
import { closed, type RawRequest, type RawServer, type Reply, reply, startRawServer } from './raw-server';

/** Large enough to come in several pieces, and does not shrink when it is encoded. */
const VIDEO = randomBytes(300_000);

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function serve(answer: (request: RawRequest) => void): Promise<RawServer & { service: VideoService }> {
  const server = await startRawServer(answer);
  const service = createVideoService({ baseUrl: server.url, apiKey: () => 'key' });
  opened.push(server, service);
  return { ...server, service };
}

const encodedAs =
  (encoding: string, body: Buffer, headers: Reply['headers'] = {}) =>
  (request: RawRequest) =>
    reply(request, { headers: { 'content-encoding': encoding, etag: '"v1"', ...headers }, body });

it.each(['identity', 'Identity', ''])('the encoding %j is none', async (encoding) => {
  const { service } = await serve(encodedAs(encoding, VIDEO));
  const video = await service.open('/v.mp4');
  expect(video).toMatchObject({ bytes: VIDEO.length, validator: '"v1"' });
  expect((await buffer(video.stream)).equals(VIDEO)).toBe(true);
});

it.each(['gzip', 'zstd', 'gzip, br', 'constructor'])(
  'a video in the encoding %s is unreadable',
  async (encoding) => {
    const { service, nextRequest } = await serve(
      encodedAs(encoding, VIDEO, { 'content-length': VIDEO.length + 1 }),
    );
    await expect(service.open('/v.mp4')).rejects.toMatchObject({
      kind: 'unreadable',
      facts: {
        status: 200,
        message: `the video is encoded as ${encoding}, which was not requested`,
      },
    });
    const { socket } = await nextRequest();
    await closed(socket);
  },
);

it('a video that fails while nobody listens does not end the process', async () => {
  const { service } = await serve((request) => {
    reply(request, { headers: { 'content-length': VIDEO.length }, body: VIDEO.subarray(0, 1_000) });
    request.socket.end();
  });
  const { stream } = await service.open('/v.mp4');
  if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve).resume());
  await setImmediate();
  expect(stream.errored).not.toBeNull();
});

it('a video is let go together with its stream', async () => {
  const { service, nextRequest } = await serve((request) =>
    reply(request, { headers: { 'content-length': VIDEO.length + 1 }, body: VIDEO }),
  );
  const { stream } = await service.open('/v.mp4');
  stream.destroy();
  const { socket } = await nextRequest();
  await closed(socket);
});
