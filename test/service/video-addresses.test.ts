import type { LookupAddress } from 'node:dns';
import { connect as connectSocket, type LookupFunction } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Agent } from 'undici';
import { NO_SECRETS } from '../../src/contract/redact';
import type { VideoService } from '../../src/service';
import { callService } from '../../src/service/call-service';
import { checkedLookup, createGuardedConnector } from '../../src/service/guarded-connector';
import { type RawRequest, type RawServer, replyJson } from './raw-server';
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
    ['2130706433', '127.0.0.1', 'loopback'],
    ['0x7f.1', '127.0.0.1', 'loopback'],
    ['0177.0.0.1', '127.0.0.1', 'loopback'],
    ['①②⑦.0.0.1', '127.0.0.1', 'loopback'],
    ['0', '0.0.0.0', 'reserved'],
    ['[::]', '::', 'reserved'],
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

  it.each(['127.0.0.1', 'localhost'])('is refused with https too: %s', async (host) => {
    const server = await serveCounted();
    expect(await kindOf(connect(ELSEWHERE), `https://${host}:${server.port}/v.mp4`)).toBe('not-allowed');
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

  it('and the service itself may be at any address', async () => {
    const service = await serve((request) => replyJson(request, { status: 'running' }));
    const { task } = await connect(`http://localhost:${service.port}`).status('t');
    expect(task.state).toBe('running');
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

  it('is refused when the service itself uses https, also as a redirect', async () => {
    const service = connect(ELSEWHERE, { downloadAllow: ['127.0.0.1'] });
    const link = 'http://cdn.example.com/v.mp4?signature=abcdefgh';
    expect(await faultOf(service.open(link))).toMatchObject(refused);
    expect(await kindOf(service, 'http://api.example.com/v.mp4')).toBe('not-allowed');
    const files = await serve(redirectTo(link));
    expect(await faultOf(service.open(`${files.url}/v.mp4`))).toMatchObject(refused);
  });

  it('is followed when its host is allowed', async () => {
    const files = await serve(sendVideo);
    const service = connect(ELSEWHERE, { downloadAllow: ['127.0.0.1'] });
    expect(await text(service, `${files.url}/v.mp4`)).toBe(VIDEO);
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

  it('is refused without all of a long host', async () => {
    const { message } = await faultOf(connect(PLAIN).open(`foo://${'x'.repeat(100_000)}/v.mp4`));
    expect(message).toMatch(/the link is not https: add x+… to VIDEOGEN_DOWNLOAD_ALLOW/);
    expect(message.length).toBeLessThan(1_000);
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
    ['the first', ['127.0.0.1', PUBLIC], '127.0.0.1'],
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

  it('and a name that does not resolve is a call that was not sent', async () => {
    const failing: LookupFunction = (_hostname, _options, callback) =>
      callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    expect(await ask(failing, 80)).toMatchObject({ kind: 'not-sent', facts: { code: 'ENOTFOUND' } });
  });

  it('and its host is redacted in the message', async () => {
    const fault = await ask(resolver(['127.0.0.1']), 80, { keys: ['cdn.example'], wholeValues: [] });
    expect(fault.facts.message).toBe('the link leads to 127.0.0.1 (….com), a loopback address');
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

  it('and every new connection is checked again', async () => {
    const server = await serveCounted();
    const lookup = resolver(['0.0.0.0'], ['127.0.0.1'], ['169.254.169.254']);
    for (const kind of ['reserved', 'loopback', 'link-local']) {
      expect((await ask(lookup, server.port)).facts.message).toContain(`a ${kind} address`);
    }
    expect(server.connections()).toBe(0);
  });
});
