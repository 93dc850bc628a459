import { buffer } from 'node:stream/consumers';
import { createVideoService, type VideoService, type VideoServiceOptions } from '../../src/service';
import { closed, type RawRequest, type RawServer, reply, startRawServer } from './raw-server';

const KEY = 'sk-secret-0123456789';
const VIDEO = 'the bytes of a video';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function serve(answer: (request: RawRequest) => void): Promise<RawServer> {
  const server = await startRawServer(answer);
  opened.push(server);
  return server;
}

function connect(baseUrl: string, options: Partial<VideoServiceOptions> = {}): VideoService {
  const service = createVideoService({ baseUrl, apiKey: () => KEY, ...options });
  opened.push(service);
  return service;
}

const sendVideo = (request: RawRequest) =>
  reply(request, { headers: { 'content-type': 'video/mp4' }, body: VIDEO });
const sendTo = (location: string) => (request: RawRequest) =>
  reply(request, { status: 302, headers: { location }, body: 'moved' });
const text = async (service: VideoService, link: string) =>
  (await buffer((await service.open(link)).stream)).toString();
const keysSentTo = (server: RawServer) => server.requests.map(({ headers }) => headers.authorization);

describe('an opened video', () => {
  it('has its bytes, its type and its length', async () => {
    const server = await serve(sendVideo);
    const video = await connect(server.url).open(`${server.url}/v.mp4?signature=a%2Fb`);
    expect(video).toMatchObject({ contentType: 'video/mp4', bytes: VIDEO.length });
    expect((await buffer(video.stream)).toString()).toBe(VIDEO);
    expect(server.requests[0]?.line).toBe('GET /v.mp4?signature=a%2Fb HTTP/1.1');
  });

  it('has no length and no type when the server sends none', async () => {
    const server = await serve(({ socket }) => socket.end(`HTTP/1.1 200 OK\r\n\r\n${VIDEO}`));
    const video = await connect(server.url).open(`${server.url}/v.mp4`);
    expect(video).toMatchObject({ contentType: undefined, bytes: undefined });
    expect((await buffer(video.stream)).toString()).toBe(VIDEO);
  });

  it('without bytes has the length 0', async () => {
    const server = await serve((request) => reply(request, { body: '' }));
    const video = await connect(server.url).open(`${server.url}/v.mp4`);
    expect(video.bytes).toBe(0);
    video.stream.resume();
  });

  it('fails for its reader when the connection breaks', async () => {
    const server = await serve((request) => {
      reply(request, { headers: { 'content-length': 100 }, body: VIDEO });
      request.socket.end();
    });
    const { stream } = await connect(server.url).open(`${server.url}/v.mp4`);
    await expect(buffer(stream)).rejects.toThrow();
  });

  it('can be read up to where the connection broke, however slow the reader', async () => {
    const long = Buffer.alloc(300_000, VIDEO);
    const server = await serve((request) => {
      reply(request, { headers: { 'content-length': 400_000 }, body: long });
      request.socket.end();
    });
    const { stream } = await connect(server.url).open(`${server.url}/v.mp4`);
    const { socket } = await server.nextRequest();
    await closed(socket);
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

  it('closes its connection when it is aborted', async () => {
    const server = await serve((request) =>
      reply(request, { headers: { 'content-length': 100 }, body: VIDEO }),
    );
    const abort = new AbortController();
    const { stream } = await connect(server.url).open(`${server.url}/v.mp4`, { signal: abort.signal });
    const reading = buffer(stream);
    abort.abort(new Error('cancelled'));
    await expect(reading).rejects.toThrow('cancelled');
    const { socket } = await server.nextRequest();
    await closed(socket);
  });

  it.each([
    ['', '/v.mp4?a=1', '/v.mp4?a=1'],
    ['/video', '/v.mp4', '/v.mp4'],
    ['/video', 'files/v.mp4', '/video/files/v.mp4'],
    ['/video/', 'files/v.mp4', '/video/files/v.mp4'],
  ])('of a service at %j may be linked as %s', async (suffix, link, path) => {
    const server = await serve(sendVideo);
    expect(await text(connect(server.url + suffix), link)).toBe(VIDEO);
    expect(server.requests[0]?.line).toBe(`GET ${path} HTTP/1.1`);
  });
});

describe('a redirect', () => {
  /** Leads from /0 to /1, /2 and on to the last, which is the video. */
  const chainOf = (redirects: number) => (request: RawRequest) => {
    const step = Number(/\/(\d+) /.exec(request.line)?.[1]);
    if (step === redirects) sendVideo(request);
    else sendTo(`/${step + 1}`)(request);
  };

  it.each([1, 2, 5])('is followed %d times', async (redirects) => {
    const server = await serve(chainOf(redirects));
    expect(await text(connect(server.url), '/0')).toBe(VIDEO);
    expect(server.requests).toHaveLength(redirects + 1);
  });

  it('is not followed a sixth time', async () => {
    const server = await serve(chainOf(6));
    await expect(connect(server.url).open('/0')).rejects.toMatchObject({
      kind: 'answered',
      facts: { status: 302, message: 'moved' },
    });
    expect(server.requests).toHaveLength(6);
  });

  it.each([301, 302, 303, 307, 308])('may have the status %d', async (status) => {
    const server = await serve((request) =>
      request.line.includes('/v.mp4')
        ? sendVideo(request)
        : reply(request, { status, headers: { location: 'v.mp4?x=1' } }),
    );
    expect(await text(connect(server.url), '/a/b')).toBe(VIDEO);
    expect(server.requests[1]?.line).toBe('GET /a/v.mp4?x=1 HTTP/1.1');
  });

  it.each([
    ['to an invalid address', { location: 'http://[bad' }],
    ['to a file', { location: 'file:///etc/passwd' }],
    ['to data', { location: 'data:video/mp4;base64,AAAA' }],
    ['to nothing', {}],
  ])('%s is a refusal, and its body is not taken for the video', async (_where, headers) => {
    const server = await serve((request) => reply(request, { status: 302, headers, body: VIDEO }));
    await expect(connect(server.url).open('/v.mp4')).rejects.toMatchObject({
      kind: 'answered',
      facts: { status: 302 },
    });
    expect(server.requests).toHaveLength(1);
  });

  it('does not hold its connection for a body without an end', async () => {
    const server = await serve((request) => {
      if (request.line.includes('/v.mp4')) return sendVideo(request);
      const headers = { location: '/v.mp4', 'content-length': 10_000_000 };
      reply(request, { status: 302, headers, body: 'x'.repeat(1_000_000) });
    });
    expect(await text(connect(server.url), '/a')).toBe(VIDEO);
    const { socket } = await server.nextRequest();
    await closed(socket);
  });
});

describe('the API key', () => {
  it('is sent to the service’s own origin', async () => {
    const server = await serve(sendVideo);
    await text(connect(`${server.url}/prefix`), `${server.url}/v.mp4`);
    expect(keysSentTo(server)).toEqual([`Bearer ${KEY}`]);
  });

  it('is sent again after a redirect within that origin', async () => {
    const server = await serve((request) =>
      request.line.includes('/b') ? sendVideo(request) : sendTo('/b')(request),
    );
    await text(connect(server.url), '/a');
    expect(keysSentTo(server)).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`]);
  });

  it('is not sent to another origin, not even another port of the same machine', async () => {
    const service = await serve(sendVideo);
    const files = await serve(sendVideo);
    await text(connect(service.url), `${files.url}/v.mp4`);
    expect(keysSentTo(files)).toEqual([undefined]);
  });

  it('is not sent to another name of the same machine', async () => {
    const server = await serve(sendVideo);
    const service = connect(server.url, { downloadAllow: ['localhost'] });
    await text(service, `http://localhost:${server.port}/v.mp4`);
    expect(keysSentTo(server)).toEqual([undefined]);
  });

  it('is not sent where the service redirects to', async () => {
    const files = await serve(sendVideo);
    const service = await serve(sendTo(`${files.url}/v.mp4`));
    expect(await text(connect(service.url), '/v.mp4')).toBe(VIDEO);
    expect(keysSentTo(service)).toEqual([`Bearer ${KEY}`]);
    expect(keysSentTo(files)).toEqual([undefined]);
  });

  it('is not sent to the service when another origin redirects there', async () => {
    const service = await serve(sendVideo);
    const files = await serve(sendTo(`${service.url}/v1/videos/other`));
    expect(await text(connect(service.url), `${files.url}/v.mp4`)).toBe(VIDEO);
    expect(keysSentTo(files)).toEqual([undefined]);
    expect(keysSentTo(service)).toEqual([undefined]);
  });

  it('is in no header or path of a request to another origin, nor is anything else of the service', async () => {
    const files = await serve(sendVideo);
    await text(connect('http://127.0.0.1:9/base'), `${files.url}/v.mp4`);
    const { headers, line } = await files.nextRequest();
    expect(line).toBe('GET /v.mp4 HTTP/1.1');
    expect(Object.keys(headers).sort()).toEqual(['accept-encoding', 'connection', 'host']);
  });
});

it('the signature of a refused link is redacted when the storage quotes it', async () => {
  const server = await serve((request) =>
    reply(request, {
      status: 403,
      headers: { 'content-type': 'application/xml' },
      body: '<Error><Code>SignatureDoesNotMatch</Code><SignatureProvided>abc/defgh=</SignatureProvided></Error>',
    }),
  );
  const refused = connect(server.url).open('/v.mp4?X-Signature=abc%2Fdefgh%3D&e=1');
  await expect(refused).rejects.toMatchObject({
    facts: {
      status: 403,
      message: '<Error><Code>SignatureDoesNotMatch</Code><SignatureProvided>…=</SignatureProvided></Error>',
    },
  });
});
