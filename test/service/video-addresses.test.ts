import type { LookupAddress } from 'node:dns';
import { connect as connectSocket, type LookupFunction } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Agent } from 'undici';
import { NO_SECRETS } from '../../src/contract/redact';
import { createVideoService, type VideoService, type VideoServiceOptions } from '../../src/service';
import { callService } from '../../src/service/call-service';
import { checkedLookup, createGuardedConnector } from '../../src/service/guarded-connector';
import { type RawRequest, type RawServer, reply, startRawServer } from './raw-server';

const VIDEO = 'the bytes of a video';
const ADD_IT =
  'add the host to VIDEOGEN_DOWNLOAD_ALLOW, or to downloadAllow of the service, if videos really come from there';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

interface CountingServer extends RawServer {
  connections(): number;
}

async function serve(
  answer: (request: RawRequest) => void = (request) => reply(request, { body: VIDEO }),
): Promise<CountingServer> {
  let connections = 0;
  const server = await startRawServer(answer, { onConnection: () => connections++ });
  opened.push(server);
  return { ...server, connections: () => connections };
}

function connect(options: Partial<VideoServiceOptions>): VideoService {
  const service = createVideoService({ baseUrl: 'http://api.example.com', apiKey: () => 'key', ...options });
  opened.push(service);
  return service;
}

const text = async (service: VideoService, link: string) =>
  (await buffer((await service.open(link)).stream)).toString();
const sendTo = (location: string) => (request: RawRequest) =>
  reply(request, { status: 302, headers: { location } });

describe('a link to an address that is not public', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1', 'loopback'],
    ['2130706433', '127.0.0.1', 'loopback'],
    ['0x7f.1', '127.0.0.1', 'loopback'],
    ['0177.0.0.1', '127.0.0.1', 'loopback'],
    ['①②⑦.0.0.1', '127.0.0.1', 'loopback'],
    ['0', '0.0.0.0', 'reserved'],
    ['[::]', '::', 'reserved'],
    ['[::1]', '::1', 'loopback'],
    ['[::ffff:127.0.0.1]', '::ffff:7f00:1', 'loopback'],
    ['[::ffff:7f00:1]', '::ffff:7f00:1', 'loopback'],
    ['[64:ff9b::127.0.0.1]', '64:ff9b::7f00:1', 'loopback'],
    ['169.254.169.254', '169.254.169.254', 'link-local'],
    ['user:password@10.1.2.3', '10.1.2.3', 'private'],
  ])('is refused without a connection: %s', async (host, address, kind) => {
    const server = await serve();
    const opening = connect({}).open(`http://${host}:${server.port}/secret/v.mp4?signature=abcdefgh`);
    await expect(opening).rejects.toMatchObject({
      name: 'ServiceFault',
      kind: 'not-allowed',
      facts: { message: `the link leads to ${address}, a ${kind} address: ${ADD_IT}` },
    });
    expect(server.connections()).toBe(0);
  });

  it('is refused by the address that its name resolves to', async () => {
    const server = await serve();
    const opening = connect({}).open(`http://localhost:${server.port}/secret/v.mp4?signature=abcdefgh`);
    await expect(opening).rejects.toMatchObject({
      kind: 'not-allowed',
      facts: {
        message: expect.stringMatching(
          /^the link leads to (127\.0\.0\.1|::1) \(localhost\), a loopback address: /,
        ),
      },
    });
    await expect(opening).rejects.not.toThrow(/secret|signature|abcdefgh/);
    expect(server.connections()).toBe(0);
  });

  it('is refused with https too', async () => {
    const server = await serve();
    const service = connect({ baseUrl: 'https://api.example.com' });
    for (const host of ['127.0.0.1', 'localhost']) {
      const opening = service.open(`https://${host}:${server.port}/v.mp4`);
      await expect(opening).rejects.toMatchObject({ kind: 'not-allowed' });
    }
    expect(server.connections()).toBe(0);
  });

  it('is refused every time, also for several calls at once', async () => {
    const service = connect({});
    const openings = [1, 2, 3].map(() => service.open('http://10.1.2.3/v.mp4'));
    for (const opening of openings) await expect(opening).rejects.toMatchObject({ kind: 'not-allowed' });
    await expect(service.open('http://10.1.2.3/v.mp4')).rejects.toMatchObject({ kind: 'not-allowed' });
  });

  it('is refused when the service itself redirects there', async () => {
    const inside = await serve();
    const service = await serve(sendTo(`http://localhost:${inside.port}/latest/meta-data`));
    await expect(connect({ baseUrl: service.url }).open('/v.mp4')).rejects.toMatchObject({
      kind: 'not-allowed',
    });
    expect(inside.connections()).toBe(0);
  });

  it('is refused at the second redirect too', async () => {
    const inside = await serve();
    const second = await serve(sendTo(`http://[::ffff:127.0.0.1]:${inside.port}/v.mp4`));
    const first = await serve(sendTo(`${second.url}/v.mp4`));
    await expect(connect({ baseUrl: first.url }).open('/v.mp4')).rejects.toMatchObject({
      kind: 'not-allowed',
    });
    expect(second.requests).toHaveLength(1);
    expect(inside.connections()).toBe(0);
  });
});

describe('a video may come from an address that is not public', () => {
  it('when its host is that of the service, at any port', async () => {
    const [service, files] = [await serve(), await serve()];
    expect(await text(connect({ baseUrl: service.url }), `${files.url}/v.mp4`)).toBe(VIDEO);
  });

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['localhost', 'localhost'],
    ['LocalHost', 'localhost'],
    ['localhost', 'LOCALHOST'],
  ])('when %s is allowed and the link names %s', async (allowed, host) => {
    const files = await serve();
    const service = connect({ downloadAllow: ['other.example.com', allowed] });
    expect(await text(service, `http://${host}:${files.port}/v.mp4`)).toBe(VIDEO);
  });

  it.each(['::ffff:127.0.0.1', '[::ffff:127.0.0.1]', '::FFFF:7f00:1', '0:0:0:0:0:ffff:7f00:0001'])(
    'when its IPv6 address is allowed as %s',
    async (allowed) => {
      const files = await serve();
      const service = connect({ downloadAllow: [allowed] });
      expect(await text(service, `http://[::ffff:127.0.0.1]:${files.port}/v.mp4`)).toBe(VIDEO);
    },
  );

  it.each(['example.com', 'ocalhost', '*', '*host', 'localhost.', '127.0.0.1', ''])(
    'but not localhost when %j is allowed',
    async (allowed) => {
      const files = await serve();
      const opening = connect({ downloadAllow: [allowed] }).open(`http://localhost:${files.port}/v.mp4`);
      await expect(opening).rejects.toMatchObject({ kind: 'not-allowed' });
      expect(files.connections()).toBe(0);
    },
  );

  it('and the service itself may be at any address', async () => {
    const service = await serve((request) => reply(request, { body: '{"status":"running"}' }));
    const reading = await connect({ baseUrl: `http://localhost:${service.port}` }).status('t');
    expect(reading.task.state).toBe('running');
  });
});

describe('a link that is not https', () => {
  const refused = {
    kind: 'not-allowed',
    facts: {
      message:
        'the link is not https: add cdn.example.com to VIDEOGEN_DOWNLOAD_ALLOW, or to downloadAllow of the service, if videos may come from there unencrypted',
    },
  };

  it('is refused when the service itself uses https', async () => {
    const service = connect({ baseUrl: 'https://api.example.com' });
    await expect(service.open('http://cdn.example.com/v.mp4?signature=abcdefgh')).rejects.toMatchObject(
      refused,
    );
    await expect(service.open('http://api.example.com/v.mp4')).rejects.toMatchObject({
      kind: 'not-allowed',
    });
  });

  it.each([
    ['http://sk-very-secret-0123.example.com/v.mp4', 'add ….example.com to'],
    ['foo://c2stdmVyeS1zZWNyZXQtMDEyMw/v.mp4', 'add …w to'],
  ])('is refused without the key in its host: %.60s', async (link, added) => {
    const service = connect({ baseUrl: 'https://api.example.com', apiKey: () => 'sk-very-secret-0123' });
    await expect(service.open(link)).rejects.toMatchObject({
      kind: 'not-allowed',
      facts: { message: expect.stringContaining(`the link is not https: ${added} VIDEOGEN_DOWNLOAD_ALLOW`) },
    });
  });

  it('is refused without all of a long host', async () => {
    const opening = connect({}).open(`foo://${'x'.repeat(100_000)}/v.mp4`);
    const message = await opening.then(String, String);
    expect(message).toMatch(/the link is not https: add x+… to VIDEOGEN_DOWNLOAD_ALLOW/);
    expect(message.length).toBeLessThan(1_000);
  });

  it('is followed when its host is allowed', async () => {
    const files = await serve();
    const service = connect({ baseUrl: 'https://api.example.com', downloadAllow: ['127.0.0.1'] });
    expect(await text(service, `${files.url}/v.mp4`)).toBe(VIDEO);
  });

  it('is refused as a redirect too', async () => {
    const files = await serve(sendTo('http://cdn.example.com/v.mp4'));
    const service = connect({ baseUrl: 'https://api.example.com', downloadAllow: ['127.0.0.1'] });
    await expect(service.open(`${files.url}/v.mp4`)).rejects.toMatchObject(refused);
  });

  it.each(['file:///etc/passwd', 'data:video/mp4;base64,AAAA', 'ftp://127.0.0.1/v.mp4'])(
    'nor http is refused: %s',
    async (link) => {
      const service = connect({ baseUrl: 'http://127.0.0.1', downloadAllow: ['127.0.0.1'] });
      await expect(service.open(link)).rejects.toMatchObject({ kind: 'not-allowed' });
    },
  );
});

it('a user name and password in a link or a redirect are not sent', async () => {
  const files = await serve((request) =>
    request.line.includes('/b')
      ? reply(request, { body: VIDEO })
      : sendTo(`http://name:password@127.0.0.1:${files.port}/b`)(request),
  );
  const service = connect({ downloadAllow: ['127.0.0.1'] });
  expect(await text(service, `http://name:password@127.0.0.1:${files.port}/a`)).toBe(VIDEO);
  expect(files.requests.map(({ line }) => line)).toEqual(['GET /a HTTP/1.1', 'GET /b HTTP/1.1']);
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

  function ask(lookup: LookupFunction, port: number, mayBePrivate = () => false, secrets = NO_SECRETS) {
    const describe = (target: string, kind: string) => `the link leads to ${target}, a ${kind} address`;
    const connect = createGuardedConnector({ timeout: 1_000, mayBePrivate, describe, lookup });
    const dispatcher = new Agent({ connect });
    opened.push(dispatcher);
    const origin = `http://cdn.example.com:${port}`;
    const call = { method: 'GET', path: '/', secrets } as const;
    return callService(dispatcher, { ...call, origin });
  }

  it.each([
    ['the only one', ['127.0.0.1'], '127.0.0.1'],
    ['the first', ['127.0.0.1', PUBLIC], '127.0.0.1'],
    ['the last', [PUBLIC, '2606:4700::1111', '127.0.0.1'], '127.0.0.1'],
    ['a mapped one', [PUBLIC, '::ffff:127.0.0.1'], '::ffff:127.0.0.1'],
  ])('and refused when %s of its addresses is bad', async (_which, addresses, bad) => {
    const server = await serve();
    const lookup = resolver(addresses);
    await expect(ask(lookup, server.port)).rejects.toMatchObject({
      kind: 'not-allowed',
      facts: { message: `the link leads to ${bad} (cdn.example.com), a loopback address` },
    });
    expect(lookup.lookups()).toBe(1);
    expect(server.connections()).toBe(0);
  });

  it('and its host is redacted in the message', async () => {
    const secrets = { keys: ['cdn.example'], wholeValues: [] };
    await expect(ask(resolver(['127.0.0.1']), 80, () => false, secrets)).rejects.toMatchObject({
      facts: { message: 'the link leads to 127.0.0.1 (….com), a loopback address' },
    });
  });

  it('unless its host may be private', async () => {
    const server = await serve();
    const answer = await ask(resolver(['127.0.0.1']), server.port, () => true);
    expect(await answer.body.text()).toBe(VIDEO);
  });

  it('and a name that does not resolve is a call that was not sent', async () => {
    const failing: LookupFunction = (_hostname, _options, callback) =>
      callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    await expect(ask(failing, 80)).rejects.toMatchObject({ kind: 'not-sent', facts: { code: 'ENOTFOUND' } });
  });

  it.each([true, false])(
    'so DNS rebinding gains nothing (several addresses at once: %s)',
    async (autoSelectFamily) => {
      const server = await serve();
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
      expect(lookup.lookups()).toBe(1);
      expect(server.connections()).toBe(0);
    },
  );

  it('and every new connection is checked again', async () => {
    const server = await serve();
    const lookup = resolver(['0.0.0.0'], ['127.0.0.1'], ['169.254.169.254']);
    for (const kind of ['reserved', 'loopback', 'link-local']) {
      await expect(ask(lookup, server.port)).rejects.toThrow(`a ${kind} address`);
    }
    expect(server.connections()).toBe(0);
  });
});
