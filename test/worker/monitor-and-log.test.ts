import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { createFailure } from '../../src/contract/video-failure';
import { freePort } from '../../src/temporal-server/loopback-port';
import { createLogger, type LoggerOptions } from '../../src/worker/logger';
import { type HealthPart, type MonitorSource, openMonitor } from '../../src/worker/monitor';
import { STEERING } from '../support/hostile-text';

async function ask(url: string, method = 'GET') {
  const answer = await fetch(url, { method });
  return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() };
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

test('/livez is not about readiness, and fails when the process cannot recover by itself', async () => {
  const { url, close } = await open(source([{ part: 'temporal', status: 'unready' }]));
  expect(await ask(`${url}/livez`)).toMatchObject({ status: 200, body: '{"status":"ok","parts":[]}\n' });
  await close();
  const dead: HealthPart[] = [{ part: 'polling', status: 'unready', reason: 'the worker of q is FAILED' }];
  const needsRestart = await open(source([], { liveness: () => dead }));
  expect((await ask(`${needsRestart.url}/livez`)).status).toBe(503);
});

describe('/metrics', () => {
  test('has the readiness of each part, and the text of each exporter once', async () => {
    const exporter = createServer((_, response) => response.end('other_total 1\n')).listen(0, '127.0.0.1');
    await once(exporter, 'listening');
    const { port: at } = exporter.address() as AddressInfo;
    const more = { exporter: `http://127.0.0.1:${at}/metrics` };
    const port = await freePort();
    await open(source([{ part: 'polling', status: 'unready' }], more), port);
    const ready: HealthPart[] = [
      { part: 'polling', status: 'ok' },
      { part: 'temporal', status: 'ok' },
    ];
    await open(source(ready, more), port);
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

  test('lets no reader that never reads keep the probes out', async () => {
    const reason = 'x'.repeat(8_000_000);
    const { url } = await open(source([{ part: 'temporal', status: 'unready', reason }]));
    const silent = Array.from({ length: 3 }, () => connect(Number(new URL(url).port), '127.0.0.1').pause());
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

const FORMATS = ['json', 'pretty'] as const;

function logging(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const logger = createLogger({
    level: 'info',
    format: 'json',
    write: (line) => lines.push(line),
    ...options,
  });
  return { lines, logger, parsed: () => lines.map((line) => JSON.parse(line)) };
}

/** What the SDK adds to each line of an activity. */
const ACTIVITY = {
  sdkComponent: 'worker',
  taskQueue: 'video-generation-submit',
  isLocal: false,
  attempt: 1,
  namespace: 'default',
  taskToken: 'CiQwMWExZTFiNS1jMmY5LTczNWUtYmI0YS1lOTY0ZDM4NmMzZjkSA2ZveA',
  activityId: '1',
  activityType: 'submitVideo',
  workflowId: 'fox',
  workflowRunId: '01a1e1b5-f4c3-71bb-afa3-5c6479542e78',
  workflowType: 'generateVideo',
};

test('a line in JSON names the event, the job, the run, the task and the attempt', () => {
  const { logger, parsed } = logging();
  logger.info('submitted', { ...ACTIVITY, sdkComponent: 'activity', event: 'submitted', taskId: 'vid_1' });
  expect(parsed()).toEqual([
    {
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      level: 'info',
      event: 'submitted',
      message: 'submitted',
      workflowId: 'fox',
      runId: ACTIVITY.workflowRunId,
      taskId: 'vid_1',
      attempt: 1,
      activityId: '1',
      activityType: 'submitVideo',
      workflowType: 'generateVideo',
      namespace: 'default',
      taskQueue: 'video-generation-submit',
      sdkComponent: 'activity',
    },
  ]);
});

test('a line for people is short, and says whose change it is, and what to do about a failed attempt', () => {
  const { lines, logger } = logging({ format: 'pretty' });
  logger.info('stored', { ...ACTIVITY, event: 'stored', taskId: 'vid_1', bytes: 1_948_997, sha256: 'ab' });
  const cause = new Error('cut: ECONNRESET read ECONNRESET');
  const error = createFailure('SubmitUnconfirmed', { message: 'read ECONNRESET' }, { cause });
  logger.warn('Activity failed', { ...ACTIVITY, attempt: 2, error, durationMs: 60 });
  expect(lines).toEqual([
    expect.stringMatching(/^\d\d:\d\d:\d\d info fox: stored, taskId vid_1, bytes 1948997$/),
    expect.stringMatching(/^\S+ warn submitVideo of fox, attempt 2: Activity failed, /),
  ]);
  expect(lines[1]).toContain(error.message);
});

describe.each(FORMATS)('a log in the format %s', (format) => {
  it('has no control character, even if names in it do', () => {
    const { lines, logger } = logging({ format });
    const workflowId = 'fox\u001b]0;title\u0007\u202e\u009b2J\nnext';
    logger.warn(`the job\u001b[2J failed ${workflowId}`, {
      workflowId,
      [workflowId]: workflowId,
      nested: { [workflowId]: [workflowId] },
      error: new Error(workflowId),
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toMatch(STEERING);
    expect(lines[0]).toContain('the job failed');
  });

  it('shows neither the signature of a link nor a bearer token of an error', () => {
    const { lines, logger } = logging({ format });
    const message = 'GET https://cdn.example.com/v.mp4?sig=s3cr3t-mark with Bearer abcdefgh12345678mark';
    logger.error('broken', { error: new Error(message) });
    logger.warn('broken', { error: `Status { code: Unknown, message: "${message}", details: b"\\x08" }` });
    logger.warn('broken', { error: createFailure('Unexpected', { message }) });
    expect(lines.join()).toContain('cdn.example.com');
    expect(lines.join()).not.toMatch(/s3cr3t-mark|12345678mark/);
  });

  it('has bounded lines, however much they are given', () => {
    const { lines, logger } = logging({ format });
    const long = 'x'.repeat(50_000);
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field${index}`, long]));
    const deep = { a: { b: { c: { d: long } } } };
    logger.warn(long, { ...many, deep, list: Array(500).fill(deep), error: new Error(long) });
    expect(lines[0]?.length).toBeLessThan(50_000);
    if (format === 'pretty') expect(lines[0]?.length).toBeLessThanOrEqual(1_000);
  });

  it('has a line for a value that throws when it is read as text', () => {
    const { lines, logger } = logging({ format });
    const hostile = {
      toString() {
        throw new Error('no');
      },
    };
    logger.warn('odd', { hostile, error: Object.assign(Object.create(hostile), { message: 1 }), at: 1n });
    expect(lines).toHaveLength(1);
  });
});

describe('lines of the SDK', () => {
  const failure = createFailure('GenerationFailed', { taskId: 'vid_1' });
  const CASES: [what: string, level: 'info' | 'warn', message: string, fields: Record<string, unknown>][] = [
    ['the state of a worker', 'info', 'Worker state changed', { sdkComponent: 'worker' }],
    ['a worker without workflows', 'warn', 'No workflows registered. Did you…', { sdkComponent: 'worker' }],
    ['the failure of a job, which has a line of ours', 'warn', 'Workflow failed', { error: failure }],
    ['a failed poll', 'warn', 'Activity failed', { ...ACTIVITY, activityType: 'pollVideo', error: failure }],
  ];
  it.each(CASES)('about %s are only for debugging', (_, level, message, fields) => {
    const { lines, logger } = logging({ level: 'info' });
    logger[level](message, fields);
    expect(lines).toEqual([]);
    const debugging = logging({ level: 'debug' });
    debugging.logger[level](message, fields);
    expect(debugging.parsed()).toEqual([expect.objectContaining({ level: 'debug', message })]);
  });

  it('about anything else keep their level', () => {
    const { parsed, logger } = logging();
    logger.warn('Workflow failed', { error: new TypeError('a bug') });
    logger.warn('Activity failed', { ...ACTIVITY, error: failure });
    logger.error('Failed to connect', { sdkComponent: 'core' });
    expect(parsed().map(({ level }) => level)).toEqual(['warn', 'warn', 'error']);
  });
});
