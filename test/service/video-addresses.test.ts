import type { LookupAddress } from 'node:dns';
import { connect as connectSocket, type LookupFunction } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Agent } from 'undici';
import { NO_SECRETS } from '../../src/contract/redact';
import type { VideoService } from '../../src/service';
import { callService } from '../../src/service/call-service';
import { checkedLookup, createGuardedConnector } from '../../src/service/guarded-connector';
import { whyNotPublic } from '../../src/service/public-address';
import type { RawRequest, RawServer } from './raw-server';
import {
  closeAfterTest,
  connect,
  ELSEWHERE,
  faultOf,
  linesOf,
  redirectTo,
  sendVideo,
  serve,
  VIDEO,
} from './service-world';

/** Another service, which allows links without TLS because it has none. */
const PLAIN = 'http://api.example.com';
const ADD_IT =
  'add the host to VIDEOGEN_DOWNLOAD_ALLOW, or to downloadAllow of the service, if videos really come from there';

async function serveCounted(
  answer: (request: RawRequest) => void = sendVideo,
): Promise<RawServer & { connections(): number }> {
  let connections = 0;
  return { ...(await serve(answer, () => connections++)), connections: () => connections };
}

const text = async (service: VideoService, link: string) =>
  (await buffer((await service.open(link)).stream)).toString();
const kindOf = async (service: VideoService, link: string) => (await faultOf(service.open(link))).kind;

describe('a link to an address that is not public', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1', 'loopback'],
    ['0x7f.1', '127.0.0.1', 'loopback'],
    ['0', '0.0.0.0', 'reserved'],
    ['[::1]', '::1', 'loopback'],
    ['[::ffff:127.0.0.1]', '::ffff:7f00:1', 'loopback'],
    ['[64:ff9b::127.0.0.1]', '64:ff9b::7f00:1', 'loopback'],
    ['169.254.169.254', '169.254.169.254', 'link-local'],
    ['user:password@10.1.2.3', '10.1.2.3', 'private'],
  ])('is refused without a connection: %s', async (host, address, kind) => {
    const server = await serveCounted();
    const link = `http://${host}:${server.port}/secret/v.mp4?signature=abcdefgh`;
    expect(await faultOf(connect(PLAIN).open(link))).toMatchObject({
      kind: 'not-allowed',
      facts: { message: `the link leads to ${address}, a ${kind} address: ${ADD_IT}` },
    });
    expect(server.connections()).toBe(0);
  });

  it('is refused by the address that its name resolves to', async () => {
    const server = await serveCounted();
    const link = `http://localhost:${server.port}/secret/v.mp4?signature=abcdefgh`;
    const { kind, facts } = await faultOf(connect(PLAIN).open(link));
    expect(kind).toBe('not-allowed');
    expect(facts.message).toMatch(
      /^the link leads to (127\.0\.0\.1|::1) \(localhost\), a loopback address: /,
    );
    expect(facts.message).not.toMatch(/secret|signature|abcdefgh/);
    expect(server.connections()).toBe(0);
  });

  it.each(['localhost', '[::ffff:127.0.0.1]'])('is refused at the second redirect too: %s', async (host) => {
    const inside = await serveCounted();
    const second = await serve(redirectTo(`http://${host}:${inside.port}/latest/meta-data`));
    const first = await serve(redirectTo(`${second.url}/v.mp4`));
    expect(await kindOf(connect(first.url), '/v.mp4')).toBe('not-allowed');
    expect(second.requests).toHaveLength(1);
    expect(inside.connections()).toBe(0);
  });
});

describe('a video may come from an address that is not public', () => {
  it('when its host is that of the service, at any port', async () => {
    const [service, files] = [await serve(), await serve(sendVideo)];
    expect(await text(connect(service.url), `${files.url}/v.mp4`)).toBe(VIDEO);
  });

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['LocalHost', 'localhost'],
    ['localhost', 'LOCALHOST'],
    ...['::ffff:127.0.0.1', '[::ffff:127.0.0.1]', '::FFFF:7f00:1', '0:0:0:0:0:ffff:7f00:0001'].map(
      (allowed) => [allowed, '[::ffff:127.0.0.1]'],
    ),
  ])('when %s is allowed and the link names %s', async (allowed, host) => {
    const files = await serve(sendVideo);
    const service = connect(PLAIN, { downloadAllow: ['other.example.com', `${allowed}`] });
    expect(await text(service, `http://${host}:${files.port}/v.mp4`)).toBe(VIDEO);
  });

  it.each(['example.com', 'ocalhost', '*', '*host', 'localhost.', '127.0.0.1', ''])(
    'but not localhost when %j is allowed',
    async (allowed) => {
      const files = await serveCounted();
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

  it.each([
    ['http://sk-very-secret-0123.example.com/v.mp4', 'add ….example.com to'],
    ['foo://c2stdmVyeS1zZWNyZXQtMDEyMw/v.mp4', 'add …w to'],
  ])('is refused without the key in its host: %.60s', async (link, added) => {
    const service = connect(ELSEWHERE, { apiKey: () => 'sk-very-secret-0123' });
    expect((await faultOf(service.open(link))).facts.message).toContain(
      `the link is not https: ${added} VIDEOGEN_DOWNLOAD_ALLOW`,
    );
  });

  it.each(['file:///etc/passwd', 'data:video/mp4;base64,AAAA', 'ftp://127.0.0.1/v.mp4'])(
    'nor http is refused: %s',
    async (link) => {
      const service = connect('http://127.0.0.1', { downloadAllow: ['127.0.0.1'] });
      expect(await kindOf(service, link)).toBe('not-allowed');
    },
  );
});

it('a user name and password in a link or a redirect are not sent', async () => {
  const files = await serve((request) =>
    request.line.includes('/b')
      ? sendVideo(request)
      : redirectTo(`http://name:password@127.0.0.1:${files.port}/b`)(request),
  );
  const service = connect(PLAIN, { downloadAllow: ['127.0.0.1'] });
  expect(await text(service, `http://name:password@127.0.0.1:${files.port}/a`)).toBe(VIDEO);
  expect(linesOf(files)).toEqual(['GET /a HTTP/1.1', 'GET /b HTTP/1.1']);
  for (const { headers } of files.requests) expect(headers).not.toHaveProperty('authorization');
});

describe('a host name is checked by the addresses of the same DNS answer that is connected to', () => {
  const PUBLIC = '93.184.215.14';

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

  function ask(lookup: LookupFunction, port: number, secrets = NO_SECRETS) {
    const describe = (target: string, kind: string) => `the link leads to ${target}, a ${kind} address`;
    const connect = createGuardedConnector({ timeout: 1_000, mayBePrivate: () => false, describe, lookup });
    const dispatcher = closeAfterTest(new Agent({ connect }));
    const origin = `http://cdn.example.com:${port}`;
    return faultOf(callService(dispatcher, { method: 'GET', path: '/', secrets, origin }));
  }

  it.each([
    ['the only one', ['127.0.0.1'], '127.0.0.1'],
    ['the last', [PUBLIC, '2606:4700::1111', '127.0.0.1'], '127.0.0.1'],
    ['a mapped one', [PUBLIC, '::ffff:127.0.0.1'], '::ffff:127.0.0.1'],
  ])('and refused when %s of its addresses is bad', async (_which, addresses, bad) => {
    const server = await serveCounted();
    const lookup = resolver(addresses);
    expect(await ask(lookup, server.port)).toMatchObject({
      kind: 'not-allowed',
      facts: { message: `the link leads to ${bad} (cdn.example.com), a loopback address` },
    });
    expect([lookup.lookups(), server.connections()]).toEqual([1, 0]);
  });

  it.each([true, false])(
    'so DNS rebinding gains nothing (several addresses at once: %s)',
    async (autoSelectFamily) => {
      const server = await serveCounted();
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
  ...[
    '1.0.0.0',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
  ],
  ...['168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
  ...['191.255.255.255', '192.0.1.0', '192.0.3.0', '192.88.98.255', '192.88.100.0', '192.167.255.255'],
  ...['192.169.0.0', '198.17.255.255', '198.20.0.0', '198.51.99.255', '198.51.101.0', '203.0.112.255'],
  ...['203.0.114.0', '223.255.255.255'],
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

/** `127.0.0.1` as `7f00:1`. */
function hexadecimal(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return [a * 256 + b, c * 256 + d].map((half) => half.toString(16)).join(':');
}
