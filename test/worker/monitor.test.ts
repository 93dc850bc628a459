import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { freePort } from '../../src/temporal-server/loopback-port';
import { type HealthPart, type MonitorSource, openMonitor } from '../../src/worker/monitor';

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

const opened: (() => Promise<void>)[] = [];
async function open(of: MonitorSource, given?: number) {
  const port = given ?? (await freePort());
  const close = await openMonitor({ host: '127.0.0.1', port }, of);
  opened.push(close);
  return { url: `http://127.0.0.1:${port}`, close };
}
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

describe('/readyz', () => {
  test('says which part is not ready, and why', async () => {
    const parts: HealthPart[] = [
      { part: 'polling', status: 'ok' },
      { part: 'temporal', status: 'unready', reason: 'no answer within 2 s' },
    ];
    const { url } = await open(source(parts));
    const { status, headers, body } = await ask(`${url}/readyz`);
    expect(status).toBe(503);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    expect(JSON.parse(body)).toEqual({ status: 'unready', parts });
    parts[1] = { part: 'temporal', status: 'ok' };
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
    const exporter = createServer((_, response) => response.end('other_total 1\n')).listen(0, '127.0.0.1');
    await once(exporter, 'listening');
    const { port: at } = exporter.address() as AddressInfo;
    const more = { exporter: `http://127.0.0.1:${at}/metrics` };
    const port = await freePort();
    await open(source([{ part: 'polling', status: 'unready' }], more), port);
    await open(
      source(
        [
          { part: 'polling', status: 'ok' },
          { part: 'temporal', status: 'ok' },
        ],
        more,
      ),
      port,
    );
    const { headers, body } = await ask(`http://127.0.0.1:${port}/metrics`);
    expect(headers['content-type']).toContain('version=0.0.4');
    expect(body.split('\n').filter(Boolean).sort()).toEqual([
      '# HELP videogen_ready 1 if /readyz finds this part ready, else 0.',
      '# TYPE videogen_ready gauge',
      'other_total 1',
      'videogen_ready{part="polling"} 0',
      'videogen_ready{part="temporal"} 1',
    ]);
    exporter.close();
  });

  test('says nothing of an error, which may quote an address', async () => {
    const { url } = await open({ health: () => Promise.reject(new Error('secret')) });
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
    expect(await ask(`${url}/livez`, 'POST')).toMatchObject({ status: 404 });
    expect(await ask(`${url}/`)).toMatchObject({ status: 404 });
    expect(await ask(`${url}/toString`)).toMatchObject({ status: 404 });
  });

  test('refuses large headers', async () => {
    const { url } = await open(source([]));
    expect((await ask(`${url}/livez`, 'GET', { large: 'x'.repeat(20_000) })).status).toBe(431);
  });

  test('lets no reader that never reads keep the probes out', async () => {
    const reason = 'x'.repeat(8_000_000);
    const { url } = await open(source([{ part: 'temporal', status: 'unready', reason }]));
    const silent = Array.from({ length: 8 }, () => connect(Number(new URL(url).port), '127.0.0.1').pause());
    try {
      await Promise.all(silent.map((socket) => once(socket, 'connect')));
      for (const socket of silent) socket.write('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n');
      expect((await ask(`${url}/livez`)).status).toBe(200);
    } finally {
      for (const socket of silent) socket.destroy();
    }
  });

  test('closes with connections open, and frees its port', async () => {
    const port = await freePort();
    const { url, close } = await open(source([]), port);
    const socket = connect(port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined).resume();
    await close();
    await closed;
    await open(source([]), port);
    expect((await ask(`${url}/livez`)).status).toBe(200);
  });

  test('names the setting when its port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port: taken } = other.address() as AddressInfo;
    await expect(openMonitor({ port: taken, host: '127.0.0.1' }, source([]))).rejects.toThrow(
      `The monitor cannot listen on 127.0.0.1, port ${taken} (EADDRINUSE): set VIDEOGEN_MONITOR_PORT`,
    );
    other.close();
  });
});
