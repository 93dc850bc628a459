import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import { type BatchResult, type ItemResult, parseResults, resultsKey } from '../../src/contract/batch';
import type { FailureType } from '../../src/contract/failure-table';
import type { FallbackInput, JobResult } from '../../src/contract/job';
import type { VideoRequest } from '../../src/contract/request';
import { isVideoFailure } from '../../src/contract/video-failure';
import { createVideoService, type NamedServices, type OpenedVideoService } from '../../src/service';
import {
  createVideoTestEnvironment,
  type Emulator,
  type Faults,
  startEmulator,
  type VideoTestEnvironment,
} from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { captureLogs, type LogLine } from '../support/logs';
import { redirectSubmits, submittingOn } from '../support/redirect-submits';
import {
  failureOf,
  inWorld,
  keepRunning,
  pause,
  quickWorkflows,
  untilItems,
  untilProgress,
  type World,
  type WorldOptions,
} from '../support/world';

const MINUTE = 60_000;
const RARE_POLLS = { polling: { min: '30s', max: '30s' } };

let env: VideoTestEnvironment;
let logs: LogLine[];
beforeAll(async () => {
  logs = captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

const requests = (count: number): VideoRequest[] =>
  Array.from({ length: count }, (_, index) => ({ prompt: `Fox ${index + 1}` }));

async function resultsOf({ results }: BatchResult): Promise<ItemResult[]> {
  return parseResults(await readFile(fileURLToPath(results.uri), 'utf8'));
}

/**
 * Without skipping time, as `result()` would: between a cancelled batch and its items the test server skips to their next
 * polls, and never skips again once a poll is cancelled before a worker has taken it.
 */
async function untilEnded(workflowId: string): Promise<void> {
  const batch = env.temporal.client.workflow.getHandle(workflowId);
  while ((await batch.describe()).status.name === 'RUNNING') await pause();
}

const prompts = ({ emulator }: World) => emulator.generations().map(({ request }) => request.prompt);
const postsOf = ({ emulator }: World) => emulator.calls.filter(({ call }) => call === 'submit');

test('a batch stores a video for each request, lists its results by number, and runs no more at once than its window, whatever it is signalled', async () => {
  await inWorld(env, { jobTimeMs: MINUTE, concurrentTasks: 2 }, async (world) => {
    const batch = await world.videos.startBatch(
      { requests: requests(5), window: 2, ...RARE_POLLS },
      { workflowId: 'foxes' },
    );
    const handle = env.temporal.client.workflow.getHandle('foxes');
    for (const news of [[], [null], ['news'], [{ name: 'foxes-1', hold: {} }]])
      await handle.signal('childNews', ...news);
    const result = await batch.result();

    expect(result).toMatchObject({ items: 5, succeeded: 5, failed: 0 });
    expect(result.results.key).toBe('batches/foxes/results.jsonl');
    const results = await resultsOf(result);
    expect(results).toEqual(
      [1, 2, 3, 4, 5].map((item) =>
        expect.objectContaining({
          item,
          name: `foxes-${item}`,
          outcome: 'succeeded',
          polls: expect.any(Number),
        }),
      ),
    );
    for (const [index, entry] of results.entries()) {
      if (entry.outcome !== 'succeeded') throw new Error(entry.message);
      const video = await readFile(join(world.storageFolder, `foxes-${index + 1}.mp4`));
      expect(video.equals(await world.emulator.video(entry.taskId))).toBe(true);
    }
    // The service refuses a third task at once.
    expect(postsOf(world)).toHaveLength(5);
    expect(prompts(world).sort()).toEqual(requests(5).map(({ prompt }) => prompt));
    expect(await batch.progress()).toEqual({ items: 5, succeeded: 5, failed: 0, running: [] });
  });
});

test('a failed item is listed with its task and does not stop the rest; started again, only those are retried that failed for a fixable reason', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const { videos, emulator } = world;
    emulator.next(
      'submit',
      { kind: 'failed-task', code: 'foxes', message: 'No foxes.' },
      { kind: 'refused', status: 402, message: 'No credit.' },
    );
    const start = () => videos.startBatch({ requests: requests(3), window: 1 }, { workflowId: 'poor-once' });
    const first = await (await start()).result();
    expect(first).toMatchObject({ items: 3, succeeded: 1, failed: 2 });
    const [failed, poor, fine] = await resultsOf(first);
    expect(failed).toMatchObject({
      item: 1,
      outcome: 'failed',
      failure: 'GenerationFailed',
      details: { code: 'foxes', message: 'No foxes.', taskId: emulator.generations()[0]?.taskId },
    });
    expect(poor).toMatchObject({ item: 2, outcome: 'failed', failure: 'Unauthorized' });
    expect(fine).toMatchObject({ item: 3, outcome: 'succeeded' });

    const second = await (await start()).result();
    expect(second).toMatchObject({ items: 3, succeeded: 2, failed: 1 });
    expect((await resultsOf(second)).map(({ outcome }) => outcome)).toEqual([
      'failed',
      'succeeded',
      'succeeded',
    ]);
    expect(prompts(world).sort()).toEqual(requests(3).map(({ prompt }) => prompt));
  });
});

test('a cancelled batch starts no more items and lists the paid tasks; started again, it adopts those and submits the rest', async () => {
  await inWorld(env, { jobTimeMs: MINUTE }, async (world) => {
    const { videos, emulator, storageFolder } = world;
    const start = () =>
      videos.startBatch({ requests: requests(4), window: 2, ...RARE_POLLS }, { workflowId: 'given-up' });
    const first = await start();
    await untilItems(env, first, 'waiting', 2);
    await first.cancel();
    await untilEnded('given-up');
    expectRow(await failureOf(first.result()), 'Cancelled', undefined);
    const paid = emulator.generations().map(({ taskId }) => taskId);
    expect(paid).toHaveLength(2);
    const listed = parseResults(
      await readFile(join(storageFolder, 'batches/given-up/results.jsonl'), 'utf8'),
    );
    expect(listed).toEqual(
      [1, 2].map((item) =>
        expect.objectContaining({
          item,
          outcome: 'failed',
          failure: 'Cancelled',
          details: { taskId: expect.stringMatching(/^task_/) },
        }),
      ),
    );

    const result = await (await start()).result();
    expect(result).toMatchObject({ items: 4, succeeded: 4, failed: 0 });
    expect(emulator.generations()).toHaveLength(4);
    const tasks = (await resultsOf(result)).map((entry) => entry.outcome === 'succeeded' && entry.taskId);
    expect(tasks.slice(0, 2).sort()).toEqual(paid.sort());
  });
});

test('an item whose submit is lost waits for a decision and frees its slot, one that is cancelled is listed so, and the rest goes on', async () => {
  await inWorld(env, { jobTimeMs: MINUTE }, async ({ videos, emulator }) => {
    emulator.next('submit', { kind: 'cut-body' });
    const batch = await videos.startBatch(
      { requests: requests(3), window: 1, ...RARE_POLLS },
      { workflowId: 'lost' },
    );
    const { running } = await untilProgress(batch, (progress) => progress.running.length === 2);
    expect(running[0]).toEqual({ item: 1, name: 'lost-1', isHeld: true });
    const second = videos.handle('lost-2');
    const cancelled = await untilProgress(second, ({ phase }) => phase === 'waiting');
    await expect(second.decideSubmit({ decision: 'resubmit' })).rejects.toThrow(
      'No decision is needed: the job is',
    );
    await second.cancel();
    const adopted = emulator.generations()[0]?.taskId ?? '';
    await videos.handle('lost-1').decideSubmit({ decision: 'adopt', taskId: adopted });

    const result = await batch.result();
    expect(result).toMatchObject({ items: 3, succeeded: 2, failed: 1 });
    expect(await resultsOf(result)).toMatchObject([
      { item: 1, taskId: adopted },
      { item: 2, failure: 'Cancelled', details: { taskId: cancelled.taskId } },
      { item: 3, outcome: 'succeeded' },
    ]);
    expect(emulator.generations()).toHaveLength(3);
  });
});

test('an item joins the job of its name that a client has made, and never takes the video of another request', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const { videos } = world;
    const { taskId } = await videos.execute({ request: { prompt: 'Fox 1' } }, { workflowId: 'known-1' });
    await videos.execute({ request: { prompt: 'A stranger' } }, { workflowId: 'known-2' });
    const batch = await videos.startBatch({ requests: requests(2) }, { workflowId: 'known' });
    const [joined, refused] = await resultsOf(await batch.result());
    expect(joined).toMatchObject({ outcome: 'succeeded', taskId });
    expect(refused).toMatchObject({ outcome: 'failed', failure: 'InvalidRequest' });
    expect(refused?.outcome === 'failed' && refused.message).toContain(
      'known-2 is the name of another job (it differs in prompt)',
    );
    expect(prompts(world).sort()).toEqual(['A stranger', 'Fox 1']);
  });
});

test('when every submit is lost, the batch submits at most two windows of items', async () => {
  await inWorld(env, {}, async (world) => {
    world.emulator.next('submit', ...Array.from({ length: 9 }, () => ({ kind: 'reset' }) as const));
    const batch = await world.videos.startBatch(
      { requests: requests(9), window: 2 },
      { workflowId: 'all-lost' },
    );
    await untilItems(env, batch, 'needs-decision', 4);
    await env.temporal.sleep('1h');
    expect(await batch.progress()).toMatchObject({ running: { length: 4 } });
    expect(postsOf(world)).toHaveLength(4);
    await batch.cancel();
    await untilEnded('all-lost');
  });
});

/** A service with prices, which charges less than the estimate, and a worker that counts. */
const PAID = {
  profile: {
    name: 'Ark',
    prices: { currency: 'USD', table: [{ resolution: '720p', perSecond: 0.1 }, { perVideo: 0.3 }] },
  },
  charge: 0.45,
  caps: {},
} satisfies WorldOptions;
const priced = { prompt: 'A red fox', resolution: '720p', duration: 5 } as const;
const usd = (amount: number) => ({ amount, currency: 'USD' });

test('a batch says what it will cost before its first submit, and at the end what it did', async () => {
  await inWorld(env, { ...PAID, jobTimeMs: MINUTE }, async ({ videos, emulator }) => {
    const requests = [
      priced,
      { prompt: 'A hare', resolution: '480p' } as const,
      { prompt: 'A lynx' },
      priced,
    ];
    emulator.next('submit', { kind: 'refused', status: 400, message: 'No foxes.' });
    const start = () => videos.startBatch({ requests, window: 1 }, { workflowId: 'costs' });
    const batch = await start();
    const estimated = { sums: [usd(1.3)], unknown: 1 };
    const { cost } = await untilProgress(batch, ({ running }) => running.length > 0);
    expect(cost).toEqual({ estimated });

    // The first was never paid for.
    const result = await batch.result();
    expect(result.cost).toEqual({ estimated, spent: { sums: [usd(1.35)], unknown: 0 } });
    const items = await resultsOf(result);
    expect(items.map((item) => item.cost?.charged)).toEqual([undefined, usd(0.45), usd(0.45), usd(0.45)]);
    expect(items[1]?.cost).toEqual({ estimated: usd(0.3), charged: usd(0.45), service: 'Ark' });

    const again = await (await start()).result();
    expect(again.cost).toEqual(result.cost);
  });
});

test('a batch stops at its cap, in the order of its items, and goes on from there under a higher one', async () => {
  await inWorld(env, { ...PAID, jobTimeMs: 0 }, async (world) => {
    const start = (videos: number) =>
      world.videos.startBatch(
        { requests: requests(5), window: 1, cap: { videos }, ...RARE_POLLS },
        { workflowId: 'capped' },
      );
    const failure = await failureOf((await start(2)).result());
    expect(failure).toMatchObject({ type: 'CapReached', details: { cap: 'batch.videos', capLeft: 0 } });
    expect(String(failure)).toContain(
      'the cap of 2 videos for this batch is reached; item 3 failed and the batch stopped with 2 stored and 1 failed of 5',
    );
    expect(prompts(world)).toEqual(['Fox 1', 'Fox 2']);

    expect(await (await start(5)).result()).toMatchObject({ items: 5, succeeded: 5, failed: 0 });
    expect(postsOf(world)).toHaveLength(5);
  });
});

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
