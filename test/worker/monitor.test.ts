import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { freePort } from '../../src/temporal-server/loopback-port';
import { type HealthPart, type Monitor, type MonitorSource, openMonitor } from '../../src/worker/monitor';

interface Answer {
  status: number | undefined;
  headers: Record<string, unknown>;
  body: string;
}

function ask(url: string, method = 'GET', headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false }, async (answer) => {
      resolve({ status: answer.statusCode, headers: answer.headers, body: await text(answer) });
    });
    asked.on('error', reject).end();
  });
}

const source = (parts: HealthPart[], more: Partial<MonitorSource> = {}): MonitorSource => ({
  health: async () => parts,
  ...more,
});

const pause = () => new Promise((resolve) => setTimeout(resolve, 5));

const opened: Monitor[] = [];
async function open(of: MonitorSource, port = 0): Promise<Monitor> {
  const monitor = await openMonitor({ port }, of);
  opened.push(monitor);
  return monitor;
}
afterEach(async () => {
  for (const monitor of opened.splice(0)) await monitor.close();
});

describe('/readyz', () => {
  test('says which part is not ready, why and since when', async () => {
    const parts: HealthPart[] = [
      { part: 'polling', status: 'ok' },
      { part: 'service', status: 'unready', reason: 'no answer (ECONNREFUSED)', sinceMs: 1_000 },
    ];
    const { url } = await open(source(parts));
    const { status, headers, body } = await ask(`${url}/readyz`);
    expect(status).toBe(503);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    expect(JSON.parse(body)).toEqual({
      status: 'unready',
      parts: [
        { part: 'polling', status: 'ok', since: expect.stringMatching(/^\d{4}-/) },
        {
          part: 'service',
          status: 'unready',
          since: '1970-01-01T00:00:01.000Z',
          reason: 'no answer (ECONNREFUSED)',
        },
      ],
    });
    parts[1] = { part: 'service', status: 'ok' };
    expect((await ask(`${url}/readyz`)).status).toBe(200);
  });

  test('of two workers in one process is as good as the worse of them', async () => {
    const port = await freePort();
    await open(source([{ part: 'polling', status: 'ok' }]), port);
    const second = await open(source([{ part: 'polling', status: 'draining' }]), port);
    const { status, body } = await ask(`http://127.0.0.1:${port}/readyz`);
    expect([status, JSON.parse(body).status]).toEqual([503, 'draining']);
    await second.close();
    expect((await ask(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  });

  test('names each of several services, and is ready while one of them answers', async () => {
    const parts: HealthPart[] = [
      { part: 'service', service: 'fal', status: 'unready', sinceMs: 0 },
      { part: 'service', service: 'veo', status: 'ok', sinceMs: 0 },
    ];
    const { url } = await open(source(parts));
    const { status, body } = await ask(`${url}/readyz`);
    expect([status, JSON.parse(body).parts]).toMatchObject([
      200,
      [
        { part: 'service', service: 'fal', status: 'unready' },
        { part: 'service', service: 'veo', status: 'ok' },
      ],
    ]);
    parts[1] = { part: 'service', service: 'veo', status: 'unready' };
    expect((await ask(`${url}/readyz`)).status).toBe(503);
  });

  test('remembers since when a part is as it is', async () => {
    const parts: HealthPart[] = [];
    const { url } = await open(source(parts));
    const since = async (status: HealthPart['status']) => {
      parts[0] = { part: 'temporal', status };
      return JSON.parse((await ask(`${url}/readyz`)).body).parts[0].since;
    };
    const starting = await since('starting');
    await pause();
    const ok = await since('ok');
    expect(ok).not.toBe(starting);
    await pause();
    expect(await since('ok')).toBe(ok);
  });
});

describe('/livez', () => {
  test('is not about readiness: a restart would not help', async () => {
    const { url } = await open(source([{ part: 'temporal', status: 'unready' }]));
    expect(await ask(`${url}/livez`)).toMatchObject({ status: 200, body: '{"status":"ok","parts":[]}\n' });
  });

  test('fails when the process cannot recover by itself', async () => {
    const dead: HealthPart[] = [{ part: 'polling', status: 'unready', reason: 'the worker of q is FAILED' }];
    const { url } = await open(source([], { liveness: () => dead }));
    expect((await ask(`${url}/livez`)).status).toBe(503);
  });
});

describe('/metrics', () => {
  test('has the readiness of each part, and the text of each exporter once', async () => {
    const port = await freePort();
    const text = async () => 'other_total 1\n';
    await open(source([{ part: 'polling', status: 'ok' }], { text }), port);
    await open(source([{ part: 'service', service: 'fal', status: 'unready' }], { text }), port);
    const { headers, body } = await ask(`http://127.0.0.1:${port}/metrics`);
    expect(headers['content-type']).toContain('version=0.0.4');
    expect(body.split('\n').filter(Boolean)).toEqual([
      '# HELP videogen_ready 1 if /readyz finds this part ready, else 0.',
      '# TYPE videogen_ready gauge',
      'videogen_ready{part="polling"} 1',
      'videogen_ready{part="service",service="fal"} 0',
      'other_total 1',
    ]);
  });

  test('says nothing of an error, which may quote an address', async () => {
    const text = () => Promise.reject(new Error('secret'));
    const { url } = await open(source([], { text }));
    const { status, body } = await ask(`${url}/metrics`);
    expect(status).toBe(503);
    expect(body).not.toContain('secret');
  });
});

describe('the monitor', () => {
  test('takes GET and HEAD, of three paths', async () => {
    const { url } = await open(source([]));
    expect(await ask(`${url}/livez`, 'HEAD')).toMatchObject({ status: 200, body: '' });
    expect(await ask(`${url}/livez?verbose`)).toMatchObject({ status: 200 });
    expect(await ask(`${url}/livez`, 'POST')).toMatchObject({ status: 405 });
    expect(await ask(`${url}/`)).toMatchObject({ status: 404 });
    expect(await ask(`${url}/toString`)).toMatchObject({ status: 404 });
  });

  test('refuses large headers', async () => {
    const { url } = await open(source([]));
    expect((await ask(`${url}/livez`, 'GET', { large: 'x'.repeat(20_000) })).status).toBe(431);
  });

  test('lets no reader that never reads keep the probes out', async () => {
    const { url } = await open(source([], { text: async () => 'x'.repeat(8_000_000) }));
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
    const silent = Array.from({ length: 32 }, () => connect(Number(new URL(url).port), '127.0.0.1').pause());
    try {
      await Promise.all(silent.map((socket) => once(socket, 'connect')));
      for (const socket of silent) socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
      await expect(ask(`${url}/livez`)).rejects.toThrow();
      await jest.advanceTimersByTimeAsync(60_000);
      expect((await ask(`${url}/livez`)).status).toBe(200);
    } finally {
      jest.useRealTimers();
      for (const socket of silent) socket.destroy();
    }
  });

  test('closes with connections open, and frees its port', async () => {
    const port = await freePort();
    const monitor = await open(source([]), port);
    const socket = connect(port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined).resume();
    await monitor.close();
    await closed;
    expect((await open(source([]), port)).url).toBe(`http://127.0.0.1:${port}`);
  });

  test('names the setting when its port is taken', async () => {
    const port = await freePort();
    const other = await open(source([]), 0);
    const taken = Number(new URL(other.url).port);
    await expect(openMonitor({ port: taken, host: '127.0.0.1' }, source([]))).rejects.toThrow(
      `The monitor cannot listen on 127.0.0.1, port ${taken} (EADDRINUSE): set VIDEOGEN_MONITOR_PORT`,
    );
    expect(port).not.toBe(taken);
  });
});
