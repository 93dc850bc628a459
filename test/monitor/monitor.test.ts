import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { metricsText, withSnakeCaseLabels } from '../../src/monitor/exposition';
import { HealthHistory, type HealthPart } from '../../src/monitor/health';
import { type Monitor, type MonitorSource, openMonitor } from '../../src/monitor/monitor';
import { MetricRegistry, SHOWN_METRICS } from '../../src/monitor/registry';
import { freePort } from '../../src/temporal-server/loopback-port';

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
  samples: async () => [],
  ...more,
});

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

  test('names each of several services, and is ready while one of them answers', () => {
    const history = new HealthHistory();
    const service = (name: string, status: 'ok' | 'unready') =>
      ({ part: 'service', service: name, status, sinceMs: 0 }) as const;
    const oneOfTwo = history.report([service('fal', 'unready'), service('veo', 'ok')]);
    expect(oneOfTwo).toMatchObject({
      status: 'ok',
      parts: [
        { part: 'service', service: 'fal', status: 'unready' },
        { part: 'service', service: 'veo', status: 'ok' },
      ],
    });
    const none = [service('fal', 'unready'), service('veo', 'unready')];
    expect(history.report(none).status).toBe('unready');
    const drained = history.report([service('veo', 'ok'), { part: 'polling', status: 'draining' }]);
    expect(drained.status).toBe('draining');
  });

  test('remembers since when a part is as it is', () => {
    let now = 0;
    const history = new HealthHistory(() => now);
    const since = (status: HealthPart['status']) => {
      now += 1_000;
      return Date.parse(history.report([{ part: 'temporal', status }]).parts[0]?.since ?? '');
    };
    expect([since('starting'), since('ok'), since('ok'), since('unready'), since('unready')]).toEqual([
      1_000, 2_000, 2_000, 4_000, 4_000,
    ]);
  });
});

describe('/livez', () => {
  test('is not about readiness: a restart would not help', async () => {
    const { url } = await open(source([{ part: 'temporal', status: 'unready' }]));
    expect(await ask(`${url}/livez`)).toMatchObject({ status: 200, body: '{"status":"ok","parts":[]}\n' });
  });

  test('fails when the process cannot recover by itself', async () => {
    const dead: HealthPart[] = [{ part: 'polling', status: 'unready', reason: 'the worker of q is FAILED' }];
    const { url } = await open(source([], { liveness: async () => dead }));
    expect((await ask(`${url}/livez`)).status).toBe(503);
  });
});

describe('/metrics', () => {
  test('joins what all sources say, each metric once under its help, and the text of an exporter once', async () => {
    const port = await freePort();
    const shared = async () => 'other_total 1\n';
    const sampled = (queue: string, value: number): Partial<MonitorSource> => ({
      text: shared,
      samples: async () => [{ metric: 'videogen_submit_backlog', labels: { task_queue: queue }, value }],
    });
    await open(source([{ part: 'polling', status: 'ok' }], sampled('a', 1)), port);
    await open(source([{ part: 'temporal', status: 'unready' }], sampled('b"\n\\', 2)), port);
    const { headers, body } = await ask(`http://127.0.0.1:${port}/metrics`);
    expect(headers['content-type']).toContain('version=0.0.4');
    expect(body.split('\n')).toEqual([
      `# HELP videogen_ready ${SHOWN_METRICS.videogen_ready.help}`,
      '# TYPE videogen_ready gauge',
      'videogen_ready{part="polling"} 1',
      'videogen_ready{part="temporal"} 0',
      `# HELP videogen_submit_backlog ${SHOWN_METRICS.videogen_submit_backlog.help}`,
      '# TYPE videogen_submit_backlog gauge',
      'videogen_submit_backlog{task_queue="a"} 1',
      'videogen_submit_backlog{task_queue="b\\"\\n\\\\"} 2',
      'other_total 1',
      '',
    ]);
  });

  test('is one collection for all who ask at the same time', async () => {
    let collections = 0;
    let release = () => {};
    const samples = () => {
      collections += 1;
      return new Promise<never[]>((resolve) => {
        release = () => resolve([]);
      });
    };
    const { url } = await open(source([], { samples }));
    const scrapes = [ask(`${url}/metrics`), ask(`${url}/metrics`), ask(`${url}/metrics`)];
    // The second and third have arrived when another request, sent after them, is answered.
    await ask(`${url}/livez`);
    release();
    expect((await Promise.all(scrapes)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(collections).toBeLessThanOrEqual(2);
  });

  test('says nothing of an error, which may quote an address', async () => {
    const samples = () => Promise.reject(new Error('secret'));
    const { url } = await open(source([], { samples }));
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

describe('the registry', () => {
  test('writes histograms with cumulative buckets', () => {
    const registry = new MetricRegistry();
    for (const seconds of [0.005, 0.3, 100])
      registry.observe('videogen_gateway_request_duration_seconds', { route: '/v1/videos' }, seconds);
    const lines = metricsText(registry.samples()).split('\n');
    expect(lines).toContain(
      'videogen_gateway_request_duration_seconds_bucket{route="/v1/videos",le="0.01"} 1',
    );
    expect(lines).toContain(
      'videogen_gateway_request_duration_seconds_bucket{route="/v1/videos",le="0.5"} 2',
    );
    expect(lines).toContain(
      'videogen_gateway_request_duration_seconds_bucket{route="/v1/videos",le="+Inf"} 3',
    );
    expect(lines).toContain('videogen_gateway_request_duration_seconds_sum{route="/v1/videos"} 100.305');
    expect(lines).toContain('videogen_gateway_request_duration_seconds_count{route="/v1/videos"} 3');
  });

  test('stays bounded, whatever becomes a label', () => {
    const registry = new MetricRegistry();
    for (let code = 0; code < 2_000; code++)
      registry.add('videogen_gateway_refusals_total', { code: `code_${code}` });
    registry.add('videogen_gateway_refusals_total', { code: 'code_1' });
    const samples = registry.samples();
    expect(samples).toHaveLength(500);
    expect(samples[1]).toMatchObject({ labels: { code: 'code_1' }, value: 2 });
  });
});

test('labels of the SDK’s meters are spelt as those of its own metrics, and values are left alone', () => {
  const line = 'a{activityType="x",note="{taskQueue=\\"q\\",taskQueue=\\"q\\"}",taskQueue="q"} 1\n';
  expect(withSnakeCaseLabels(line)).toBe(
    'a{activity_type="x",note="{taskQueue=\\"q\\",taskQueue=\\"q\\"}",task_queue="q"} 1\n',
  );
});
