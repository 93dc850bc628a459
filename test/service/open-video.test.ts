import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { ResumePoint, VideoService } from '../../src/service';
import { closed, type RawRequest, type RawServer, type Reply, reply } from './raw-server';
import { connect, faultOf, KEY, linesOf, redirectTo, sendVideo, serve, VIDEO } from './service-world';

async function serveVideo(answer: (request: RawRequest) => void) {
  const server = await serve(answer);
  return { ...server, service: connect(server.url) };
}

const text = async (service: VideoService, link: string, from?: ResumePoint) =>
  (await buffer((await service.open(link, { from })).stream)).toString();
const keysSentTo = ({ requests }: RawServer) => requests.map(({ headers }) => headers.authorization);

describe('an opened video', () => {
  it('has its bytes, its type and its length', async () => {
    const { url, service, requests } = await serveVideo(sendVideo);
    const video = await service.open(`${url}/v.mp4?signature=a%2Fb`);
    expect(video).toMatchObject({ contentType: 'video/mp4', bytes: VIDEO.length });
    expect((await buffer(video.stream)).toString()).toBe(VIDEO);
    expect(requests[0]?.line).toBe('GET /v.mp4?signature=a%2Fb HTTP/1.1');
  });

  it('can be read up to where the connection broke, however slow the reader', async () => {
    const long = Buffer.alloc(300_000, VIDEO);
    const server = await serveVideo((request) => {
      reply(request, { headers: { 'content-length': 400_000 }, body: long });
      request.socket.end();
    });
    const { stream } = await server.service.open('/v.mp4');
    await closed((await server.nextRequest()).socket);
    const read: Buffer[] = [];
    const reading = (async () => {
      for await (const chunk of stream) {
        read.push(chunk);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    await expect(reading).rejects.toThrow('other side closed');
    expect(Buffer.concat(read).equals(long)).toBe(true);
  });

  it.each<[how: string, end: (abort: AbortController, video: { destroy(): void }) => void]>([
    ['it is aborted', (abort) => abort.abort(new Error('cancelled'))],
    ['its stream is destroyed', (_abort, stream) => stream.destroy()],
  ])('closes its connection when %s', async (_how, end) => {
    const server = await serveVideo((request) =>
      reply(request, { headers: { 'content-length': 400_000 }, body: randomBytes(300_000) }),
    );
    const abort = new AbortController();
    const { stream } = await server.service.open('/v.mp4', { signal: abort.signal });
    const reading = expect(buffer(stream)).rejects.toThrow();
    end(abort, stream);
    await reading;
    await closed((await server.nextRequest()).socket);
  });

  it.each([
    ['', '/v.mp4?a=1', '/v.mp4?a=1'],
    ['/video', '/v.mp4', '/v.mp4'],
    ['/video', 'files/v.mp4', '/video/files/v.mp4'],
  ])('of a service at %j may be linked as %s', async (suffix, link, path) => {
    const server = await serve(sendVideo);
    expect(await text(connect(server.url + suffix), link)).toBe(VIDEO);
    expect(linesOf(server)).toEqual([`GET ${path} HTTP/1.1`]);
  });

  it.each(['Identity', ''])('has no encoding if the server says %j', async (encoding) => {
    const headers = { 'content-encoding': encoding };
    const { service } = await serveVideo((request) => reply(request, { headers, body: VIDEO }));
    expect(await text(service, '/v.mp4')).toBe(VIDEO);
  });

  it.each(['gzip', 'zstd', 'constructor'])('in the encoding %s is unreadable', async (encoding) => {
    const headers = { 'content-encoding': encoding, 'content-length': VIDEO.length + 1 };
    const server = await serveVideo((request) => reply(request, { headers, body: VIDEO }));
    expect(await faultOf(server.service.open('/v.mp4'))).toMatchObject({
      kind: 'unreadable',
      facts: { status: 200, message: `the video is encoded as ${encoding}, which was not requested` },
    });
    await closed((await server.nextRequest()).socket);
  });
});

describe('a redirect', () => {
  /** Leads from /0 to /1, /2 and on to the last, which is the video. */
  const chainOf = (redirects: number) => (request: RawRequest) => {
    const step = Number(/\/(\d+) /.exec(request.line)?.[1]);
    if (step === redirects) sendVideo(request);
    else redirectTo(`/${step + 1}`)(request);
  };

  it('is followed five times, and not a sixth time', async () => {
    const five = await serveVideo(chainOf(5));
    expect(await text(five.service, '/0')).toBe(VIDEO);
    expect(five.requests).toHaveLength(6);
    const six = await serveVideo(chainOf(6));
    expect(await faultOf(six.service.open('/0'))).toMatchObject({
      kind: 'answered',
      facts: { status: 302, message: 'moved' },
    });
    expect(six.requests).toHaveLength(6);
  });

  it.each([301, 302, 303, 307, 308])('may have the status %d', async (status) => {
    const { service, requests } = await serveVideo((request) =>
      request.line.includes('/v.mp4')
        ? sendVideo(request)
        : reply(request, { status, headers: { location: 'v.mp4?x=1' } }),
    );
    expect(await text(service, '/a/b')).toBe(VIDEO);
    expect(requests[1]?.line).toBe('GET /a/v.mp4?x=1 HTTP/1.1');
  });

  it.each([
    ['an invalid address', { location: 'http://[bad' }],
    ['a file', { location: 'file:///etc/passwd' }],
    ['nothing', {}],
  ])('to %s is a refusal, and its body is not taken for the video', async (_where, headers) => {
    const { service, requests } = await serveVideo((request) =>
      reply(request, { status: 302, headers, body: VIDEO }),
    );
    expect(await faultOf(service.open('/v.mp4'))).toMatchObject({ kind: 'answered', facts: { status: 302 } });
    expect(requests).toHaveLength(1);
  });
});

describe('the API key', () => {
  it('is sent to the service’s own origin, also after a redirect within it', async () => {
    const server = await serve((request) =>
      request.line.includes('/b') ? sendVideo(request) : redirectTo('/b')(request),
    );
    await text(connect(`${server.url}/prefix`), `${server.url}/a`);
    expect(keysSentTo(server)).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`]);
  });

  it('is not sent to another port or another name of the same machine', async () => {
    const [server, files] = [await serve(sendVideo), await serve(sendVideo)];
    const service = connect(server.url, { downloadAllow: ['localhost'] });
    await text(service, `${files.url}/v.mp4`);
    await text(service, `http://localhost:${server.port}/v.mp4`);
    expect([keysSentTo(files), keysSentTo(server)]).toEqual([[undefined], [undefined]]);
  });

  it('is in no header or path of what the service redirects to, nor is anything else of the service', async () => {
    const files = await serve(sendVideo);
    const server = await serve(redirectTo(`${files.url}/v.mp4`));
    const profile = { auth: { header: 'X-Api-Key', scheme: '' }, headers: { 'X-Version': '7' } };
    expect(await text(connect(`${server.url}/base`, { profile }), `${server.url}/v.mp4`)).toBe(VIDEO);
    expect(server.requests[0]?.headers).toMatchObject({ 'x-api-key': KEY, 'x-version': '7' });
    const { headers, line } = await files.nextRequest();
    expect(line).toBe('GET /v.mp4 HTTP/1.1');
    expect(Object.keys(headers).sort()).toEqual(['accept-encoding', 'connection', 'host']);
  });
});

it('the signature of a refused link is redacted when the storage quotes it', async () => {
  const { service } = await serveVideo((request) =>
    reply(request, {
      status: 403,
      headers: { 'content-type': 'application/xml' },
      body: '<Error><Code>SignatureDoesNotMatch</Code><SignatureProvided>abc/defgh=</SignatureProvided></Error>',
    }),
  );
  expect((await faultOf(service.open('/v.mp4?X-Signature=abc%2Fdefgh%3D&e=1'))).facts).toMatchObject({
    status: 403,
    message: '<Error><Code>SignatureDoesNotMatch</Code><SignatureProvided>…=</SignatureProvided></Error>',
  });
});

describe('the rest of a video', () => {
  const OFFSET = 4;
  const REST = VIDEO.slice(OFFSET);
  const RANGE = `bytes ${OFFSET}-${VIDEO.length - 1}/${VIDEO.length}`;
  const TAG = '"v1"';
  const FROM: ResumePoint = { offset: OFFSET, validator: TAG };

  const whole: Reply = { headers: { 'content-type': 'video/mp4', etag: TAG }, body: VIDEO };
  const rest: Reply = {
    status: 206,
    headers: { 'content-type': 'video/mp4', 'content-range': RANGE, etag: TAG },
    body: REST,
  };
  const withHeaders = (answer: Reply, headers: Record<string, string | number>): Reply => ({
    ...answer,
    headers: { ...answer.headers, ...headers },
  });
  /** Answers a request for a range with `answer`, and any other with the whole video. */
  const ranged = (answer: Reply) => (request: RawRequest) =>
    reply(request, request.headers.range === undefined ? whole : answer);
  const rangesOf = ({ requests }: Pick<RawServer, 'requests'>) =>
    requests.map(({ headers }) => [headers.range, headers['if-range']]);

  it('is requested with the validator of the stored bytes, and begins where they end', async () => {
    const { service, requests } = await serveVideo(ranged(rest));
    const { stream, ...video } = await service.open('/v.mp4', { from: FROM });
    expect(video).toEqual({ offset: OFFSET, bytes: VIDEO.length, validator: TAG });
    expect((await buffer(stream)).toString()).toBe(REST);
    expect(rangesOf({ requests })).toEqual([['bytes=4-', TAG]]);
    expect(requests[0]?.headers['accept-encoding']).toBe('identity');
  });

  it.each<[how: string, answer: (request: RawRequest) => void]>([
    ['without an ETag', ranged({ ...rest, headers: { 'content-range': RANGE } })],
    [
      'without Content-Length',
      ({ socket }) => socket.end(`HTTP/1.1 206 Partial\r\ncontent-range: ${RANGE}\r\n\r\n${REST}`),
    ],
  ])('may come %s', async (_how, answer) => {
    const { service } = await serveVideo(answer);
    const { stream, ...video } = await service.open('/v.mp4', { from: FROM });
    expect(video).toEqual({ offset: OFFSET, bytes: VIDEO.length, validator: TAG });
    expect((await buffer(stream)).toString()).toBe(REST);
  });

  it('is the whole video when the server answers with that', async () => {
    const { service, requests } = await serveVideo((request) =>
      reply(request, withHeaders(whole, { etag: '"v2"' })),
    );
    const { stream, ...video } = await service.open('/v.mp4', { from: FROM });
    expect(video).toMatchObject({ offset: 0, bytes: VIDEO.length, validator: '"v2"' });
    expect((await buffer(stream)).toString()).toBe(VIDEO);
    expect(requests).toHaveLength(1);
  });

  it.each<[string, Reply]>([
    [
      'begins earlier',
      withHeaders(rest, { 'content-range': `bytes 3-19/20`, 'content-length': REST.length }),
    ],
    ['begins later', withHeaders(rest, { 'content-range': 'bytes 5-19/20' })],
    ['ends before the end', withHeaders(rest, { 'content-range': 'bytes 4-18/20' })],
    ['does not say how long the whole is', withHeaders(rest, { 'content-range': 'bytes 4-19/*' })],
    ['has no range', { ...rest, headers: { etag: TAG } }],
    ['counts in another unit', withHeaders(rest, { 'content-range': RANGE.replace('bytes', 'frames') })],
    ['is of another video', withHeaders(rest, { etag: '"v2"', 'content-length': 10_000_000 })],
    ['is only weakly of the same video', withHeaders(rest, { etag: `W/${TAG}` })],
    ['is encoded', withHeaders(rest, { 'content-encoding': 'gzip' })],
    ['is in several parts', withHeaders(rest, { 'content-type': 'multipart/byteranges; boundary=x' })],
    ['is refused as beyond the end', { status: 416, headers: { 'content-range': 'bytes */3' }, body: 'no' }],
  ])('that %s is discarded with its connection, and the whole video is requested', async (_what, answer) => {
    const server = await serveVideo(ranged(answer));
    const { stream, ...video } = await server.service.open('/v.mp4', { from: FROM });
    expect(video).toMatchObject({ offset: 0, bytes: VIDEO.length, validator: TAG });
    expect((await buffer(stream)).toString()).toBe(VIDEO);
    expect(rangesOf(server)).toEqual([
      ['bytes=4-', TAG],
      [undefined, undefined],
    ]);
    if (answer.headers?.['content-length'] === 10_000_000) await closed((await server.nextRequest()).socket);
  });

  it.each<[string, ResumePoint]>([
    ['the start', { offset: 0, validator: TAG }],
    ['a fraction of a byte', { offset: 1.5, validator: TAG }],
    ['a weak ETag', { offset: 4, validator: `W/${TAG}` }],
    ['no validator', { offset: 4, validator: '' }],
    ['a validator with a header in it', { offset: 4, validator: '"v"\r\nx: y' }],
  ])('from %s is not requested: the whole video is', async (_where, from) => {
    const { service, requests } = await serveVideo(ranged(rest));
    expect(await text(service, '/v.mp4', from)).toBe(VIDEO);
    expect(rangesOf({ requests })).toEqual([[undefined, undefined]]);
  });

  const date = 'Thu, 01 Jan 2026 12:00:01 GMT';
  it.each<[string, Record<string, string>, string | undefined]>([
    ['by a strong ETag', { etag: TAG, date, 'last-modified': date }, TAG],
    ['not by a weak ETag', { etag: `W/${TAG}` }, undefined],
    ['not by a date', { date, 'last-modified': date }, undefined],
  ])('can be requested later %s', async (_how, headers, validator) => {
    const { service } = await serveVideo((request) => reply(request, { headers, body: VIDEO }));
    const video = await service.open('/v.mp4');
    expect(video).toMatchObject({ offset: 0, bytes: VIDEO.length });
    expect(video.validator).toBe(validator);
    video.stream.resume();
  });
});
