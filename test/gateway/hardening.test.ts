import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { readSetting } from '../../src/config/settings';
import { createHttpServer } from '../../src/gateway/http-server';
import { closedGateway, temporalWith } from './closed-gateway';

const SHOP = 'https://shop.example';
const keys = {
  find: (key: string) => (key === 'secret-key' ? { name: 'shop', sha256: '', limits: {} } : undefined),
  named: () => [],
};

type Gateway = Awaited<ReturnType<typeof closedGateway>>;
/** With neither keys nor Temporal. */
let open: Gateway;
let withKeys: Gateway;
/** Those and what else a test opens. */
const cleanUps: (() => unknown)[] = [];
const opened = async (...args: Parameters<typeof closedGateway>) => {
  const gateway = await closedGateway(...args);
  cleanUps.push(() => gateway.app.close());
  return gateway;
};
beforeAll(async () => {
  open = await closedGateway({ publicUrl: 'https://videos.example.com', corsOrigins: [SHOP] });
  withKeys = await closedGateway({ keys });
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(() => Promise.all([open.app.close(), withKeys.app.close()]));

describe('a gateway without keys', () => {
  it.each([
    ['localhost:8787', 200],
    ['[::1]:8787', 200],
    ['videos.example.com', 200],
    ['evil.example', 421],
    ['localhost.evil.example', 421],
  ])('answers to the host %j with %d', async (host, status) => {
    const { statusCode, body } = await open.app.inject({ url: '/livez', headers: { host } });
    expect(statusCode).toBe(status);
    if (status === 421) expect(JSON.parse(body).error.message).toContain('answers to localhost only');
  });

  it.each([
    ['of another site', { origin: 'https://evil.example' }, 403],
    ['of no origin', { origin: 'null' }, 403],
    ['of another port', { origin: 'http://localhost:3000' }, 403],
    ['of a browser that only says so', { 'sec-fetch-site': 'cross-site' }, 403],
    ['of its own page', { origin: 'http://localhost:80' }, 400],
    ['of a program', {}, 400],
    ['of a site that is allowed', { origin: SHOP }, 400],
  ])('answers a POST %s so that it can do no harm', async (_name, more, status) => {
    const headers = { host: 'localhost:80', ...more };
    // 400 means that it was let in: there is no prompt.
    const { statusCode } = await open.app.inject({ method: 'POST', url: '/v1/videos', headers, payload: {} });
    expect(statusCode).toBe(status);
  });
});

describe('CORS', () => {
  const preflight = ({ app }: Gateway, origin: string) =>
    app.inject({
      method: 'OPTIONS',
      url: '/v1/videos',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    });

  it('is off by default, and answers the exact origins that are set, and no other', async () => {
    expect((await preflight(withKeys, SHOP)).headers).not.toHaveProperty('access-control-allow-origin');
    const gateway = await opened({ keys, corsOrigins: [SHOP] });
    const allowed = await preflight(gateway, SHOP);
    expect([allowed.statusCode, allowed.headers]).toMatchObject([
      204,
      {
        'access-control-allow-origin': SHOP,
        'access-control-allow-headers': expect.stringContaining('authorization'),
        vary: 'Authorization, Origin',
      },
    ]);
    for (const origin of ['https://shop.example.evil', 'http://shop.example', 'null']) {
      const refused = await preflight(gateway, origin);
      expect([refused.statusCode, refused.headers['access-control-allow-origin']]).toEqual([405, undefined]);
    }
    const answer = await gateway.app.inject({ url: '/v1/videos', headers: { origin: SHOP } });
    expect([answer.statusCode, answer.headers['access-control-allow-origin']]).toEqual([401, SHOP]);
  });

  it.each(['*', 'https://shop.example/', 'https://*.example'])('%j is not an origin', (origin) => {
    const env = { VIDEOGEN_GATEWAY_CORS_ORIGINS: origin };
    expect(() => readSetting('VIDEOGEN_GATEWAY_CORS_ORIGINS', env)).toThrow(
      /^VIDEOGEN_GATEWAY_CORS_ORIGINS has .*, which is not an origin: give exact origins/,
    );
  });
});

it.each(['/v1/videos', '/%76%31/nothing', '/%zz'])(
  'the answer at %s is for the one caller whose key came along',
  async (url) => {
    const { headers } = await withKeys.app.inject(url);
    expect(headers).toMatchObject({ 'cache-control': 'private, no-store', vary: 'Authorization, Origin' });
  },
);

describe('the log', () => {
  it('has one JSON line an answer, with the name of the key and without anything that a caller sent', async () => {
    const { app, lines } = withKeys;
    lines.splice(0);
    await app.inject({
      method: 'POST',
      url: '/v1/videos?token=in-query',
      headers: { authorization: 'Bearer secret-key', 'x-request-id': 'forged' },
      payload: { prompt: 'in-body', duration: 99 },
    });
    await app.inject({ url: '/v1/videos/in-path', headers: { authorization: 'Bearer wrong-key' } });
    await app.inject('/in-path?in-query');
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        event: 'request',
        requestId: expect.stringMatching(/^req_[0-9a-f]{24}$/),
        key: 'shop',
        method: 'POST',
        route: '/v1/videos',
        status: 400,
      }),
      expect.objectContaining({ route: '/v1/videos/:id', status: 401 }),
      expect.objectContaining({ status: 404 }),
    ]);
    expect(lines.join()).not.toMatch(/in-query|in-body|in-path|secret-key|wrong-key|forged/);
  });

  it('has the unexpected error under the id that the caller got, and an answer at the level of errors', async () => {
    const failing = { start: () => Promise.reject(new TypeError('a bug')) };
    const { app, lines } = await opened({ videos: failing as never });
    const call = { method: 'POST', url: '/v1/videos', payload: { prompt: 'A fox' } } as const;
    const { statusCode, body, headers } = await app.inject(call);
    expect(statusCode).toBe(500);
    expect(body).not.toContain('a bug');
    const [error, answer] = lines.map((line) => JSON.parse(line));
    expect(error).toMatchObject({
      level: 'error',
      event: 'requestFailed',
      requestId: headers['x-request-id'],
      error: expect.stringContaining('a bug'),
    });
    expect(answer).toMatchObject({ level: 'error', status: 500 });
    expect(lines).toHaveLength(2);
  });
});

describe('a gateway that is alive', () => {
  /** Of a server that accepts connections and stays silent. */
  async function silentAddress(): Promise<string> {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => sockets.add(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    cleanUps.push(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    return `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  }

  it('is not ready while its storage does not answer, for which Temporal is not blamed', async () => {
    const storage = { read: () => new Promise(() => undefined) };
    const client = temporalWith({}, { describeNamespace: async () => ({}) });
    const { app } = await opened({ client, storage: storage as never });
    const answer = await app.inject('/readyz');
    const { message } = answer.json().error;
    expect([answer.statusCode, message]).toEqual([503, 'The storage does not answer within 2 s.']);
  });

  it('is not ready while Temporal stays silent, and nobody waits for it for good', async () => {
    const { app } = await opened({}, await silentAddress());
    expect((await app.inject('/livez')).json()).toEqual({ status: 'ok' });
    const { statusCode, headers, body } = await app.inject('/readyz');
    expect([statusCode, headers['retry-after']]).toEqual([503, '1']);
    expect(JSON.parse(body).error.message).toBe('Temporal does not answer within 2 s.');
    const payload = { prompt: 'A fox' };
    const url = `/v1/videos/video_${'0'.repeat(32)}`;
    const calls = [
      app.inject({ method: 'POST', url: '/v1/videos', payload }),
      app.inject({ method: 'POST', url: '/v1/videos', payload, headers: { 'idempotency-key': 'one' } }),
      app.inject({ url: '/v1/videos' }),
      app.inject({ url }),
      app.inject({ url: `${url}/events` }),
      app.inject({ method: 'DELETE', url }),
    ];
    const answers = await Promise.all(calls);
    expect(answers.map((one) => one.json().error.code)).toEqual([
      'start_unknown',
      ...Array(5).fill('temporal_unavailable'),
    ]);
    // A client that repeats by itself what may have started would pay twice.
    expect(answers[0]?.headers['x-should-retry']).toBe('false');
    expect(answers[0]?.json().error.message).toMatch(/video_[0-9a-f]{32} may have started/);
  }, 40_000);
});

function dial(port: number): { socket: Socket; closed: Promise<unknown>; read(): string } {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  cleanUps.push(() => socket.destroy());
  return { socket, closed: new Promise((resolve) => socket.once('close', resolve)), read: () => text };
}

describe('a connection', () => {
  /** What the gateway sends for raw bytes, until it closes. */
  const answerTo = async (bytes: string, { app }: Gateway): Promise<string> => {
    if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
    const { socket, closed, read } = dial((app.server.address() as AddressInfo).port);
    socket.write(bytes);
    await closed;
    return read();
  };

  it('that sends its headers too slowly is closed with 408', async () => {
    const impatient = await opened({ headersTimeoutMs: 200 });
    expect(await answerTo('GET /livez HTTP/1.1\r\nHost: local', impatient)).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('that has too large headers is refused', async () => {
    const large = `GET /livez HTTP/1.1\r\nHost: localhost\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`;
    expect(await answerTo(large, open)).toMatch(/^HTTP\/1.1 431 /);
  });
});

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(20);
}

/** A server that answers when the test says so, and a connection to it. */
async function openServer() {
  const begun: { path: string | undefined; response: ServerResponse }[] = [];
  const server = createHttpServer(({ url: path }: IncomingMessage, response) => {
    begun.push({ path, response });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => server.closeAllConnections() ?? server.close());
  const { port } = server.address() as AddressInfo;
  return { begun, server, port, ...dial(port) };
}

test('connections that nobody uses leave their places to others', async () => {
  const { begun, socket, closed, read, server, port } = await openServer();
  server.maxConnections = 1;
  socket.write(get('/1'));
  await until(() => begun.length === 1);
  begun.pop()?.response.end('1');
  await until(() => read().includes('\r\n1'));
  await dial(port).closed;
  await closed;
  const next = dial(port);
  next.socket.write(get('/2'));
  await until(() => begun.length === 1);
  expect(begun[0]?.path).toBe('/2');
});

describe('requests that come before the answer to another one on the same connection', () => {
  it('begin in turn, and all are answered', async () => {
    const { begun, socket, read } = await openServer();
    socket.write(get('/1') + get('/2') + get('/3'));
    for (const path of ['/1', '/2', '/3']) {
      await until(() => begun.length > 0);
      await sleep(50);
      const [one, ...others] = begun.splice(0);
      expect([one?.path, others]).toEqual([path, []]);
      one?.response.end(path);
    }
    await until(() => read().includes('/3'));
    expect(read().match(/\r\n\r\n\/\d/g)).toHaveLength(3);
  });

  it('do not begin when the connection has ended', async () => {
    const { begun, socket } = await openServer();
    socket.write(get('/1') + get('/2') + get('/3'));
    await until(() => begun.length === 1);
    const ended = new Promise((resolve) => begun[0]?.response.once('close', resolve));
    socket.destroy();
    await ended;
    begun[0]?.response.end();
    await sleep(50);
    expect(begun).toHaveLength(1);
  });

  it('end the connection when there are more than ten', async () => {
    const { begun, socket, closed } = await openServer();
    socket.write(get('/').repeat(20));
    await closed;
    expect(begun).toHaveLength(1);
  });
});
