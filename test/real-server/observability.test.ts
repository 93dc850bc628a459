import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import { run } from '../../src/cli/run';
import { createVideoClient } from '../../src/client/video-client';
import { createVideoGateway, type VideoGateway, type VideoGatewayOptions } from '../../src/gateway';
import { freePort } from '../../src/temporal-server/loopback-port';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { HealthPart } from '../../src/worker/monitor';
import { OWN_WORKFLOWS } from '../../src/worker/own-workflows';
import { VideoPlugin } from '../../src/worker/video-plugin';
import { Home, untilErr } from '../cli/cli-process';
import { FakeTerminal } from '../cli/fake-terminal';
import { namedExpressions } from '../support/dashboard';
import { captureLogs, type LogLine } from '../support/logs';
import { atLength, testAtNight } from '../support/nightly';
import { buildPromcheck, PROMCHECK_TIMEOUT_MS } from '../support/promcheck';
import { QUICK_PROFILE } from '../support/quick-profile';
import { startWebhookReceiver, WEBHOOK_SECRET, type WebhookReceiver } from '../support/webhook-receiver';
import { killLeftoverWorkers, startWorkerProcess } from '../support/worker-process';
import { failureOf, keepRunning, pause, quickWorkflows, untilProgress } from '../support/world';
import { type SeenSpan, startTracing } from './traced-process';

jest.setTimeout(120_000);

const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const POST = 'POST /v1/videos/text-to-video';
const PROMPT = 'A fox that MARKED-PROMPT may see';
const SAID = 'MARKED-ANSWER about MARKED-PROMPT';
const polling = { min: '1s', max: '1s' } as const;

let logs: LogLine[];
let env: VideoTestEnvironment;
let tracing: ReturnType<typeof startTracing>;
let workflowBundle: { code: string };
let receiver: WebhookReceiver;
let stopWorker: (() => Promise<void>) | undefined;
/** Also of a test that fails. */
const closers: (() => unknown)[] = [];

// One worker with Temporal's own tracing, whose workflows were bundled by our plugin first.
beforeAll(async () => {
  logs = captureLogs();
  tracing = startTracing();
  [env, workflowBundle, receiver] = await Promise.all([
    createVideoTestEnvironment({ server: 'dev', emulator: { jobTimeMs: 0, videoBytes: 65_536 } }),
    bundleWorkflowCode({
      workflowsPath: OWN_WORKFLOWS,
      plugins: [new VideoPlugin({ env: {} }), tracing.plugin],
      logger: new DefaultLogger('WARN'),
    }),
    startWebhookReceiver(),
  ]);
  const worker = await env.createWorker({
    webhooks: { secret: () => WEBHOOK_SECRET, url: receiver.url },
    worker: { workflowBundle, plugins: [tracing.plugin] },
  });
  stopWorker = keepRunning(worker);
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
afterAll(async () => {
  await killLeftoverWorkers();
  await stopWorker?.();
  await tracing?.stop();
  await receiver?.close();
  await env?.teardown();
});

function openGateway(more: Partial<VideoGatewayOptions>): Promise<VideoGateway> {
  const settings = { VIDEOGEN_STORAGE: env.storageFolder, VIDEOGEN_LOG_LEVEL: 'error' };
  return createVideoGateway({ env: settings, client: env.temporal.client, port: 0, ...more });
}

const orderFrom = ({ url }: VideoGateway, prompt: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/v1/videos/text-to-video?token=MARKED-QUERY`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ prompt }),
  });

describe('traces', () => {
  const named = (spans: SeenSpan[], name: string) => spans.filter((span) => span.name === name);

  /** The spans of a trace, once they include those of the given names. */
  async function trace(traceId: string, ...names: string[]): Promise<SeenSpan[]> {
    for (;;) {
      const spans = tracing.spans().filter((span) => span.traceId === traceId);
      if (names.every((name) => named(spans, name).length > 0)) return spans;
      await pause();
    }
  }

  /** The trace whose root is the run of a job: its caller has none. */
  async function traceOfRun(workflowId: string): Promise<SeenSpan[]> {
    for (;;) {
      const root = named(tracing.spans(), 'RunWorkflow:generateVideo').find(
        ({ attributes }) => attributes.temporalWorkflowId === workflowId,
      );
      if (root) return trace(root.traceId);
      await pause();
    }
  }

  /** `[parent, child]` for each span; the parent of a span that belongs to none of ours is its id. */
  function edges(spans: SeenSpan[]): string[] {
    const names = new Map(spans.map(({ spanId, name }) => [spanId, name]));
    return spans
      .map(({ name, parentSpanId = '' }) => `${names.get(parentSpanId) ?? parentSpanId} > ${name}`)
      .sort();
  }

  /** Those of a job whose video is ready at the first poll, and of its webhook. */
  const spansOfRun = (submits: number): string[] => [
    'RunWorkflow:generateVideo > StartActivity:routeJob',
    'StartActivity:routeJob > RunActivity:routeJob',
    'RunWorkflow:generateVideo > StartActivity:submitVideo',
    ...Array.from({ length: submits }, () => [
      'StartActivity:submitVideo > RunActivity:submitVideo',
      'RunActivity:submitVideo > POST',
    ]).flat(),
    'RunWorkflow:generateVideo > StartActivity:pollVideo',
    'StartActivity:pollVideo > RunActivity:pollVideo',
    'RunActivity:pollVideo > GET',
    'RunWorkflow:generateVideo > StartActivity:downloadVideo',
    'StartActivity:downloadVideo > RunActivity:downloadVideo',
    'RunActivity:downloadVideo > GET',
    'RunActivity:downloadVideo > GET',
    'RunWorkflow:generateVideo > StartChildWorkflow:deliverWebhook',
    'StartChildWorkflow:deliverWebhook > RunWorkflow:deliverWebhook',
    'RunWorkflow:deliverWebhook > StartActivity:sendWebhook',
    'StartActivity:sendWebhook > RunActivity:sendWebhook',
    'RunActivity:sendWebhook > POST',
  ];

  describe('of a video that a program orders from the gateway', () => {
    let workflowId: string;
    let spans: SeenSpan[];
    beforeAll(async () => {
      const { connection } = env.temporal;
      const gateway = await openGateway({
        client: new Client({ connection, interceptors: tracing.interceptors }),
      });
      env.emulator.next('submit', { kind: 'refused', status: 500, message: SAID });
      const answer = await orderFrom(gateway, PROMPT, {
        prefer: 'wait=30',
        traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01`,
        baggage: 'user=MARKED-BAGGAGE',
      });
      expect(await answer.json()).toMatchObject({ status: 'completed' });
      spans = await trace(CALLER.traceId, POST, 'RunWorkflow:generateVideo', 'RunWorkflow:deliverWebhook');
      workflowId = String(named(spans, 'RunWorkflow:generateVideo')[0]?.attributes.temporalWorkflowId);
      await gateway.close();
    });

    it('are one, from its caller through gateway, workflow and activities to the receiver of the webhook', () => {
      expect(edges(spans)).toEqual(
        [
          `${CALLER.spanId} > ${POST}`,
          `${POST} > StartWorkflow:generateVideo`,
          'StartWorkflow:generateVideo > RunWorkflow:generateVideo',
          ...spansOfRun(2),
        ].sort(),
      );
      const [sent] = named(spans, 'RunActivity:sendWebhook');
      expect(receiver.received.at(-1)?.headers).toMatchObject({
        traceparent: `00-${CALLER.traceId}-${sent?.spanId}-01`,
      });
    });

    it('say which job and run it was, and how the service answered', () => {
      const [ofRun] = named(spans, 'RunWorkflow:generateVideo');
      expect(Object.keys(ofRun?.attributes ?? {})).toEqual(['temporalWorkflowId', 'run_id']);
      const attempts = named(spans, 'RunActivity:submitVideo');
      for (const { attributes } of attempts) expect(attributes).toMatchObject(ofRun?.attributes ?? {});
      const answers = attempts.map(({ spanId, status }) => {
        const call = spans.find(({ parentSpanId }) => parentSpanId === spanId);
        return [call?.attributes['http.response.status_code'], call?.status.code, status.code];
      });
      expect(answers.sort()).toEqual([
        [200, 0, 1],
        [500, 2, 2],
      ]);
    });

    it('have no secret, and of what others wrote only the message of a failure', () => {
      const text = JSON.stringify(tracing.spans());
      expect(text).toContain('StartWorkflow:generateVideo');
      const ours = [env.emulator.apiKey, WEBHOOK_SECRET, receiver.url];
      const theirs = ['MARKED-QUERY', 'MARKED-BAGGAGE', PROMPT, 'token=', 'hidden'];
      expect([...ours, ...theirs].filter((secret) => text.includes(secret))).toEqual([]);
    });

    it('are named by the log, which has a line for each change and for each poll', async () => {
      const linesOfJob = () =>
        logs
          .map(({ meta }): Record<string, unknown> => Object(meta))
          .filter((meta) => meta.workflowId === workflowId && meta.event);
      // The SDK hands its lines over from time to time.
      while (!linesOfJob().some(({ event }) => event === 'stored')) await pause();
      const events = linesOfJob().map(({ event }) => event);
      expect(events).toEqual(['submitted', 'polled', 'ready', 'downloading', 'stored']);
      const [generation] = env.emulator.generations().slice(-1);
      for (const line of linesOfJob()) {
        expect(line).toMatchObject({ taskId: generation?.taskId, trace_id: CALLER.traceId });
        expect(line.runId ?? line.workflowRunId).toMatch(/^[0-9a-f-]{36}$/);
        if (line.activityType) expect(line.attempt).toBe(line.event === 'submitted' ? 2 : 1);
      }
    });

    it('do not keep it from going on at a worker without tracing', async () => {
      const history = await env.temporal.client.workflow.getHandle(workflowId).fetchHistory();
      await Worker.runReplayHistory(quickWorkflows(), history, workflowId);
    });
  });

  // It bundles its workflows twice.
  testAtNight('are the same at a host whose first plugin is that of Temporal', async () => {
    const taskQueue = 'films';
    const hosts = await Worker.create({
      connection: env.temporal.nativeConnection,
      taskQueue,
      plugins: [tracing.plugin, env.createPlugin()],
    });
    const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
    await hosts.runUntil(videos.execute({ request: { prompt: 'A fox' } }, { workflowId: 'hosted' }));
    const ofJob = spansOfRun(1).filter((edge) => !/webhook/i.test(edge));
    expect(edges(await traceOfRun('hosted'))).toEqual([' > RunWorkflow:generateVideo', ...ofJob].sort());
  });

  test('do not keep jobs that were recorded without them from going on', async () => {
    const recorded = join(__dirname, '../histories');
    const all = readdirSync(recorded).map((file) => file.replace('.json', ''));
    const histories = atLength(['batch', 'slow', 'cancelled-submit', 'webhooks'], all).map((name) => ({
      workflowId: name,
      history: historyFromJSON(JSON.parse(readFileSync(join(recorded, `${name}.json`), 'utf8'))),
    }));
    const problems: string[] = [];
    for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories)) {
      if (error) problems.push(`${workflowId}: ${error}`);
    }
    expect(problems).toEqual([]);
  });
});

const settings = (taskQueue: string, port: number) => ({
  TEMPORAL_ADDRESS: env.temporal.address,
  VIDEO_API_BASE_URL: env.emulator.url,
  VIDEO_API_KEY: env.emulator.apiKey,
  VIDEOGEN_TASK_QUEUE: taskQueue,
  VIDEOGEN_STORAGE: env.storageFolder,
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

/** The value of a metric with this text in its labels, whatever its other labels are. */
function sampleOf(text: string, metric: string, label = ''): number | undefined {
  const values = text
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `))
    .filter((line) => line.includes(label))
    .map((line) => Number(line.split(' ').at(-1)));
  return values.length === 0 ? undefined : values.reduce((a, b) => a + b);
}

async function untilMetric(port: number, metric: string, label: string, value: number): Promise<string> {
  for (;;) {
    const { body } = await ask(port, '/metrics');
    if (sampleOf(body, metric, label) === value) return body;
    await pause();
  }
}

const namesIn = (text: string) => text.split('\n').map((line) => /^\w+/.exec(line)?.[0] ?? '');

describe('the metrics of a worker and of a gateway', () => {
  let ofWorker: string;
  let ofGateway: string;

  test('are all that dashboard and alerts name, without a secret', async () => {
    const taskQueue = `monitored-${randomUUID()}`;
    const port = await freePort();
    const registered = new FakeTerminal({ TEMPORAL_ADDRESS: env.temporal.address });
    expect(await run(['doctor', '--register'], registered)).toBe(0);
    const attributes = { VIDEOGEN_SEARCH_ATTRIBUTES: 'true' };
    const videos = await createVideoClient({ client: env.temporal.client, taskQueue, env: attributes });
    const refusing = await startWebhookReceiver([500]);
    const home = new Home();
    closers.push(
      () => refusing.close(),
      () => home.remove(),
    );
    const worker = home.start(['worker'], {
      ...settings(taskQueue, port),
      ...attributes,
      VIDEOGEN_WEBHOOK_SECRET: WEBHOOK_SECRET,
      VIDEOGEN_WEBHOOK_ALLOW: '127.0.0.1',
    });
    await untilErr(worker, `at http://127.0.0.1:${port}/metrics`);
    await untilReady(port);
    expect(await ask(port, '/livez')).toMatchObject({ status: 200 });
    // From the start, so that Prometheus sees the first failure as an increase.
    const { body: atStart } = await ask(port, '/metrics');
    expect(sampleOf(atStart, 'videogen_jobs_total', 'outcome="StorageFailed"')).toBe(0);

    const request = { prompt: 'A red fox nobody may read about' };
    env.emulator.next('submit', { kind: 'rate-limited', retryAfter: 1 });
    const stored = await videos.start({ request, polling, callbackUrl: refusing.url });
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
    ofWorker = await untilMetric(port, 'videogen_webhooks_total', 'delivered', 1);
    for (const [metric, label, value] of [
      ['videogen_jobs_total', 'succeeded', 3],
      ['videogen_jobs_total', 'GenerationFailed', 1],
      ['videogen_jobs_total', 'SubmitUnconfirmed', 1],
      ['videogen_holds_started_total', '', 1],
      ['videogen_holds_ended_total', 'abandon', 1],
      ['videogen_service_calls_total', 'result="limited"', 1],
      ['videogen_generation_seconds_count', '', 3],
      ['videogen_job_polls_count', '', 4],
      ['videogen_download_bytes_total', '', 3 * 65_536],
      ['videogen_webhooks_total', 'retried', 1],
    ] as const)
      expect([metric, label, sampleOf(ofWorker, metric, label)]).toEqual([metric, label, value]);

    const gatewayPort = await freePort();
    const gateway = await openGateway({ taskQueue, monitor: { port: gatewayPort } });
    const stream = new AbortController();
    closers.push(
      () => stream.abort(),
      () => gateway.close(),
    );
    const started = await orderFrom(gateway, request.prompt);
    expect(started.status).toBe(200);
    await fetch(`${gateway.url}/v1/videos/nobody`);
    const { id } = Object(await started.json());
    const events = await fetch(`${gateway.url}/v1/videos/${id}/events`, { signal: stream.signal });
    expect(events.status).toBe(200);
    await untilReady(gatewayPort);
    ({ body: ofGateway } = await ask(gatewayPort, '/metrics'));
    expect(sampleOf(ofGateway, 'videogen_gateway_streams')).toBe(1);
    stream.abort();
    await untilMetric(gatewayPort, 'videogen_gateway_streams', '', 0);
    const start = 'method="POST",route="/v1/videos/text-to-video",status="200"';
    expect(sampleOf(ofGateway, 'videogen_gateway_requests_total', start)).toBe(1);
    expect(sampleOf(ofGateway, 'videogen_gateway_refusals_total', 'code="no_such_video"')).toBe(1);

    const { dashboard, alerts } = namedExpressions();
    const emitted = new Set([...namesIn(ofWorker), ...namesIn(ofGateway)]);
    const shown = [...dashboard, ...alerts].flatMap(
      (text) => text.match(/\b(?:videogen|temporal)_\w+/g) ?? [],
    );
    expect(shown.length).toBeGreaterThan(20);
    expect(shown.filter((name) => !emitted.has(name))).toEqual([]);
    for (const secret of [env.emulator.apiKey, WEBHOOK_SECRET, taskId, stored.workflowId, 'red fox'])
      expect(ofWorker + ofGateway).not.toContain(secret);
    worker.kill('SIGTERM');
    expect(await worker.ended).toBe(0);
  });

  testAtNight(
    'are texts that Prometheus accepts',
    async () => {
      const promcheck = await buildPromcheck();
      /** The SDK spells its labels of our metrics in camel case, of which the linter warns. */
      const SDK_LABEL = /([{,])(task|workflow|activity)(?:Queue|Type)=/g;
      for (const text of [ofWorker, ofGateway])
        expect(promcheck.lint(text.replace(SDK_LABEL, '$1sdk_$2='))).toBe('');
    },
    PROMCHECK_TIMEOUT_MS,
  );
});

test('a host’s worker drains within its grace on SIGTERM: its download hands over the offset, its submit is awaited, /readyz says so', async () => {
  const taskQueue = `drained-${randomUUID()}`;
  const port = await freePort();
  const hostEnv = {
    ...settings(taskQueue, port),
    VIDEOGEN_SHUTDOWN_GRACE: '1s',
    VIDEOGEN_TEST_METRICS: `127.0.0.1:${await freePort()}`,
  };
  const host = await startWorkerProcess(hostEnv, 'host-main.cjs');
  const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
  await untilReady(port);

  const before = env.emulator.calls.length;
  const callsOf = (call: string) => env.emulator.calls.slice(before).filter((one) => one.call === call);
  env.emulator.next('download', { kind: 'stall', afterBytes: 40_000 });
  const downloading = await videos.start({ request: { prompt: 'downloading' }, polling });
  while (callsOf('download').length === 0) await pause();
  env.emulator.next('submit', { kind: 'late', ms: 3_000 });
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
  const ranges = callsOf('download').map(({ range }) => range);
  expect(ranges).toEqual([undefined, expect.stringMatching(/^bytes=[1-9]\d*-$/)]);
});

test('a worker in a program whose runtime measures nothing says so, and still tells whether it is ready', async () => {
  const port = await freePort();
  const worker = await env.createWorker({
    taskQueue: `unmeasured-${randomUUID()}`,
    roles: ['submits'],
    monitor: { port },
  });
  expect(await readinessOf(port)).toEqual({ status: 503, polling: 'starting' });
  const text = await worker.runUntil(async () => {
    await untilReady(port);
    return (await ask(port, '/metrics')).body;
  });
  expect(text).not.toContain('temporal_');
  expect(logs.filter(({ message }) => message.startsWith('Jobs are not measured'))).toHaveLength(1);
  await expect(ask(port, '/livez')).rejects.toThrow('fetch failed');
});
