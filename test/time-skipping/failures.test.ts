import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { run } from '../../src/cli/run';
import type { VideoJob } from '../../src/client/video-job';
import { type Call, FAILURES, type FailureType, isFailureType } from '../../src/contract/failure-table';
import type { JobInput } from '../../src/contract/job';
import { createVideoService } from '../../src/service';
import { freePort } from '../../src/temporal-server/loopback-port';
import { createVideoTestEnvironment, type Emulator, type VideoTestEnvironment } from '../../src/testing';
import { noiseVideo } from '../../src/testing/video/make-video';
import { exporterUrl, prometheusMetrics } from '../../src/worker/worker-monitor';
import { FakeTerminal } from '../cli/fake-terminal';
import { reply, replyJson, startRawServer } from '../service/raw-server';
import { readPage, sectionOf } from '../support/docs-page';
import { historyOf } from '../support/history';
import { captureLogs, type LogLine } from '../support/logs';
import { filesIn, recordsIn } from '../support/stored-files';
import { failureOf, inWorld, pause, type World, type WorldOptions } from '../support/world';

const SECTION = sectionOf(readPage('failures.md'), 'Where a failure shows');
const TYPES = Object.keys(FAILURES).filter(isFailureType);
const request = { prompt: 'A red fox in the snow' };
const MINUTE = 60_000;
const EVERY_MINUTE = { min: '1m', max: '1m' };
const MANY = 30;
const times = <T>(fault: T) => Array.from({ length: MANY }, () => fault);

const apiKey = `sk-${randomUUID()}`;
/** A part of the key, and other encodings of it. */
const SPELLINGS = [
  apiKey.slice(0, 20),
  Buffer.from(apiKey).toString('base64').replace(/=+$/, '').slice(0, -1),
  apiKey.replace('s', '\\u0073').replaceAll('-', '%2D'),
];
const QUOTES_KEY = `bad key: Bearer ${apiKey} ${SPELLINGS.join(' ')}`;
const quotesLink = ({ url, linkSignature }: Emulator) =>
  `cannot open ${url}/files/x.mp4?signature=${linkSignature}`;

let env: VideoTestEnvironment;
let logs: LogLine[];
beforeAll(async () => {
  logs = captureLogs(prometheusMetrics(`127.0.0.1:${await freePort()}`));
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

/** Every series of ours with its value, without the labels that the SDK adds. */
async function readMetrics(): Promise<Map<string, number>> {
  const text = await (await fetch(exporterUrl() ?? '')).text();
  const sums = new Map<string, number>();
  for (const [, name = '', labels = '', value] of text.matchAll(/^(videogen_\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    const own = labels.match(/\b(outcome|call|result|end)="[^"]*"/g)?.join(',');
    const series = own === undefined ? name : `${name}{${own}}`;
    sums.set(series, (sums.get(series) ?? 0) + Number(value));
  }
  return sums;
}

/** The rows of the table in the page. */
const PLACES = ['`videogen status`', 'Temporal UI', 'Metrics', 'Log'] as const;
type Place = (typeof PLACES)[number];

/** The same for nearly all jobs, which share a worker. */
const WORLD: WorldOptions = { apiKey, largestVideoBytes: 100_000 };

/** How each failure comes about: the world of the job, what happens to it, and its input. */
interface Cause {
  world?: WorldOptions;
  faults?(world: World): unknown;
  input?: JobInput;
  /** Done while the job runs. */
  meanwhile?(world: World, workflowId: string): Promise<void>;
  /** What happened, where it is not the meaning of the type. */
  problem?: string;
  /** What shows besides what the page says of every failure. */
  also?: Partial<Record<Place, string[]>>;
}

const calls = (call: Call, result: string) => [
  `videogen_service_calls_total{call="${call}",result="${result}"}`,
];

const CAUSES: Record<FailureType, Cause> = {
  InvalidRequest: {
    faults: ({ emulator }) => emulator.next('submit', { kind: 'refused', status: 400, message: QUOTES_KEY }),
    also: { '`videogen status`': ['HTTP 400'], Metrics: calls('submit', 'refused') },
  },
  Unauthorized: {
    faults: ({ emulator }) => emulator.next('submit', { kind: 'refused', status: 401, message: QUOTES_KEY }),
    also: { Metrics: calls('submit', 'refused') },
  },
  RateLimited: {
    faults: ({ emulator }) => emulator.next('submit', ...times({ kind: 'rate-limited' } as const)),
    input: { request, deadline: '1m' },
    also: { Metrics: calls('submit', 'limited') },
  },
  ServiceFailed: {
    faults: ({ emulator }) => emulator.next('submit', ...times({ kind: 'server-error' } as const)),
    input: { request, deadline: '1m' },
    also: { '`videogen status`': ['HTTP 500'], Metrics: calls('submit', 'refused') },
  },
  ServiceUnreachable: {
    faults: ({ emulator }) => emulator.close(),
    input: { request, deadline: '1m' },
    also: { '`videogen status`': ['ECONNREFUSED'], Metrics: calls('submit', 'unanswered') },
  },
  AnswerUnreadable: {
    faults: ({ emulator }) => emulator.next('submit', { kind: 'refused', status: 404, message: 'no page' }),
    also: { '`videogen status`': ['HTTP 404'], Metrics: calls('submit', 'refused') },
  },
  SubmitUnconfirmed: {
    faults: ({ emulator }) => emulator.next('submit', { kind: 'reset' }),
    input: { request, onLostSubmit: 'hold', holdFor: '1h' },
    also: {
      '`videogen status`': ['nobody decided'],
      Metrics: ['videogen_holds_started_total', 'videogen_holds_ended_total{end="expired"}'],
      Log: ["event: 'held'"],
    },
  },
  TaskUnknown: {
    input: { taskId: 'task_of_somebody_else' },
    also: { Metrics: calls('poll', 'refused'), Log: ["event: 'pollsFailing'"] },
  },
  GenerationFailed: {
    faults: ({ emulator }) =>
      emulator.next('status', { kind: 'failed-task', code: 'foxes', message: QUOTES_KEY }),
    also: { 'Temporal UI': ['The service says: failed'], Metrics: calls('poll', 'passed') },
  },
  ContentRefused: {
    faults: ({ emulator }) => emulator.next('submit', { kind: 'refused-content', stage: 'output' }),
    problem: 'The content policy of the service refused the finished video',
    also: { 'Temporal UI': ['The service says: failed'], Metrics: calls('poll', 'passed') },
  },
  GenerationCancelled: {
    faults: ({ emulator }) => emulator.next('status', { kind: 'unknown-state', word: 'cancelled' }),
    also: { 'Temporal UI': ['The service says: cancelled'] },
  },
  NoVideo: {
    world: { jobTimeMs: 0 },
    faults: ({ emulator }) => emulator.next('status', ...times({ kind: 'no-video' } as const)),
    input: { request, deadline: '5m' },
    also: {
      'Temporal UI': ['The service says: succeeded'],
      Metrics: calls('poll', 'passed'),
      Log: ["event: 'polled'"],
    },
  },
  VideoUnavailable: {
    world: { jobTimeMs: 0 },
    faults: ({ emulator }) =>
      emulator.next(
        'download',
        ...times({ kind: 'refused', status: 403, message: quotesLink(emulator) } as const),
      ),
    also: { Metrics: calls('download', 'refused'), Log: ["event: 'downloading'"] },
  },
  VideoCorrupt: {
    world: { jobTimeMs: 0 },
    faults: ({ emulator }) => emulator.next('download', ...times({ kind: 'web-page' } as const)),
    also: { Metrics: ['videogen_download_bytes_total'], Log: ["event: 'downloading'"] },
  },
  VideoTooLarge: {
    world: { jobTimeMs: 0, videoBytes: 200_000 },
    also: { Metrics: calls('download', 'passed'), Log: ["event: 'downloading'"] },
  },
  StorageFailed: {
    world: { jobTimeMs: 0 },
    faults: ({ videos }) => videos.execute({ request, storage: 'fox.mp4' }),
    input: { request, storage: 'fox.mp4/inside-a-file.mp4' },
    also: { Log: ["event: 'downloading'"] },
  },
  DeadlineExceeded: {
    world: { jobTimeMs: 3_600_000 },
    input: { request, deadline: '2m' },
    also: {
      '`videogen status`': ['was last seen'],
      Metrics: ['videogen_job_polls'],
      Log: ["event: 'polled'"],
    },
  },
  Unexpected: {
    world: {
      jobTimeMs: 0,
      wrapService: (service) => ({
        ...service,
        open: () => {
          throw new TypeError('a bug');
        },
      }),
    },
    input: { request, deadline: '1m' },
  },
  CapReached: {
    world: { caps: { day: { videos: 0 } } },
    also: { 'Temporal UI': ['the daily cap of 0 videos is reached'] },
  },
  Cancelled: {
    world: { jobTimeMs: 3_600_000 },
    meanwhile: async ({ videos }, workflowId) => {
      await videos.handle(workflowId).taskId();
      await videos.handle(workflowId).cancel();
    },
  },
};

/** What operators see of a job that fails so. */
async function provoke(type: FailureType, run = 1): Promise<Record<Place, string>> {
  const { world: options = {}, faults, input = { request }, meanwhile } = CAUSES[type];
  const seen = await inWorld(env, { ...WORLD, ...options }, async (world) => {
    const workflowId = run === 1 ? `trouble-${type}` : `trouble-${type}-${run}`;
    await faults?.(world);
    const before = await readMetrics();
    const job = await world.videos.start(input, { workflowId });
    await meanwhile?.(world, workflowId);
    const failure = await failureOf(job.result());
    const isLate = Object(failure).type === 'DeadlineExceeded' && type !== 'DeadlineExceeded';
    // On a busy machine the test server may skip to the deadline while an attempt waits to be taken.
    if (isLate && run < 3) return undefined;
    expect(failure).toMatchObject({ type });
    await untilLogged(workflowId);
    await expectNoSecrets(world, job, failure);
    return {
      '`videogen status`': await statusOf(workflowId),
      'Temporal UI': await detailsOf(workflowId),
      Metrics: risenBetween(before, await readMetrics()).join('\n'),
      Log: linesOf(workflowId).join('\n'),
    };
  });
  return seen ?? provoke(type, run + 1);
}

/** Every secret so far. */
const secrets = new Set([apiKey, ...SPELLINGS]);

function expectNone(traces: Record<string, string>): void {
  for (const secret of secrets) {
    expect(Object.keys(traces).filter((where) => traces[where]?.includes(secret))).toEqual([]);
  }
}

/** Neither the API key nor a link is in anything that is visible about a job. */
async function expectNoSecrets(world: World, job: VideoJob, outcome: unknown): Promise<void> {
  const { storageFolder, emulator } = world;
  secrets.add(emulator.linkSignature);
  const handle = env.temporal.client.workflow.getHandle(job.workflowId);
  const traces: Record<string, string> = {
    outcome: inspect(outcome, { depth: 20 }),
    progress: JSON.stringify(await job.progress()),
    details: await detailsOf(job.workflowId),
    memo: JSON.stringify((await handle.describe()).memo),
    history: decodePayloads(historyToJSON(await historyOf(env.temporal.client, job.workflowId))),
  };
  for (const file of [...(await filesIn(storageFolder)), ...(await recordsIn(storageFolder))]) {
    traces[file] = (await readFile(join(storageFolder, file))).toString('latin1');
  }
  expectNone(traces);
}

/** Payloads in a history are base64. Appends them decoded, so that a secret in one is found. */
function decodePayloads(json: string): string {
  const decoded = [...json.matchAll(/"data":\s*"([^"]+)"/g)].map(([, data]) =>
    Buffer.from(data ?? '', 'base64').toString(),
  );
  return json + decoded.join('\n');
}

/** On a screen that is wide enough for every line. */
async function statusOf(workflowId: string): Promise<string> {
  const settings = { TEMPORAL_ADDRESS: env.temporal.address };
  const terminal = new FakeTerminal(settings, false, true);
  expect(await run(['status', workflowId], terminal)).toBe(0);
  return terminal.stdout;
}

async function detailsOf(workflowId: string): Promise<string> {
  const handle = env.temporal.client.workflow.getHandle(workflowId);
  const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  return currentDetails;
}

const linesOf = (workflowId: string) =>
  logs
    .filter(({ meta }) => Object(meta).workflowId === workflowId && 'event' in Object(meta))
    .map(({ message, meta }) => `${message} ${inspect(meta, { breakLength: Number.POSITIVE_INFINITY })}`);

/** Log lines of workflows arrive late. */
async function untilLogged(workflowId: string): Promise<void> {
  while (!linesOf(workflowId).some((line) => /^(failed|cancelled) /.test(line))) await pause();
}

const risenBetween = (before: Map<string, number>, after: Map<string, number>) =>
  [...after].flatMap(([series, value]) => (value > (before.get(series) ?? 0) ? [series] : []));

/** What the page says that a place shows of a failure. */
function promisedAt(type: FailureType, place: Place): string[] {
  const row = SECTION.split('\n').find((line) => line.startsWith(`| ${place} |`)) ?? '';
  const [, failed = '', cancelled = ''] = row.split(' | ').map((cell) => cell.replace(/ \|$/, ''));
  const cell = type === 'Cancelled' && cancelled !== 'the same' ? cancelled : failed;
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text.replace('TYPE', type));
}

/** The count and the sum of a histogram. */
async function observed(histogram: string): Promise<number[]> {
  const metrics = await readMetrics();
  return [metrics.get(`${histogram}_count`) ?? 0, metrics.get(`${histogram}_sum`) ?? 0];
}

// Before all other jobs, whose tasks would be counted too.
test('how long a task took, and how long its video lay ready, is measured of a task of the job and not of an adopted one', async () => {
  await inWorld(env, { ...WORLD, jobTimeMs: 1.5 * MINUTE }, async ({ videos, service }) => {
    await videos.execute({ request, polling: EVERY_MINUTE });
    const [tasks, seconds = 0] = await observed('videogen_generation_seconds');
    const [ready, lag = 0] = await observed('videogen_ready_lag_seconds');
    expect([tasks, ready]).toEqual([1, 1]);
    expect(seconds).toBeGreaterThanOrEqual(120);
    expect(seconds).toBeLessThan(150);
    expect(lag).toBeGreaterThanOrEqual(60);
    expect(lag).toBeLessThan(seconds);

    const { taskId } = await service.start(request, { idempotencyKey: 'of somebody else' });
    await env.temporal.sleep(2 * MINUTE);
    await videos.execute({ taskId, polling: EVERY_MINUTE });
    expect(await observed('videogen_job_polls')).toEqual([2, 3]);
    expect(await observed('videogen_generation_seconds')).toEqual([tasks, seconds]);
    expect(await observed('videogen_ready_lag_seconds')).toEqual([ready, lag]);
  });
});

test.each(TYPES)('%s shows where the page says, and no secret shows anywhere', async (type) => {
  const seen = await provoke(type);
  const { meaning, advice } = FAILURES[type];
  const { problem = meaning, also = {} } = CAUSES[type];
  const said: Record<Place, string[]> = {
    '`videogen status`': [problem, advice],
    'Temporal UI': [problem],
    Metrics: [],
    Log: [],
  };
  for (const place of PLACES) {
    const expected = [...promisedAt(type, place), ...said[place], ...(also[place] ?? [])];
    expect({ place, expected }).not.toEqual({ place, expected: [] });
    const missing = expected.filter((text) => !seen[place].includes(text));
    expect({ place, shows: seen[place], missing }).toEqual({ place, shows: seen[place], missing: [] });
  }
});

/** Log lines arrive late. */
async function untilStored({ workflowId }: VideoJob): Promise<void> {
  const isStored = ({ message, meta }: LogLine) =>
    message === 'stored' && Object(meta).workflowId === workflowId;
  while (!logs.some(isStored)) await pause();
}

test('no secret shows of a job that met errors and stored its video', async () => {
  await inWorld(env, { ...WORLD, jobTimeMs: 0 }, async (world) => {
    const { emulator, videos } = world;
    const refused = { kind: 'refused', status: 403, message: quotesLink(emulator) } as const;
    emulator.next('status', { kind: 'reset' }, { kind: 'server-error' }, { kind: 'bad-json' }, refused);
    emulator.next('download', { kind: 'cut', afterBytes: 10 }, { kind: 'web-page' }, refused);
    const job = await videos.start({ request });
    await expectNoSecrets(world, job, await job.result());
    expect(emulator.scriptIsSpent()).toBe(true);
    await untilStored(job);
  });
});

test('no secret shows of a profile with a secret header, and of an ambiguous answer with a key in it', async () => {
  const secretHeader = `workspace-${randomUUID()}`;
  secrets.add(secretHeader);
  const video = await noiseVideo(request, 64 * 1024);
  const server = await startRawServer((asked) => {
    if (asked.line.includes('/v.mp4')) return reply(asked, { body: video });
    // A second id, and an error beside a success, each with the secrets of the request.
    const task = { task_id: 'task-1', taskId: `of-${secretHeader}-${apiKey}` };
    if (asked.line.startsWith('POST')) return replyJson(asked, task);
    const error = { code: secretHeader, message: `${asked.headers['x-workspace']} and ${apiKey}` };
    replyJson(asked, { ...task, status: 'succeeded', video_url: '/v.mp4', error });
  });
  const profile = { headers: { 'x-workspace': secretHeader } };
  const service = createVideoService({ baseUrl: server.url, apiKey: () => apiKey, profile });
  await inWorld(env, { ...WORLD, wrapService: () => service }, async (world) => {
    const job = await world.videos.start({ request });
    const result = await job.result();
    expect(result.taskId).toBe('task-1');
    await expectNoSecrets(world, job, result);
    await untilStored(job);
  });
  await service.close();
  await server.close();
  expect(server.requests.map(({ headers }) => headers['x-workspace'])).toContain(secretHeader);
  expect(logs.filter(({ message }) => message === 'the answer is ambiguous').length).toBeGreaterThan(1);
});

test('no secret shows in the log of these jobs', () => {
  const log = inspect(logs, { depth: 20, maxArrayLength: null, maxStringLength: null });
  expect(log).toContain('submitted');
  expectNone({ log });
});
