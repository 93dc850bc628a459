import { buffer } from 'node:stream/consumers';
import { createVideoService, type ResumePoint, type VideoService } from '../../src/service';
import { closed, type RawRequest, type RawServer, type Reply, reply, startRawServer } from './raw-server';

const VIDEO = 'the bytes of a video';
const OFFSET = 4;
const REST = VIDEO.slice(OFFSET);
const RANGE = `bytes ${OFFSET}-${VIDEO.length - 1}/${VIDEO.length}`;
const TAG = '"v1"';
const FROM: ResumePoint = { offset: OFFSET, validator: TAG };

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

const whole: Reply = { headers: { 'content-type': 'video/mp4', etag: TAG }, body: VIDEO };
const rest: Reply = {
  status: 206,
  headers: { 'content-type': 'video/mp4', 'content-range': RANGE, etag: TAG },
  body: REST,
};

/** Answers a request for a range with `answer`, and any other with the whole video. */
const ranged = (answer: Reply) => (request: RawRequest) =>
  reply(request, request.headers.range === undefined ? whole : answer);
const withHeaders = (answer: Reply, headers: Record<string, string | number>): Reply => ({
  ...answer,
  headers: { ...answer.headers, ...headers },
});
const requestedRanges = ({ requests }: RawServer) => requests.map(({ headers }) => headers.range);

describe('the rest of a video', () => {
  it('is requested with the validator of the stored bytes, and begins where they end', async () => {
    const { service, requests } = await serve(ranged(rest));
    const { stream, ...video } = await service.open('/v.mp4', { from: FROM });
    expect(video).toEqual({ offset: OFFSET, bytes: VIDEO.length, validator: TAG });
    expect((await buffer(stream)).toString()).toBe(REST);
    expect(requests).toHaveLength(1);
    expect(requests[0]?.headers).toMatchObject({
      range: 'bytes=4-',
      'if-range': TAG,
      'accept-encoding': 'identity',
    });
  });

  it.each<[string, Reply]>([
    ['without an ETag', { ...rest, headers: { 'content-range': RANGE } }],
    ['whose unit is written in capitals', withHeaders(rest, { 'content-range': RANGE.replace('b', 'B') })],
  ])('may come %s', async (_how, answer) => {
    const { service } = await serve(ranged(answer));
    const { offset, validator, stream } = await service.open('/v.mp4', { from: FROM });
    expect({ offset, validator }).toEqual({ offset: OFFSET, validator: TAG });
    expect((await buffer(stream)).toString()).toBe(REST);
  });

  it('may come without Content-Length', async () => {
    const { service } = await serve(({ socket }) =>
      socket.end(`HTTP/1.1 206 Partial\r\ncontent-range: ${RANGE}\r\n\r\n${REST}`),
    );
    const video = await service.open('/v.mp4', { from: FROM });
    expect(video).toMatchObject({ offset: OFFSET, bytes: VIDEO.length });
    expect((await buffer(video.stream)).toString()).toBe(REST);
  });

  it('is requested at every hop of a redirect', async () => {
    const server = await serve((request) =>
      request.line.includes('/hop')
        ? reply(request, { status: 302, headers: { location: '/v.mp4' } })
        : ranged(rest)(request),
    );
    const video = await server.service.open('/hop', { from: FROM });
    expect((await buffer(video.stream)).toString()).toBe(REST);
    expect(server.requests.map(({ headers }) => [headers.range, headers['if-range']])).toEqual([
      ['bytes=4-', TAG],
      ['bytes=4-', TAG],
    ]);
  });

  it('is the whole video when the server answers with that', async () => {
    const { service, requests } = await serve((request) =>
      reply(request, withHeaders(whole, { etag: '"v2"' })),
    );
    const video = await service.open('/v.mp4', { from: FROM });
    expect(video).toMatchObject({ offset: 0, bytes: VIDEO.length, validator: '"v2"' });
    expect((await buffer(video.stream)).toString()).toBe(VIDEO);
    expect(requests).toHaveLength(1);
  });

  it.each<[string, Reply]>([
    [
      'begins earlier',
      withHeaders(rest, { 'content-range': `bytes 3-19/20`, 'content-length': REST.length }),
    ],
    ['begins later', withHeaders(rest, { 'content-range': 'bytes 5-19/20' })],
    ['ends before the end', withHeaders(rest, { 'content-range': 'bytes 4-18/20' })],
    ['ends after the end', withHeaders(rest, { 'content-range': 'bytes 4-20/20' })],
    ['does not say how long the whole is', withHeaders(rest, { 'content-range': 'bytes 4-19/*' })],
    ['has no range', { ...rest, headers: { etag: TAG } }],
    ['has two ranges in one header', withHeaders(rest, { 'content-range': `${RANGE}, ${RANGE}` })],
    ['counts in another unit', withHeaders(rest, { 'content-range': RANGE.replace('bytes', 'frames') })],
    ['is longer than its range', withHeaders(rest, { 'content-range': 'bytes 4-18/19' })],
    ['is of another video', withHeaders(rest, { etag: '"v2"' })],
    ['is only weakly of the same video', withHeaders(rest, { etag: `W/${TAG}` })],
    ['is encoded', withHeaders(rest, { 'content-encoding': 'gzip' })],
    ['is in several parts', withHeaders(rest, { 'content-type': 'multipart/byteranges; boundary=x' })],
    ['is refused as beyond the end', { status: 416, headers: { 'content-range': 'bytes */3' }, body: 'no' }],
  ])('that %s is discarded, and the whole video is requested', async (_what, answer) => {
    const server = await serve(ranged(answer));
    const video = await server.service.open('/v.mp4', { from: FROM });
    expect(video).toMatchObject({ offset: 0, bytes: VIDEO.length, validator: TAG });
    expect((await buffer(video.stream)).toString()).toBe(VIDEO);
    expect(requestedRanges(server)).toEqual(['bytes=4-', undefined]);
    expect(server.requests[1]?.headers).not.toHaveProperty('if-range');
  });

  it('that ends before it begins is discarded, even without Content-Length', async () => {
    const server = await serve((request) =>
      request.headers.range === undefined
        ? reply(request, whole)
        : request.socket.end(`HTTP/1.1 206 Partial\r\ncontent-range: bytes 4-2/3\r\n\r\n${REST}`),
    );
    const { offset, stream } = await server.service.open('/v.mp4', { from: FROM });
    expect(offset).toBe(0);
    expect((await buffer(stream)).toString()).toBe(VIDEO);
  });

  it('that is discarded does not hold its connection', async () => {
    const server = await serve(ranged(withHeaders(rest, { etag: '"v2"', 'content-length': 10_000_000 })));
    const { stream } = await server.service.open('/v.mp4', { from: FROM });
    expect((await buffer(stream)).toString()).toBe(VIDEO);
    const { socket } = await server.nextRequest();
    await closed(socket);
  });

  it.each<[string, number]>([
    ['a part again', 206],
    ['nothing', 204],
  ])('that is discarded is unreadable when %s comes the second time', async (_what, status) => {
    const server = await serve((request) =>
      reply(request, requestedRanges(server).length === 1 ? { ...rest, headers: {} } : { ...rest, status }),
    );
    await expect(server.service.open('/v.mp4', { from: FROM })).rejects.toMatchObject({
      kind: 'unreadable',
      facts: { status },
    });
    expect(requestedRanges(server)).toEqual(['bytes=4-', undefined]);
  });

  it('can be refused like any video', async () => {
    const { service, requests } = await serve((request) => reply(request, { status: 403, body: 'expired' }));
    await expect(service.open('/v.mp4', { from: FROM })).rejects.toMatchObject({
      kind: 'answered',
      facts: { status: 403, message: 'expired' },
    });
    expect(requests).toHaveLength(1);
  });

  it.each<[string, ResumePoint]>([
    ['the start', { offset: 0, validator: TAG }],
    ['before the start', { offset: -4, validator: TAG }],
    ['a fraction of a byte', { offset: 1.5, validator: TAG }],
    ['a weak ETag', { offset: 4, validator: `W/${TAG}` }],
    ['no validator', { offset: 4, validator: '' }],
    ['a date', { offset: 4, validator: 'Thu, 01 Jan 2026 00:00:00 GMT' }],
    ['a validator with a header in it', { offset: 4, validator: '"v"\r\nx: y' }],
  ])('from %s is not requested: the whole video is', async (_where, from) => {
    const server = await serve(ranged(rest));
    const video = await server.service.open('/v.mp4', { from });
    expect(video.offset).toBe(0);
    expect(requestedRanges(server)).toEqual([undefined]);
    video.stream.resume();
  });
});

it('after a part that was not requested, the whole video is requested once more', async () => {
  const server = await serve((request) => reply(request, server.requests.length === 1 ? rest : whole));
  const video = await server.service.open('/v.mp4');
  expect((await buffer(video.stream)).toString()).toBe(VIDEO);
  expect(requestedRanges(server)).toEqual([undefined, undefined]);
});

it('a 416 without a requested range is a refusal', async () => {
  const { service, requests } = await serve((request) => reply(request, { status: 416 }));
  await expect(service.open('/v.mp4')).rejects.toMatchObject({
    kind: 'answered',
    facts: { status: 416 },
  });
  expect(requests).toHaveLength(1);
});

describe('a download can resume', () => {
  const date = 'Thu, 01 Jan 2026 12:00:01 GMT';
  const before = 'Thu, 01 Jan 2026 12:00:00 GMT';

  it.each<[string, Record<string, string>, string | undefined]>([
    ['by a strong ETag', { etag: TAG, date, 'last-modified': before }, TAG],
    ['by an empty ETag', { etag: '""' }, '""'],
    ['not by a weak ETag', { etag: `W/${TAG}` }, undefined],
    ['not by an ETag without quotes', { etag: 'v1' }, undefined],
    ['not by a date', { date, 'last-modified': before }, undefined],
    ['not without a validator', { date }, undefined],
  ])('%s', async (_how, headers, validator) => {
    const { service } = await serve((request) => reply(request, { headers, body: VIDEO }));
    const video = await service.open('/v.mp4');
    expect(video).toMatchObject({ offset: 0, bytes: VIDEO.length });
    expect(video.validator).toBe(validator);
    video.stream.resume();
  });
});
