import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/run';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { createVideoGateway } from '../../src/gateway';
import { createFileStorage } from '../../src/storage';
import { freePort } from '../../src/temporal-server/loopback-port';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { HealthPart } from '../../src/worker/monitor';
import { Home, untilErr } from '../cli/cli-process';
import { FakeTerminal } from '../cli/fake-terminal';
import { namedExpressions } from '../support/dashboard';
import { captureLogs, type LogLine } from '../support/logs';
import { testAtNight } from '../support/nightly';
import { buildPromcheck, PROMCHECK_TIMEOUT_MS } from '../support/promcheck';
import { QUICK_PROFILE } from '../support/quick-profile';
import { startWebhookReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver';
import { killLeftoverWorkers, startWorkerProcess } from '../support/worker-process';
import { failureOf, pause, untilProgress } from '../support/world';

let env: VideoTestEnvironment;
let logs: LogLine[];
let folder: string;
/** Also of a test that fails. */
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  logs = captureLogs();
  folder = await mkdtemp(join(tmpdir(), 'videogen-monitor-'));
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, videoBytes: 64 * 1024 },
  });
});
afterAll(async () => {
  await killLeftoverWorkers();
  await env.teardown();
  await rm(folder, { recursive: true, force: true });
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
jest.setTimeout(120_000);

const polling = { min: '1s', max: '1s' } as const;

const settings = (taskQueue: string, port: number) => ({
  TEMPORAL_ADDRESS: env.temporal.address,
  VIDEO_API_BASE_URL: env.emulator.url,
  VIDEO_API_KEY: env.emulator.apiKey,
  VIDEOGEN_TASK_QUEUE: taskQueue,
  VIDEOGEN_STORAGE: folder,
  VIDEOGEN_MONITOR_PORT: `${port}`,
  ...QUICK_PROFILE,
});

async function ask(port: number, path: string): Promise<{ status: number; body: string }> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: answer.status, body: await answer.text() };
}

/** Its port opens beside the start of the workers. */
async function untilReady(port: number): Promise<void> {
  while ((await ask(port, '/readyz').catch(() => undefined))?.status !== 200) await pause();
}

async function readinessOf(port: number): Promise<{ status: number; polling: string | undefined }> {
  const { status, body } = await ask(port, '/readyz');
  const { parts }: { parts: HealthPart[] } = JSON.parse(body);
  return { status, polling: parts.find(({ part }) => part === 'polling')?.status };
}

/** The value of a sample, whatever its other labels are. */
function sampleOf(text: string, metric: string, label = ''): number | undefined {
  const values = text
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `))
    .filter((line) => line.includes(label));
  return values.length === 0
    ? undefined
    : values.map((line) => Number(line.split(' ').at(-1))).reduce((a, b) => a + b);
}

async function untilMetric(port: number, metric: string, label: string, value: number): Promise<string> {
  for (;;) {
    const { body } = await ask(port, '/metrics');
    if (sampleOf(body, metric, label) === value) return body;
    await pause();
  }
}

/** The SDK spells its labels of our metrics in camel case, of which the linter warns. */
const SDK_LABEL = /([{,])(task|workflow|activity)(?:Queue|Type)=/g;

const nameOf = (line: string) => /^\w+/.exec(line)?.[0] ?? '';
const namesIn = (text: string) => new Set(text.split('\n').map(nameOf));

describe('videogen worker with a monitor, and a gateway with one', () => {
  const taskQueue = `monitored-${randomUUID()}`;
  const home = new Home();
  let port: number;
  let videos: VideoClient;

  beforeAll(async () => {
    port = await freePort();
    const registered = new FakeTerminal({ TEMPORAL_ADDRESS: env.temporal.address });
    expect(await run(['doctor', '--register'], registered)).toBe(0);
    videos = await createVideoClient({
      client: env.temporal.client,
      taskQueue,
      env: { VIDEOGEN_SEARCH_ATTRIBUTES: 'true' },
    });
  });
  afterAll(() => home.remove());

  const texts: string[] = [];

  test('emit every metric that dashboard and alerts name, without a secret', async () => {
    const receiver = await startWebhookReceiver([500]);
    closers.push(() => receiver.close());
    const worker = home.start(['worker'], {
      ...settings(taskQueue, port),
      VIDEOGEN_SEARCH_ATTRIBUTES: 'true',
      VIDEOGEN_WEBHOOK_SECRET: WEBHOOK_SECRET,
      VIDEOGEN_WEBHOOK_ALLOW: '127.0.0.1',
    });
    await untilErr(worker, `at http://127.0.0.1:${port}/metrics`);
    await untilReady(port);
    expect(await ask(port, '/livez')).toMatchObject({ status: 200 });
    // From the start, so that Prometheus sees the first failure as an increase.
    expect(
      sampleOf((await ask(port, '/metrics')).body, 'videogen_jobs_total', 'outcome="StorageFailed"'),
    ).toBe(0);

    const request = { prompt: 'A red fox nobody may read about' };
    env.emulator.next('submit', { kind: 'rate-limited', retryAfter: 1 });
    const stored = await videos.start({ request, polling, callbackUrl: receiver.url });
    const { taskId } = await stored.result();
    env.emulator.next('status', { kind: 'failed-task', code: 'foxes', message: 'no' });
    await failureOf(videos.execute({ request, polling }));
    env.emulator.next('submit', { kind: 'reset' });
    const held = await videos.start({ request, polling });
    await untilProgress(held, ({ phase }) => phase === 'needs-decision');
    await untilMetric(port, 'videogen_holds_started_total', '', 1);
    await held.decideSubmit({ decision: 'abandon' });
    await failureOf(held.result());
    const batch = await videos.startBatch({ requests: [request, request], polling });
    await batch.result();
    const ofWorkerText = await untilMetric(port, 'videogen_webhooks_total', 'delivered', 1);

    const value = (metric: string, label?: string) => sampleOf(ofWorkerText, metric, label);
    expect(value('videogen_jobs_total', 'succeeded')).toBe(3);
    expect(value('videogen_jobs_total', 'GenerationFailed')).toBe(1);
    expect(value('videogen_jobs_total', 'SubmitUnconfirmed')).toBe(1);
    expect(value('videogen_holds_started_total')).toBe(1);
    expect(value('videogen_holds_ended_total', 'abandon')).toBe(1);
    expect(value('videogen_service_calls_total', 'result="limited"')).toBe(1);
    expect(value('videogen_generation_seconds_count')).toBe(3);
    expect(value('videogen_job_polls_count')).toBe(4);
    expect(value('videogen_download_bytes_total')).toBe(3 * 64 * 1024);
    expect(value('videogen_webhooks_total', 'retried')).toBe(1);

    const gatewayPort = await freePort();
    const gateway = await createVideoGateway({
      env: {},
      client: env.temporal.client,
      taskQueue,
      storage: createFileStorage(folder),
      port: 0,
      monitor: { port: gatewayPort },
      log: () => undefined,
    });
    closers.push(() => gateway.close());
    const started = await fetch(`${gateway.url}/v1/videos/text-to-video`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    expect(started.status).toBe(200);
    await fetch(`${gateway.url}/v1/videos/nobody`);
    const stream = new AbortController();
    closers.push(async () => stream.abort());
    const { id } = Object(await started.json());
    const events = await fetch(`${gateway.url}/v1/videos/${id}/events`, { signal: stream.signal });
    expect(events.status).toBe(200);
    const { body: ofGateway } = await ask(gatewayPort, '/metrics');
    await untilReady(gatewayPort);
    const start = 'method="POST",route="/v1/videos/text-to-video",status="200"';
    expect(sampleOf(ofGateway, 'videogen_gateway_requests_total', start)).toBe(1);
    expect(sampleOf(ofGateway, 'videogen_gateway_refusals_total', 'code="no_such_video"')).toBe(1);

    const { dashboard, alerts } = namedExpressions();
    const emitted = new Set([...namesIn(ofWorkerText), ...namesIn(ofGateway)]);
    const named = [...dashboard, ...alerts].flatMap(
      (text) => text.match(/\b(?:videogen|temporal)_\w+/g) ?? [],
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !emitted.has(name))).toEqual([]);
    texts.push(ofWorkerText, ofGateway);
    for (const text of texts) {
      for (const secret of [env.emulator.apiKey, WEBHOOK_SECRET, taskId, stored.workflowId, 'red fox'])
        expect(text).not.toContain(secret);
    }

    worker.kill('SIGTERM');
    expect(await worker.ended).toBe(0);
  });

  testAtNight(
    'emit texts that Prometheus accepts',
    async () => {
      const promcheck = await buildPromcheck();
      expect(texts).toHaveLength(2);
      for (const text of texts) expect(promcheck.lint(text.replace(SDK_LABEL, '$1sdk_$2='))).toBe('');
    },
    PROMCHECK_TIMEOUT_MS,
  );
});

describe('a host’s worker with the plugin and separate queues', () => {
  test('drains within its grace on SIGTERM: the download hands over its offset, the submit is awaited, /readyz says so', async () => {
    const taskQueue = `drained-${randomUUID()}`;
    const port = await freePort();
    const metrics = `127.0.0.1:${await freePort()}`;
    const hostEnv = {
      ...settings(taskQueue, port),
      VIDEOGEN_SHUTDOWN_GRACE: '1s',
      VIDEOGEN_TEST_METRICS: metrics,
    };
    const host = await startWorkerProcess(hostEnv, 'host-main.cjs');
    const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
    await untilReady(port);

    const before = env.emulator.calls.length;
    const callsOf = (call: string) => env.emulator.calls.slice(before).filter((one) => one.call === call);
    env.emulator.next('download', { kind: 'stall', afterBytes: 40_000 });
    const downloading = await videos.start({ request: { prompt: 'downloading' }, polling });
    while (callsOf('download').length === 0) await pause();
    env.emulator.next('submit', { kind: 'late', ms: 5_000 });
    const submitting = await videos.start({ request: { prompt: 'submitting' }, polling });
    while (callsOf('submit').length < 2) await pause();
    expect(sampleOf((await ask(port, '/metrics')).body, 'videogen_service_calls_total', 'submit')).toBe(1);

    const ended = host.kill('SIGTERM');
    let readiness = await readinessOf(port);
    while (readiness.polling === 'ok') readiness = await readinessOf(port);
    expect(readiness).toEqual({ status: 503, polling: 'draining' });
    expect((await ask(port, '/livez')).status).toBe(200);
    expect(await ended).toBe(0);

    await startWorkerProcess(hostEnv, 'host-main.cjs');
    await submitting.result();
    await downloading.result();
    expect(callsOf('submit')).toHaveLength(2);
    const [first, second] = callsOf('download');
    expect([first, second].map((one) => one?.range)).toEqual([
      undefined,
      expect.stringMatching(/^bytes=[1-9]\d*-$/),
    ]);
  });
});

test('a worker in a program whose runtime measures nothing says so, and still tells whether it is ready', async () => {
  const taskQueue = `unmeasured-${randomUUID()}`;
  const port = await freePort();
  const worker = await env.createWorker({ taskQueue, roles: ['submits'], monitor: { port } });
  expect(await readinessOf(port)).toEqual({ status: 503, polling: 'starting' });
  const text = await worker.runUntil(async () => {
    await untilReady(port);
    return (await ask(port, '/metrics')).body;
  });
  expect(text).not.toContain('temporal_');
  expect(logs.filter(({ message }) => message.startsWith('Jobs are not measured'))).toHaveLength(1);
  await expect(ask(port, '/livez')).rejects.toThrow('fetch failed');
});
