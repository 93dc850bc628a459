import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { bundleWorkflowCode, DefaultLogger, Worker, type WorkerPlugin } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker/lib/workflow/bundler';
import { createVideoClient } from '../../src/client/video-client';
import { createVideoGateway, type VideoGateway } from '../../src/gateway';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { OWN_WORKFLOWS, shareOwnModules } from '../../src/worker/own-workflows';
import { captureLogs, type LogLine } from '../support/logs';
import { atLength } from '../support/nightly';
import { type SeenSpan, startTracing } from '../support/traced-process';
import { startWebhookReceiver, WEBHOOK_SECRET, type WebhookReceiver } from '../support/webhook-receiver';
import { keepRunning, pause, quickWorkflows } from '../support/world';

const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const POST = 'POST /v1/videos/text-to-video';
const TEMPORALS_INTERCEPTORS = require.resolve(
  '@temporalio/interceptors-opentelemetry/lib/workflow-interceptors',
);
const PROMPT = 'A fox that MARKED-PROMPT may see';
const SAID = 'MARKED-ANSWER about MARKED-PROMPT';

let env: VideoTestEnvironment;
let tracing: ReturnType<typeof startTracing>;
let bundle: WorkflowBundleWithSourceMap;
let receiver: WebhookReceiver;
let gateway: VideoGateway;
let stopWorker: (() => Promise<void>) | undefined;
let logs: LogLine[];

beforeAll(async () => {
  logs = captureLogs();
  tracing = startTracing();
  [env, bundle, receiver] = await Promise.all([
    createVideoTestEnvironment({ server: 'dev', emulator: { jobTimeMs: 0, videoBytes: 65_536 } }),
    bundleWorkflowCode({
      ...shareOwnModules({}),
      workflowsPath: OWN_WORKFLOWS,
      workflowInterceptorModules: [TEMPORALS_INTERCEPTORS],
      logger: new DefaultLogger('WARN'),
    }),
    startWebhookReceiver(),
  ]);
  const worker = await env.createWorker({
    webhooks: { secret: () => WEBHOOK_SECRET, url: receiver.url },
    worker: { workflowBundle: bundle, plugins: [tracing.plugin] },
  });
  stopWorker = keepRunning(worker);
  const { connection } = env.temporal;
  const client = new Client({ connection, interceptors: tracing.interceptors });
  gateway = await createVideoGateway({
    env: { VIDEOGEN_STORAGE: env.storageFolder, VIDEOGEN_LOG_LEVEL: 'error' },
    client,
    port: 0,
  });
});
afterAll(async () => {
  await gateway?.close();
  await stopWorker?.();
  await tracing?.stop();
  await receiver?.close();
  await env?.teardown();
});

/** The spans of a trace, once they include those of the given names. */
async function trace(traceId: string, ...names: string[]): Promise<SeenSpan[]> {
  for (;;) {
    const spans = tracing.spans().filter((span) => span.traceId === traceId);
    if (names.every((name) => spans.some((span) => span.name === name))) return spans;
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

/** The lines of ours about a job. */
const linesOf = (workflowId: string): Record<string, unknown>[] =>
  logs.map(({ meta }) => Object(meta)).filter((meta) => meta.workflowId === workflowId && meta.event);

/** The SDK hands its lines over from time to time. */
async function untilLogged(workflowId: string, event: string): Promise<Record<string, unknown>[]> {
  while (!linesOf(workflowId).some((line) => line.event === event)) await pause();
  return linesOf(workflowId);
}

const named = (spans: SeenSpan[], name: string) => spans.filter((span) => span.name === name);

describe('a video that a program orders from the gateway', () => {
  let workflowId: string;
  let spans: SeenSpan[];
  beforeAll(async () => {
    env.emulator.next('submit', { kind: 'refused', status: 500, message: SAID });
    const answer = await fetch(`${gateway.url}/v1/videos/text-to-video?token=MARKED-QUERY`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        prefer: 'wait=30',
        traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01`,
        baggage: 'user=MARKED-BAGGAGE',
      },
      body: JSON.stringify({ prompt: PROMPT }),
    });
    expect(await answer.json()).toMatchObject({ status: 'completed' });
    spans = await trace(CALLER.traceId, POST, 'RunWorkflow:generateVideo', 'RunWorkflow:deliverWebhook');
    workflowId = String(named(spans, 'RunWorkflow:generateVideo')[0]?.attributes.temporalWorkflowId);
  });

  it('is one trace, from its caller through gateway, workflow and activities to the webhook', () => {
    expect(edges(spans)).toEqual(
      [
        `${CALLER.spanId} > ${POST}`,
        `${POST} > StartWorkflow:generateVideo`,
        'StartWorkflow:generateVideo > RunWorkflow:generateVideo',
        ...spansOfRun(2),
      ].sort(),
    );
  });

  it('says which job and run it was, and how the service answered', () => {
    const [run] = named(spans, 'RunWorkflow:generateVideo');
    expect(Object.keys(run?.attributes ?? {})).toEqual(['temporalWorkflowId', 'run_id']);
    const attempts = named(spans, 'RunActivity:submitVideo');
    for (const { attributes } of attempts) expect(attributes).toMatchObject(run?.attributes ?? {});
    const answers = attempts.map(({ spanId, status }) => {
      const call = spans.find(({ parentSpanId }) => parentSpanId === spanId);
      return [call?.attributes['http.response.status_code'], call?.status.code, status.code];
    });
    expect(answers.sort()).toEqual([
      [200, 0, 1],
      [500, 2, 2],
    ]);
  });

  it('has no secret in its spans, and of what others wrote only the message of a failure', () => {
    const text = JSON.stringify(tracing.spans());
    expect(text).toContain('StartWorkflow:generateVideo');
    const secrets = [
      'MARKED-QUERY',
      'MARKED-BAGGAGE',
      PROMPT,
      env.emulator.apiKey,
      WEBHOOK_SECRET,
      'token=',
      'hidden',
      receiver.url,
    ];
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });

  it('tells the receiver of the webhook its trace', () => {
    const [sent] = named(spans, 'RunActivity:sendWebhook');
    expect(receiver.received.at(-1)?.headers).toMatchObject({
      traceparent: `00-${CALLER.traceId}-${sent?.spanId}-01`,
    });
  });

  it('has a line of the log for each change, with its job, run, task and trace, and one for each poll', async () => {
    const lines = await untilLogged(workflowId, 'stored');
    expect(lines.map(({ event }) => event)).toEqual([
      'submitted',
      'polled',
      'ready',
      'downloading',
      'stored',
    ]);
    const [generation] = env.emulator.generations().slice(-1);
    for (const line of lines) {
      expect(line).toMatchObject({ taskId: generation?.taskId, trace_id: CALLER.traceId });
      expect(line.runId ?? line.workflowRunId).toMatch(/^[0-9a-f-]{36}$/);
      if (line.activityType) expect(line.attempt).toBe(line.event === 'submitted' ? 2 : 1);
    }
  });

  it('goes on on a worker without tracing', async () => {
    const history = await env.temporal.client.workflow.getHandle(workflowId).fetchHistory();
    await Worker.runReplayHistory(quickWorkflows(), history, workflowId);
  });
});

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

test.each([
  ['ours first', (ours: WorkerPlugin, theirs: WorkerPlugin) => [ours, theirs]],
  ["Temporal's first", (ours: WorkerPlugin, theirs: WorkerPlugin) => [theirs, ours]],
])("a worker of a host with Temporal's plugin and ours makes the same spans, %s", async (order, inOrder) => {
  const { nativeConnection: connection } = env.temporal;
  const taskQueue = `films-${order}`;
  const plugins = inOrder(env.createPlugin(), tracing.plugin);
  const hosts = await Worker.create({ connection, taskQueue, plugins });
  const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
  const workflowId = `hosted-${order}`;
  await hosts.runUntil(videos.execute({ request: { prompt: 'A fox' } }, { workflowId }));
  const ofJob = spansOfRun(1).filter((edge) => !/webhook/i.test(edge));
  expect(edges(await traceOfRun(workflowId))).toEqual([' > RunWorkflow:generateVideo', ...ofJob].sort());
});

test('each job that was recorded without tracing goes on with it', async () => {
  const recorded = join(__dirname, '../histories');
  const all = readdirSync(recorded).map((file) => file.replace('.json', ''));
  const histories = atLength(['batch', 'slow', 'cancelled-submit', 'webhooks'], all).map((name) => ({
    workflowId: name,
    history: historyFromJSON(JSON.parse(readFileSync(join(recorded, `${name}.json`), 'utf8'))),
  }));
  const problems: string[] = [];
  for await (const { workflowId, error } of Worker.runReplayHistories(
    { workflowBundle: bundle },
    histories,
  )) {
    if (error) problems.push(`${workflowId}: ${error}`);
  }
  expect(problems).toEqual([]);
});
