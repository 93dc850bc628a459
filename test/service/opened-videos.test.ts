import { randomBytes } from 'node:crypto';
import dns, { type LookupAddress } from 'node:dns';
import { connect as connectSocket, type LookupFunction } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { ResumePoint, VideoService } from '../../src/service';
import { checkedLookup } from '../../src/service/guarded-connector';
import { whyNotPublic } from '../../src/service/public-address';
import { closed, type RawRequest, type RawServer, type Reply, reply } from './raw-server';
import {
  connect,
  ELSEWHERE,
  faultOf,
  KEY,
  linesOf,
  redirectTo,
  sendVideo,
  serve,
  VIDEO,
} from './service-world';

/** Another service, which allows links without TLS because it has none. */
const PLAIN = 'http://api.example.com';

afterEach(() => jest.restoreAllMocks());

async function serveVideo(answer: (request: RawRequest) => void = sendVideo) {
  let connections = 0;
  const server = await serve(answer, () => connections++);
  return { ...server, service: connect(server.url), connections: () => connections };
}

const text = async (service: VideoService, link: string, from?: ResumePoint) =>
  (await buffer((await service.open(link, { from })).stream)).toString();
const kindOf = async (service: VideoService, link: string) => (await faultOf(service.open(link))).kind;
const keysSentTo = ({ requests }: RawServer) => requests.map(({ headers }) => headers.authorization);

describe('an opened video', () => {
  it('has its bytes, its type and its length, and its link may be relative to the service', async () => {
    const server = await serve(sendVideo);
    const service = connect(`${server.url}/video`);
    for (const link of [`${server.url}/v.mp4?signature=a%2Fb`, '/v.mp4', 'files/v.mp4']) {
      const video = await service.open(link);
      expect(video).toMatchObject({ contentType: 'video/mp4', bytes: VIDEO.length });
      expect((await buffer(video.stream)).toString()).toBe(VIDEO);
    }
    expect(linesOf(server)).toEqual([
      'GET /v.mp4?signature=a%2Fb HTTP/1.1',
      'GET /v.mp4 HTTP/1.1',
      'GET /video/files/v.mp4 HTTP/1.1',
    ]);
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

  it('that is encoded is unreadable', async () => {
    const headers = { 'content-encoding': 'gzip', 'content-length': VIDEO.length + 1 };
    const server = await serveVideo((request) => reply(request, { headers, body: VIDEO }));
    expect(await faultOf(server.service.open('/v.mp4'))).toMatchObject({
      kind: 'unreadable',
      facts: { status: 200, message: 'the video is encoded as gzip, which was not requested' },
    });
    await closed((await server.nextRequest()).socket);
  });
});

describe('a redirect', () => {
  const STATUSES = [301, 302, 303, 307, 308];

  /** Leads from /a/0 to /a/1, /a/2 and on to the last, which is the video. */
  const chainOf = (redirects: number) => (request: RawRequest) => {
    const step = Number(/\/(\d+)\?/.exec(request.line)?.[1]);
    const location = `${step + 1}?x=1`;
    if (step === redirects) sendVideo(request);
    else reply(request, { status: STATUSES[step] ?? 302, headers: { location }, body: 'moved' });
  };

  it('is followed five times, whatever its status, and not a sixth time', async () => {
    const five = await serveVideo(chainOf(STATUSES.length));
    expect(await text(five.service, '/a/0?x=1')).toBe(VIDEO);
    expect(linesOf(five).at(-1)).toBe('GET /a/5?x=1 HTTP/1.1');
    const six = await serveVideo(chainOf(6));
    expect(await faultOf(six.service.open('/a/0?x=1'))).toMatchObject({
      kind: 'answered',
      facts: { status: 302, message: 'moved' },
    });
    expect(six.requests).toHaveLength(6);
  });

  it.each([
    ['an invalid address', { location: 'http://[bad' }],
    ['a file', { location: 'file:///etc/passwd' }],
    ['a protocol of another name', { location: 'shttp://127.0.0.1/v.mp4' }],
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

  it('is not sent to another port or another name of the same machine, nor is the password of a link', async () => {
    const [server, files] = [await serve(sendVideo), await serve(sendVideo)];
    const service = connect(server.url, { downloadAllow: ['localhost'] });
    expect(await text(service, `${files.url}/v.mp4`)).toBe(VIDEO);
    expect(await text(service, `http://name:password@localhost:${server.port}/v.mp4`)).toBe(VIDEO);
    expect([keysSentTo(files), keysSentTo(server)]).toEqual([[undefined], [undefined]]);
  });

  it('is in no header or path of what the service redirects to, even if that leads back to the service', async () => {
    const server = await serve((request) =>
      request.line.includes('/back')
        ? sendVideo(request)
        : redirectTo(`http://name:password@127.0.0.1:${files.port}/v.mp4`)(request),
    );
    const files = await serve(redirectTo(`${server.url}/back`));
    const profile = { auth: { header: 'X-Api-Key', scheme: '' }, headers: { 'X-Version': '7' } };
    expect(await text(connect(`${server.url}/base`, { profile }), `${server.url}/v.mp4`)).toBe(VIDEO);
    const [first, back] = server.requests;
    expect(first?.headers).toMatchObject({ 'x-api-key': KEY, 'x-version': '7' });
    expect(linesOf(files)).toEqual(['GET /v.mp4 HTTP/1.1']);
    for (const { headers = {} } of [files.requests[0] ?? {}, back ?? {}])
      expect(Object.keys(headers).sort()).toEqual(['accept-encoding', 'connection', 'host']);
  });
});

it('the signature of a refused link is redacted when the storage quotes it, and no Location is followed', async () => {
  const { service } = await serveVideo((request) =>
    reply(request, {
      status: 403,
      headers: { 'content-type': 'application/xml', 'retry-after': 7, location: '/elsewhere' },
      body: '<Error><Key>aB3cD4eF5gH6iJ7kL8</Key><SignatureProvided>abc/defgh=</SignatureProvided></Error>',
    }),
  );
  const link = '/v;aB3cD4eF5gH6iJ7kL8.mp4?X-Signature=abc%2Fdefgh%3D&e=1';
  expect((await faultOf(service.open(link))).facts).toMatchObject({
    status: 403,
    message: '<Error><Key>…</Key><SignatureProvided>…=</SignatureProvided></Error>',
    retryAfterMs: 7_000,
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

  it.each<[how: string, answer: (request: RawRequest) => void]>([
    ['with all its headers', ranged(rest)],
    [
      'without an ETag, said to be encoded as Identity, which is no encoding',
      ranged({ ...rest, headers: { 'content-range': RANGE, 'content-encoding': 'Identity' } }),
    ],
    [
      'without Content-Length',
      ({ socket }) => socket.end(`HTTP/1.1 206 Partial\r\ncontent-range: ${RANGE}\r\n\r\n${REST}`),
    ],
  ])('is requested with the validator of the stored bytes, and may come %s', async (_how, answer) => {
    const { service, requests } = await serveVideo(answer);
    const { stream, ...video } = await service.open('/v.mp4', { from: FROM });
    expect(video).toEqual({ offset: OFFSET, bytes: VIDEO.length, validator: TAG });
    expect((await buffer(stream)).toString()).toBe(REST);
    expect(rangesOf({ requests })).toEqual([['bytes=4-', TAG]]);
    expect(requests[0]?.headers['accept-encoding']).toBe('identity');
  });

  it('is requested in the same way after a redirect', async () => {
    const { service, requests } = await serveVideo((request) =>
      request.line.includes('/a') ? redirectTo('/v.mp4')(request) : reply(request, rest),
    );
    expect(await text(service, '/a', FROM)).toBe(REST);
    expect(rangesOf({ requests })).toEqual(Array(2).fill(['bytes=4-', TAG]));
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
    ['begins later', withHeaders(rest, { 'content-range': 'bytes 5-19/20' })],
    ['ends before the end', withHeaders(rest, { 'content-range': 'bytes 4-18/20' })],
    ['does not say how long the whole is', withHeaders(rest, { 'content-range': 'bytes 4-19/*' })],
    ['is of another video', withHeaders(rest, { etag: '"v2"' })],
    ['is longer than the rest', withHeaders(rest, { 'content-length': 10_000_000 })],
    ['is empty', { ...withHeaders(rest, { 'content-range': 'bytes 4-3/4' }), body: '' }],
    ['counts in another unit', withHeaders(rest, { 'content-range': `kilo${RANGE}` })],
    ['has more after its range', withHeaders(rest, { 'content-range': `${RANGE}0/2` })],
    ['is encoded', withHeaders(rest, { 'content-encoding': 'gzip' })],
    ['is in several parts', withHeaders(rest, { 'content-type': 'multipart/byteranges; boundary=x' })],
    ['is refused as beyond the end', { ...rest, status: 416 }],
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
    ['a validator with a header in it', { offset: 4, validator: '"v"\r\nx: y' }],
  ])('from %s is not requested: the whole video is', async (_where, from) => {
    const { service, requests } = await serveVideo(ranged(rest));
    expect(await text(service, '/v.mp4', from)).toBe(VIDEO);
    expect(rangesOf({ requests })).toEqual([[undefined, undefined]]);
  });

  it('can be requested later by a strong ETag, and not by a weak one or a date', async () => {
    const date = 'Thu, 01 Jan 2026 12:00:01 GMT';
    const tags = [TAG, `W/${TAG}`];
    const { service } = await serveVideo((request) =>
      reply(request, { headers: { etag: tags.shift() ?? '', date, 'last-modified': date }, body: VIDEO }),
    );
    for (const validator of [TAG, undefined]) {
      const video = await service.open('/v.mp4');
      expect(video).toMatchObject({ offset: 0, bytes: VIDEO.length });
      expect(video.validator).toBe(validator);
      video.stream.resume();
    }
  });
});

describe('a link to an address that is not public', () => {
  const ADD_IT =
    'add the host to VIDEOGEN_DOWNLOAD_ALLOW, or to downloadAllow of the service, if videos really come from there';

  it.each([
    ['127.0.0.1', '127.0.0.1', 'loopback'],
    ['0x7f.1', '127.0.0.1', 'loopback'],
    ['[::ffff:127.0.0.1]', '::ffff:7f00:1', 'loopback'],
    ['user:password@10.1.2.3', '10.1.2.3', 'private'],
  ])('is refused without a connection: %s', async (host, address, kind) => {
    const server = await serveVideo();
    const link = `http://${host}:${server.port}/secret/v.mp4?signature=abcdefgh`;
    expect(await faultOf(connect(PLAIN).open(link))).toMatchObject({
      kind: 'not-allowed',
      facts: { message: `the link leads to ${address}, a ${kind} address: ${ADD_IT}` },
    });
    expect(server.connections()).toBe(0);
  });

  it('is refused by the address that its name resolves to, at the second redirect too', async () => {
    const inside = await serveVideo();
    const link = `http://localhost:${inside.port}/secret/v.mp4?signature=abcdefgh`;
    const second = await serve(redirectTo(link));
    const first = await serve(redirectTo(`${second.url}/v.mp4`));
    for (const opening of [connect(PLAIN).open(link), connect(first.url).open('/v.mp4')]) {
      const { kind, facts } = await faultOf(opening);
      expect(kind).toBe('not-allowed');
      expect(facts.message).toMatch(
        /^the link leads to (127\.0\.0\.1|::1) \(localhost\), a loopback address: /,
      );
      expect(facts.message).not.toMatch(/secret|signature|abcdefgh/);
    }
    expect(second.requests).toHaveLength(1);
    expect(inside.connections()).toBe(0);
  });

  it.each([
    ['LocalHost', 'localhost'],
    ['[::ffff:127.0.0.1]', '[::ffff:127.0.0.1]'],
    ['0:0:0:0:0:FFFF:7f00:0001', '[::ffff:127.0.0.1]'],
  ])('is opened when %s is allowed and the link names %s', async (allowed, host) => {
    const files = await serve(sendVideo);
    const service = connect(PLAIN, { downloadAllow: ['other.example.com', allowed] });
    expect(await text(service, `http://${host}:${files.port}/v.mp4`)).toBe(VIDEO);
  });

  it.each(['ocalhost', '*', 'localhost.', '127.0.0.1'])(
    'is refused when it names localhost and only %j is allowed',
    async (allowed) => {
      const files = await serveVideo();
      const service = connect(PLAIN, { downloadAllow: [allowed] });
      expect(await kindOf(service, `http://localhost:${files.port}/v.mp4`)).toBe('not-allowed');
      expect(files.connections()).toBe(0);
    },
  );
});

describe('a link that is not https', () => {
  const refused = {
    kind: 'not-allowed',
    facts: {
      message:
        'the link is not https: add cdn.example.com to VIDEOGEN_DOWNLOAD_ALLOW, or to downloadAllow of the service, if videos may come from there unencrypted',
    },
  };

  it('is refused when the service itself uses https, also as a redirect', async () => {
    const service = connect(ELSEWHERE, { downloadAllow: ['127.0.0.1'] });
    const link = 'http://cdn.example.com/v.mp4?signature=abcdefgh';
    expect(await faultOf(service.open(link))).toMatchObject(refused);
    expect(await kindOf(service, 'http://api.example.com/v.mp4')).toBe('not-allowed');
    const files = await serve(redirectTo(link));
    expect(await faultOf(service.open(`${files.url}/v.mp4`))).toMatchObject(refused);
  });

  it('is refused without the key in its host', async () => {
    const { facts } = await faultOf(connect(ELSEWHERE).open(`http://${KEY}.example.com/v.mp4`));
    expect(facts.message).toContain('the link is not https: add ….example.com to VIDEOGEN_DOWNLOAD_ALLOW');
  });

  it('nor http is refused in any case', async () => {
    const service = connect('http://127.0.0.1', { downloadAllow: ['127.0.0.1'] });
    for (const link of ['data:video/mp4;base64,AAAA', 'ftp://127.0.0.1/v.mp4'])
      expect(await kindOf(service, link)).toBe('not-allowed');
  });
});

describe('a host name is checked by the addresses of the same DNS answer that is connected to', () => {
  /** Gives the answers in turn, and then the last one again. */
  function resolver(...answers: string[][]): LookupFunction & { lookups(): number } {
    let lookups = 0;
    const lookup: LookupFunction = (_hostname, options, callback) => {
      const answer = answers[Math.min(lookups++, answers.length - 1)] ?? [];
      const found: LookupAddress[] = answer.map((address) => ({
        address,
        family: address.includes(':') ? 6 : 4,
      }));
      setImmediate(() => {
        if (options.all) callback(null, found);
        else callback(null, found[0]?.address ?? '', found[0]?.family);
      });
    };
    return Object.assign(lookup, { lookups: () => lookups });
  }

  it('and refused when the last of its addresses is bad', async () => {
    const server = await serveVideo();
    const lookup = resolver(['93.184.215.14', '2606:4700::1111', '::ffff:127.0.0.1']);
    jest.spyOn(dns, 'lookup').mockImplementation(lookup as unknown as typeof dns.lookup);
    const { kind, facts } = await faultOf(connect(PLAIN).open(`http://cdn.example.com:${server.port}/v.mp4`));
    expect(kind).toBe('not-allowed');
    expect(facts.message).toContain('leads to ::ffff:127.0.0.1 (cdn.example.com), a loopback address');
    expect([lookup.lookups(), server.connections()]).toEqual([1, 0]);
  });

  it.each([true, false])(
    'so DNS rebinding gains nothing (several addresses at once: %s)',
    async (autoSelectFamily) => {
      const server = await serveVideo();
      // 127.0.0.2 stands for a public address: nothing listens there, and no packet leaves the machine.
      const lookup = resolver(['127.0.0.2'], ['127.0.0.1']);
      const checked: string[] = [];
      const check = (address: string) => {
        checked.push(address);
        return address === '127.0.0.1' ? new Error('refused') : undefined;
      };
      const connecting = new Promise((_resolve, reject) => {
        const options = { host: 'rebinding.example.com', port: server.port, autoSelectFamily };
        const socket = connectSocket({ ...options, lookup: checkedLookup(lookup, check) });
        socket.on('error', reject).on('connect', () => socket.destroy(new Error('connected')));
      });
      await expect(connecting).rejects.toMatchObject({ code: 'ECONNREFUSED', address: '127.0.0.2' });
      expect(checked).toEqual(['127.0.0.2']);
      expect([lookup.lookups(), server.connections()]).toEqual([1, 0]);
    },
  );
});

/** `127.0.0.1` as `7f00:1`. */
function hexadecimal(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return [a * 256 + b, c * 256 + d].map((half) => half.toString(16)).join(':');
}

/** The first and the last address of each range, and what it is. */
it.each([
  ['0.0.0.0', '0.255.255.255', 'reserved'],
  ['10.0.0.0', '10.255.255.255', 'private'],
  // Alibaba's metadata service is there.
  ['100.64.0.0', '100.127.255.255', 'private'],
  ['127.0.0.0', '127.255.255.255', 'loopback'],
  // Azure's metadata service.
  ['168.63.129.16', '168.63.129.16', 'metadata'],
  ['169.254.0.0', '169.254.255.255', 'link-local'],
  ['172.16.0.0', '172.31.255.255', 'private'],
  ['192.0.0.0', '192.0.0.255', 'reserved'],
  ['192.0.2.0', '192.0.2.255', 'documentation'],
  ['192.88.99.0', '192.88.99.255', 'reserved'],
  ['192.168.0.0', '192.168.255.255', 'private'],
  ['198.18.0.0', '198.19.255.255', 'benchmarking'],
  ['198.51.100.0', '198.51.100.255', 'documentation'],
  ['203.0.113.0', '203.0.113.255', 'documentation'],
  ['224.0.0.0', '239.255.255.255', 'multicast'],
  ['240.0.0.0', '255.255.255.255', 'reserved'],
])('from %s to %s an address is %s, also in its IPv6 forms', (first, last, kind) => {
  for (const address of [first, last]) {
    expect(whyNotPublic(address)).toBe(kind);
    expect(whyNotPublic(`::ffff:${address}`)).toBe(kind);
    expect(whyNotPublic(`::ffff:${hexadecimal(address)}`)).toBe(kind);
    expect(whyNotPublic(`64:ff9b::${address}`)).toBe(kind);
    expect(whyNotPublic(`64:ff9b::${hexadecimal(address)}`)).toBe(kind);
    expect(whyNotPublic(`2002:${hexadecimal(address)}::1`)).toBe('tunnel');
    expect(whyNotPublic(`::${address}`)).toBeDefined();
    expect(whyNotPublic(`::ffff:0:${address}`)).toBe('reserved');
  }
});

/** The addresses right before and right after those ranges. */
it.each([
  ...['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ...['128.0.0.0', '168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0', '172.15.255.255'],
  ...['172.32.0.0', '191.255.255.255', '192.0.1.0', '192.0.3.0', '192.88.98.255', '192.88.100.0'],
  ...['192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '198.51.99.255', '198.51.101.0'],
  ...['203.0.112.255', '203.0.114.0', '223.255.255.255'],
])('%s is public, also in its IPv6 forms', (address) => {
  expect(whyNotPublic(address)).toBeUndefined();
  expect(whyNotPublic(`::ffff:${address}`)).toBeUndefined();
  expect(whyNotPublic(`64:ff9b::${address}`)).toBeUndefined();
});

it.each<[kind: string | undefined, addresses: string[]]>([
  ['loopback', ['::1', '0:0:0:0:0:0:0:1']],
  ['tunnel', ['2001::1', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff', '2002::', '2002:ffff::']],
  ['documentation', ['2001:db8::', '2001:db8:ffff::', '3fff::', '3fff:fff:ffff::']],
  ['private', ['fc00::', 'fd00:ec2::254', 'fdff:ffff::']],
  ['link-local', ['fe80::1', 'febf:ffff::', 'fec0::1']],
  ['multicast', ['ff02::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff']],
  [
    'reserved',
    [
      ...['::', '::2', '64:ff9a:ffff::', '64:ff9b:0:0:0:1::', '64:ff9b:1::1', '100::1', '1fff:ffff::'],
      ...['2001:1::', '2001:2::1', '2001:1ff:ffff::', '4000::', '5f00::1', 'fbff:ffff::', 'fe00::'],
    ],
  ],
  [
    undefined,
    [
      ...['2000::', '2001:200::', '2001:4860:4860::8888', '2001:db7:ffff::', '2001:db9::', '2003::'],
      ...['2606:4700::1111', '3ffe:ffff::', '3fff:1000::'],
    ],
  ],
])('an IPv6 address may be %s: %j', (kind, addresses) => {
  for (const address of addresses) expect([address, whyNotPublic(address)]).toEqual([address, kind]);
});
