import { connect, createServer, type Server } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { readSetting } from '../../src/config/settings';
import { closedGateway } from './closed-gateway';

let app: FastifyInstance;
let lines: string[];
afterEach(() => app?.close());

const open = async (...args: Parameters<typeof closedGateway>) => {
  ({ app, lines } = await closedGateway(...args));
};
const keys = {
  find: (key: string) => (key === 'secret-key' ? { name: 'shop', sha256: '', limits: {} } : undefined),
};

describe('a gateway without keys', () => {
  it.each([
    ['localhost:8787', 200],
    ['127.0.0.1', 200],
    ['[::1]:8787', 200],
    ['videos.example.com', 200],
    ['evil.example', 421],
    ['localhost.evil.example', 421],
    ['127.0.0.1.evil.example:8787', 421],
  ])('answers to the host %j with %d', async (host, status) => {
    await open({ publicUrl: 'https://videos.example.com' });
    const { statusCode, body } = await app.inject({ url: '/livez', headers: { host } });
    expect(statusCode).toBe(status);
    if (status === 421) expect(JSON.parse(body).error.message).toContain('answers to localhost only');
  });

  const post = (headers: Record<string, string>) =>
    app.inject({
      method: 'POST',
      url: '/v1/videos',
      headers: { host: 'localhost:80', ...headers },
      payload: {},
    });

  it.each([
    ['of another site', { origin: 'https://evil.example' }, 403],
    ['of no origin', { origin: 'null' }, 403],
    ['of another port', { origin: 'http://localhost:3000' }, 403],
    ['of a browser that only says so', { 'sec-fetch-site': 'cross-site' }, 403],
    ['of its own page', { origin: 'http://localhost:80' }, 400],
    ['of a program', {}, 400],
    ['of a site that is allowed', { origin: 'https://shop.example' }, 400],
  ])('a POST %s is answered so that it can do no harm', async (_name, headers, status) => {
    await open({ corsOrigins: ['https://shop.example'] });
    // 400 means that it was let in: there is no prompt.
    expect((await post(headers)).statusCode).toBe(status);
  });
});

describe('CORS', () => {
  const preflight = (origin: string) =>
    app.inject({
      method: 'OPTIONS',
      url: '/v1/videos',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    });

  it('is off by default', async () => {
    await open({ keys });
    expect((await preflight('https://shop.example')).headers).not.toHaveProperty(
      'access-control-allow-origin',
    );
  });

  it('answers the exact origins that are set, and no other', async () => {
    await open({ keys, corsOrigins: ['https://shop.example'] });
    const allowed = await preflight('https://shop.example');
    expect([allowed.statusCode, allowed.headers]).toMatchObject([
      204,
      {
        'access-control-allow-origin': 'https://shop.example',
        'access-control-allow-headers': expect.stringContaining('authorization'),
        vary: 'Authorization, Origin',
      },
    ]);
    for (const origin of ['https://shop.example.evil', 'http://shop.example', 'null']) {
      const refused = await preflight(origin);
      expect([refused.statusCode, refused.headers['access-control-allow-origin']]).toEqual([405, undefined]);
    }
    const answer = await app.inject({ url: '/v1/videos', headers: { origin: 'https://shop.example' } });
    expect([answer.statusCode, answer.headers]).toMatchObject([
      401,
      {
        'access-control-allow-origin': 'https://shop.example',
        vary: expect.stringContaining('Authorization'),
      },
    ]);
  });

  it.each(['*', 'https://shop.example/', 'shop.example', 'https://*.example'])(
    '%j is not an origin',
    (origin) => {
      expect(() =>
        readSetting('VIDEOGEN_GATEWAY_CORS_ORIGINS', { VIDEOGEN_GATEWAY_CORS_ORIGINS: origin }),
      ).toThrow(/^VIDEOGEN_GATEWAY_CORS_ORIGINS has .*, which is not an origin: give exact origins/);
    },
  );
});

it.each(['/v1/videos', '/%761/videos', '/%76%31/nothing', '/%zz'])(
  'the answer at %s is for the one caller whose key came along',
  async (url) => {
    await open({ keys });
    const { headers } = await app.inject(url);
    expect(headers).toMatchObject({ 'cache-control': 'private, no-store', vary: 'Authorization, Origin' });
  },
);

describe('the log', () => {
  it('has one JSON line an answer, with the name of the key and without anything that a caller sent', async () => {
    await open({ keys });
    await app.inject({
      method: 'POST',
      url: '/v1/videos?token=in-query',
      headers: { authorization: 'Bearer secret-key', 'x-request-id': 'forged' },
      payload: { prompt: 'in-body', duration: 99 },
    });
    await app.inject({ url: '/v1/videos/in-path', headers: { authorization: 'Bearer wrong-key' } });
    await app.inject('/in-path?in-query');
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        time: expect.stringMatching(/Z$/),
        level: 'info',
        event: 'request',
        message: 'answered',
        requestId: expect.stringMatching(/^req_[0-9a-f]{24}$/),
        key: 'shop',
        method: 'POST',
        route: '/v1/videos',
        status: 400,
        ms: expect.any(Number),
      },
      expect.objectContaining({ route: '/v1/videos/:id', status: 401 }),
      expect.objectContaining({ status: 404 }),
    ]);
    expect(lines.join()).not.toMatch(/in-query|in-body|in-path|secret-key|wrong-key|forged/);
  });

  it('has the unexpected error under the id that the caller got, and an answer at the level of errors', async () => {
    const failing = { start: () => Promise.reject(new TypeError('a bug')) };
    await open({ videos: failing as never });
    const { statusCode, body, headers } = await app.inject({
      method: 'POST',
      url: '/v1/videos',
      payload: { prompt: 'A fox' },
    });
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

describe('without Temporal', () => {
  it('the gateway lives but is not ready, and calls are told to come back', async () => {
    await open();
    expect((await app.inject('/livez')).json()).toEqual({ status: 'ok' });
    expect((await app.inject('/readyz')).statusCode).toBe(503);
  });

  it('one that accepts connections and stays silent is not ready either, and nobody waits for it for good', async () => {
    const silent: Server = createServer(() => undefined);
    const sockets = new Set<{ destroy(): void }>();
    silent.on('connection', (socket) => sockets.add(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port }: { port: number } = Object(silent.address());
    try {
      await open({}, `127.0.0.1:${port}`);
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
      expect(answers.map((one) => one.headers['x-should-retry'])[0]).toBe('false');
      expect(answers[0]?.json().error.message).toMatch(/video_[0-9a-f]{32} may have started/);
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  }, 40_000);
});

describe('a connection', () => {
  /** What the gateway sends for raw bytes, until it closes. */
  const send = async (bytes: string): Promise<string> => {
    const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
    const socket = connect(Number(url.port), url.hostname);
    socket.write(bytes);
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    return answer;
  };

  it('that sends its headers too slowly is closed with 408', async () => {
    await open({ headersTimeoutMs: 200 });
    expect(await send('GET /livez HTTP/1.1\r\nHost: local')).toMatch(/^HTTP\/1\.1 408 /);
  });

  it.each([
    ['that is not HTTP', 'hello\r\n\r\n', 400],
    [
      'with too large headers',
      `GET /livez HTTP/1.1\r\nHost: localhost\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`,
      431,
    ],
  ])('%s is refused', async (_name, bytes, status) => {
    await open();
    expect(await send(bytes)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });
});
