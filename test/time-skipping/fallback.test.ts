import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import { parseResults, resultsKey } from '../../src/contract/batch';
import type { FailureType } from '../../src/contract/failure-table';
import type { FallbackInput, JobResult } from '../../src/contract/job';
import { isVideoFailure } from '../../src/contract/video-failure';
import { createVideoService, type NamedServices, type OpenedVideoService } from '../../src/service';
import {
  createVideoTestEnvironment,
  type Emulator,
  type Faults,
  startEmulator,
  type VideoTestEnvironment,
} from '../../src/testing';
import { captureLogs, type LogLine } from '../support/logs';
import { redirectSubmits, submittingOn } from '../support/redirect-submits';
import { failureOf, keepRunning, pause, quickWorkflows, untilProgress } from '../support/world';

let env: VideoTestEnvironment;
let logs: LogLine[];
beforeAll(async () => {
  logs = captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

describe('a fallback', () => {
  const request = { prompt: 'A red fox', duration: 5 };
  const QUEUE = 'fallback';
  /** Each test takes a pair of services. */
  const PAIRS = 6;

  const REFUSED = (status: number) =>
    ({ kind: 'refused', status, code: 'foxes', message: 'no foxes' }) as const;
  const SERVER_ERROR = (status: number) => ({ kind: 'server-error', status }) as const;
  const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);

  /** How a job ends: with the task of one of the services, held for a decision, or failed. */
  type End = 'a' | 'b' | 'held' | FailureType;

  interface Row {
    /** What service a does with the submits. */
    faults: Faults['submit'][];
    /** Where a is, if not at its emulator. */
    at?: 'closed port' | 'certain';
    input?: Partial<FallbackInput>;
    /** The POSTs that a and b get. */
    posts: [a: number, b: number];
    end: End;
  }

  /** What the end of the submit to a decides; only b is left after it. test/model plays more answers. */
  const ROWS: Record<string, Row> = {
    'answers 422 to a key of the caller, which it may know': {
      faults: [REFUSED(422)],
      input: { idempotencyKey: 'order-4711' },
      posts: [1, 0],
      end: 'held',
    },
    'answers 429 and asks for a long wait': {
      faults: [{ kind: 'rate-limited', retryAfter: 300 }],
      posts: [1, 1],
      end: 'b',
    },
    'answers 429 and asks for a wait that the job gives it': {
      faults: [{ kind: 'rate-limited', retryAfter: 300 }],
      input: { fallbackAfter: '10m' },
      posts: [2, 0],
      end: 'a',
    },
    // After 0, 2, 6, 14 and 30 seconds: the next retry would come after the minute.
    'answers 503 for longer than a minute': { faults: times(5, SERVER_ERROR(503)), posts: [5, 1], end: 'b' },
    // Half of the minute that both have: after 0, 2, 6 and 14 seconds.
    'answers 503, and the deadline is near': {
      faults: times(4, SERVER_ERROR(503)),
      input: { deadline: '1m' },
      posts: [4, 1],
      end: 'b',
    },
    // The task may exist behind the 500, and only this service knows the idempotency key.
    'answers 500 for longer than a minute': { faults: times(6, SERVER_ERROR(500)), posts: [7, 0], end: 'a' },
    'answers 500, and then refuses': {
      faults: [SERVER_ERROR(500), REFUSED(401)],
      posts: [2, 0],
      end: 'Unauthorized',
    },
    'answers 500, after which it has no task, as its profile says': {
      faults: times(5, SERVER_ERROR(500)),
      at: 'certain',
      posts: [5, 1],
      end: 'b',
    },
    'cannot be reached': { faults: [], at: 'closed port', posts: [0, 1], end: 'b' },
    'cuts the connection after the request': { faults: [{ kind: 'reset' }], posts: [1, 0], end: 'held' },
  };
  const names = Object.keys(ROWS);

  let a: Emulator;
  let b: Emulator;
  let videos: VideoClient;
  let stopWorker: () => Promise<void>;
  const open: OpenedVideoService[] = [];

  beforeAll(async () => {
    const options = { jobTimeMs: 0, videoBytes: 64 * 1024, clock: () => env.temporal.currentTimeMs() };
    [a, b] = await Promise.all([startEmulator(options), startEmulator(options)]);
    const worker = await env.createWorker({
      taskQueue: QUEUE,
      services: services(),
      worker: { ...quickWorkflows(), interceptors: { activity: [redirectSubmits] } },
    });
    stopWorker = keepRunning(worker);
    videos = await createVideoClient({
      client: env.temporal.client,
      taskQueue: QUEUE,
      searchAttributes: false,
    });
  });
  afterAll(async () => {
    await stopWorker();
    await Promise.all(open.map((service) => service.close()));
    await Promise.all([a.close(), b.close()]);
  });

  function serviceAt(
    baseUrl: string,
    more: Partial<Parameters<typeof createVideoService>[0]> = {},
  ): OpenedVideoService {
    const service = createVideoService({ baseUrl, apiKey: () => a.apiKey, ...more });
    open.push(service);
    return { ...service, address: undefined };
  }

  /** Each row and each test has its own pair of names: a 429 pauses a name for those after it. */
  function services(): NamedServices {
    const priced = (perSecond: number) => ({
      profile: { prices: { currency: 'USD', table: [{ perSecond }] } },
    });
    const ofA = {
      'its emulator': serviceAt(a.url),
      'closed port': serviceAt('http://127.0.0.1:9'),
      certain: serviceAt(a.url, { profile: { refusals: { noTask: [500, 502] } } }),
    };
    const ofB = serviceAt(b.url);
    return Object.fromEntries([
      ...names.flatMap((name, index) => [
        [`a${index}`, ofA[ROWS[name]?.at ?? 'its emulator']],
        [`b${index}`, ofB],
      ]),
      ...times(PAIRS, undefined).flatMap((_, index) => [
        [`a-${index}`, serviceAt(a.url, priced(0.1))],
        [`b-${index}`, serviceAt(b.url, priced(0.3))],
      ]),
    ]);
  }

  const submitsOf = ({ calls }: Emulator) => calls.filter(({ call }) => call === 'submit').length;
  let before: number[];
  beforeEach(() => {
    before = [a, b].map(submitsOf);
  });
  /** The POSTs of this test. */
  const posts = () => [a, b].map((emulator, index) => submitsOf(emulator) - (before[index] ?? 0));

  /** Without our client, which would join a job that has ended, and refuse what the worker is to refuse. */
  async function startAgain(workflowId: string, input: object): Promise<VideoJob> {
    const { workflow } = env.temporal.client;
    await workflow.start('generateVideoWithFallback', { workflowId, taskQueue: QUEUE, args: [input] });
    return videos.handle(workflowId);
  }

  async function endOf(job: VideoJob, expected: End): Promise<string> {
    if (expected === 'held') {
      await untilProgress(job, ({ phase }) => phase === 'needs-decision');
      await job.decideSubmit({ decision: 'abandon' });
      return isVideoFailure(await failureOf(job.result()), 'SubmitUnconfirmed') ? 'held' : 'lost';
    }
    const end: unknown = await job.result().catch((error: unknown) => error);
    if (isVideoFailure(end)) return end.type;
    return (end as JobResult).service?.replace(/[-\d]+$/, '') ?? 'none';
  }

  test.each(names)('a job with the services a and b, when a %s', async (name) => {
    const row = ROWS[name];
    const index = names.indexOf(name);
    if (row === undefined) throw new Error(name);
    a.next('submit', ...row.faults);
    const job = await startAgain(`row-${index}`, {
      request,
      services: [`a${index}`, `b${index}`],
      ...row.input,
    });
    const end = await endOf(job, row.end);
    expect({ posts: posts(), end }).toEqual({ posts: row.posts, end: row.end });
    expect(a.scriptIsSpent()).toBe(true);
  });

  /** Names of a pair that no other test uses. */
  let pair = -1;
  const nextPair = (): [a: string, b: string] => {
    pair++;
    return [`a-${pair}`, `b-${pair}`];
  };

  test('each refusal is in the result, the progress, the Temporal UI and the log, with the price of the service that made the video', async () => {
    const [first, second] = nextPair();
    a.next('submit', REFUSED(401));
    const job = await videos.start({ request, services: [first, second] });
    const result = await job.result();
    const message = 'The service refused the API key or its account: HTTP 401, no foxes.';
    const refusedBy = [{ service: first, failure: 'Unauthorized', message }];
    expect(result).toMatchObject({
      service: second,
      refusedBy,
      cost: { estimated: { amount: 1.5, currency: 'USD' }, service: second },
    });
    expect(await job.progress()).toMatchObject({ service: second, refusedBy });
    const handle = env.temporal.client.workflow.getHandle(job.workflowId);
    const details = JSON.stringify(await handle.query('__temporal_workflow_metadata'));
    expect(details).toContain(`\`${first}\`: no task: The service refused the API key`);
    expect(details).toContain(`Service \`${second}\``);
    const { memo } = await handle.describe();
    expect(memo).toMatchObject({ videoService: second, videoCost: { estimated: { amount: 1.5 } } });
    const isOfA = { event: 'nextService', service: first };
    const line = () =>
      logs.find(({ meta }) => Object.entries(isOfA).every(([name, value]) => Object(meta)[name] === value));
    while (line() === undefined) await pause();
    expect(line()?.meta).toMatchObject({ next: second, failureType: 'Unauthorized', reason: message });

    // A later job of the name and request finds the task at the service that made it.
    const again = await startAgain(job.workflowId, { request, services: [first, second] });
    expect(await again.result()).toMatchObject({ taskId: result.taskId, service: second, refusedBy: [] });
    expect(posts()).toEqual([1, 1]);
  });

  test('a job that all services refuse fails as the last one says, and names each with its reason', async () => {
    const [first, second] = nextPair();
    a.next('submit', REFUSED(401));
    b.next('submit', REFUSED(400));
    const failure = await failureOf(videos.execute({ request, services: [first, second] }));
    expect(isVideoFailure(failure, 'InvalidRequest')).toBe(true);
    expect(String(failure)).toContain(
      `HTTP 400, no foxes; that was the service ${second}, after ${first} (The service refused the API key or its account: HTTP 401, no foxes).`,
    );
    expect(posts()).toEqual([1, 1]);
  });

  test('a submit that is lost at the second service is held there: its task is adopted there, and a resubmit goes there', async () => {
    const [first, second] = nextPair();
    a.next('submit', REFUSED(401), REFUSED(401));
    b.next('submit', { kind: 'reset' });
    const held = async () => {
      const job = await videos.start({ request, services: [first, second] });
      const { service } = await untilProgress(job, ({ phase }) => phase === 'needs-decision');
      expect(service).toBe(second);
      return job;
    };
    const adopting = await held();
    const lost = b.generations().at(-1)?.taskId ?? '';
    await adopting.decideSubmit({ decision: 'adopt', taskId: lost });
    expect(await adopting.result()).toMatchObject({ taskId: lost, service: second });

    b.next('submit', { kind: 'reset' });
    const resubmitting = await held();
    await resubmitting.decideSubmit({ decision: 'resubmit' });
    expect(await resubmitting.result()).toMatchObject({ service: second });
    expect(posts()).toEqual([2, 3]);
  });

  /** A worker for submits to one service on the queue `nobody`. No other service has one there. */
  const submitWorkerOf = (service: string) =>
    env.createWorker({
      taskQueue: `nobody-${service}`,
      services: { [service]: serviceAt(b.url) },
      worker: quickWorkflows(),
    });

  test('a submit to a service that is paused, or removed from all workers since the job began, goes to the next one, if a worker is there at all', async () => {
    const [paused, second] = nextPair();
    const others = await submitWorkerOf(second);
    await others.runUntil(async () => {
      for (const first of [paused, 'gone']) {
        const workflowId = `never-started-at-${first}`;
        await env.temporal.client.workflow.start('generateVideoWithFallback', {
          ...submittingOn('nobody', workflowId),
          taskQueue: QUEUE,
          // Its caller knew the service.
          memo: { videoService: first },
          // A server that skips time does not skip this wait.
          args: [{ request, services: [first, second], fallbackAfter: '1s' }],
        });
        expect(await videos.handle(workflowId).result()).toMatchObject({
          service: second,
          refusedBy: [
            {
              service: first,
              failure: 'ServiceUnreachable',
              message: expect.stringContaining('no worker had room for it within 1 s'),
            },
          ],
        });
      }
    });
    expect(posts()).toEqual([0, 2]);
  });

  test('a job whose submit never starts finds the task that an earlier job of its name made', async () => {
    const [first, second] = nextPair();
    const workflowId = 'never-started-again';
    const input = { request, services: [first, second] };
    const { taskId, video } = await videos.execute(input, { workflowId });
    // It has the name of the job, not that of the job at the service.
    expect(video.uri).toMatch(/\/never-started-again\.mp4$/);
    submittingOn('nobody', workflowId);
    const job = await startAgain(workflowId, { ...input, fallbackAfter: '1s' });
    expect(await job.result()).toMatchObject({ taskId, service: first });
    expect(posts()).toEqual([1, 0]);
  });

  test('each item of a batch goes on by itself, and its line in the results says so', async () => {
    const [first, second] = nextPair();
    a.next('submit', REFUSED(400), REFUSED(400));
    b.next('submit', REFUSED(400));
    const batch = await videos.startBatch({
      requests: [1, 2, 3].map((number) => ({ prompt: `Fox ${number}` })),
      window: 1,
      services: [first, second],
    });
    expect(await batch.result()).toMatchObject({ succeeded: 2, failed: 1 });
    const results = parseResults(
      await readFile(join(env.storageFolder, resultsKey(batch.workflowId)), 'utf8'),
    ).sort((one, other) => one.item - other.item);
    const outcomes = results.map(({ item, outcome, refusedBy }) => [
      item,
      outcome,
      refusedBy?.map(({ service }) => service),
    ]);
    expect(outcomes).toEqual([
      [1, 'failed', [first]],
      [2, 'succeeded', [first]],
      [3, 'succeeded', []],
    ]);
  });
});
