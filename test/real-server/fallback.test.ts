import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { stringify } from 'yaml';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import { childName } from '../../src/contract/names';
import { isVideoFailure } from '../../src/contract/video-failure';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import type { Emulator, Faults } from '../../src/testing';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import type { VideoWorker } from '../../src/worker/video-worker';
import { expectRow } from '../support/expect-row';
import { activities, historyOf } from '../support/history';
import { ledgerOf } from '../support/ledger-of';
import { captureLogs } from '../support/logs';
import { postsOf } from '../support/posts';
import { profileFor } from '../support/quick-profile';
import { redirectSubmits, submittingOn } from '../support/redirect-submits';
import { pendingSubmit } from '../support/submit-backlog';
import { killLeftoverWorkers, startWorkerProcess } from '../support/worker-process';
import { failureOf, keepRunning, pause, quickWorkflows, untilProgress } from '../support/world';

const SERVICES = ['a', 'b'];
const QUEUE = 'switching';
/** The only caller whose jobs are counted: one video, at the price of b. */
const CAPPED = 'thrifty';
const REFUSED = { kind: 'refused', status: 401, message: 'no foxes' } as const;

let env: VideoTestEnvironment;
let a: Emulator;
let b: Emulator;
let folder: string;
let videos: VideoClient;
let stop: (() => Promise<void>) | undefined;
const open: OpenedVideoService[] = [];

const serviceAt = ({ url, apiKey }: Emulator, perSecond = 0.1): OpenedVideoService => {
  const profile = { ...profileFor(0), prices: { currency: 'USD', table: [{ perSecond }] } };
  const service = createVideoService({ baseUrl: url, apiKey: () => apiKey, profile });
  open.push(service);
  return { ...service, address: undefined };
};

function startWorker(options: Parameters<VideoTestEnvironment['createWorker']>[0]): Promise<VideoWorker> {
  return env.createWorker({
    services: { a: serviceAt(a), b: serviceAt(b, 0.3) },
    ...options,
    worker: { ...quickWorkflows(), interceptors: { activity: [redirectSubmits] }, ...options?.worker },
  });
}

beforeAll(async () => {
  captureLogs();
  folder = await mkdtemp(join(tmpdir(), 'videogen-fallback-'));
  const options = { jobTimeMs: 0, videoBytes: 64 * 1024 };
  [env, a, b] = await Promise.all([
    createVideoTestEnvironment({ server: 'dev' }),
    startEmulator(options),
    startEmulator(options),
  ]);
  // It takes over after the kill, so it does not run yet.
  videos = await createVideoClient({ client: env.temporal.client, taskQueue: QUEUE });
});
afterAll(async () => {
  await killLeftoverWorkers();
  await stop?.();
  await Promise.all(open.map((service) => service.close()));
  await Promise.all([env.teardown(), a.close(), b.close()]);
  await rm(folder, { recursive: true });
});

jest.setTimeout(120_000);

const start = (prompt: string, more = {}, options = {}): Promise<VideoJob> =>
  videos.start({ request: { prompt }, services: SERVICES, ...more }, options);
/** The submit of the job at one service, once that has begun. */
const submitAt = ({ workflowId }: VideoJob, service: string) =>
  pendingSubmit(env, videos.handle(`${workflowId}.${service}`)).catch(() => undefined);
const postsFor = (prompt: string) => [a, b].map((emulator) => postsOf(emulator, prompt).length);
async function untilPosted(emulator: Emulator, prompt: string): Promise<void> {
  while (postsOf(emulator, prompt).length === 0) await pause();
}

/** A worker with both services in a process that can be killed. */
async function startProcess() {
  const file = join(folder, 'services.json');
  const named = ({ url: baseUrl }: Emulator, env: string) => ({
    baseUrl,
    key: { env },
    profile: profileFor(0),
  });
  const services = { a: named(a, 'KEY_A'), b: named(b, 'KEY_B') };
  await writeFile(file, stringify({ services }));
  return startWorkerProcess({
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEOGEN_SERVICES_FILE: file,
    KEY_A: a.apiKey,
    KEY_B: b.apiKey,
    VIDEOGEN_TASK_QUEUE: QUEUE,
    VIDEOGEN_STORAGE: env.storageFolder,
  });
}

test('a worker killed on the way from one service to the next posts to each at most once, unless it was refused', async () => {
  const killed = await startProcess();
  a.next('submit', REFUSED, { kind: 'hang' }, REFUSED);
  b.next('submit', { kind: 'hang' }, { kind: 'rate-limited', retryAfter: 5 });
  const lostAtB = await start('lost at b');
  await untilPosted(b, 'lost at b');
  const lostAtA = await start('lost at a');
  await untilPosted(a, 'lost at a');
  const refusedByB = await start('refused by b');
  while ((await submitAt(refusedByB, 'b'))?.attempt !== 2) await pause();
  await killed.kill('SIGKILL');

  const worker = await startWorker({ taskQueue: QUEUE, caps: { keys: { [CAPPED]: { videos: 1 } } } });
  stop = keepRunning(worker);
  expect(await refusedByB.result()).toMatchObject({
    service: 'b',
    refusedBy: [{ service: 'a' }],
  });
  for (const [job, service] of [
    [lostAtA, 'a'],
    [lostAtB, 'b'],
  ] as const) {
    const progress = await untilProgress(job, ({ phase }) => phase !== 'submitting');
    expect(progress).toMatchObject({ phase: 'needs-decision', service });
    await job.decideSubmit({ decision: 'abandon' });
    await failureOf(job.result());
  }
  expect(['lost at a', 'lost at b', 'refused by b'].map(postsFor)).toEqual([
    [1, 0],
    [1, 1],
    [1, 2],
  ]);
});

test('a refused submit is not counted under the caps, and that to the next service once, with its price', async () => {
  const startCapped = (prompt: string) => start(prompt, { request: { prompt, duration: 5 }, caller: CAPPED });
  a.next('submit', REFUSED);
  expect(await (await startCapped('counted')).result()).toMatchObject({ service: 'b' });
  expect((await ledgerOf(env.temporal.client, QUEUE)).counts).toMatchObject([
    { scope: 'key', name: CAPPED, used: { videos: 1, USD: 1.5 }, reserved: { videos: 0 } },
  ]);
  const failure = await failureOf((await startCapped('one too many')).result());
  expect(isVideoFailure(failure, 'CapReached')).toBe(true);
  expect(['counted', 'one too many'].map(postsFor)).toEqual([
    [1, 1],
    [0, 0],
  ]);
});

/** A worker for the submits to one service on a queue of their own. */
const submitWorker = (service: 'a' | 'b', queue: string, options: object = {}) =>
  startWorker({ taskQueue: `${queue}-${service}`, ...options });

test('a job that starts again while no worker submits to the service of its lost submit waits, and asks no other service', async () => {
  const worker = await submitWorker('a', 'leaving');
  a.next('submit', { kind: 'reset' });
  const input = { fallbackAfter: '1s' };
  const job = await worker.runUntil(async () => {
    const started = await start('left', input, submittingOn('leaving'));
    await untilProgress(started, ({ phase }) => phase === 'needs-decision');
    return started;
  });
  const { workflow } = env.temporal.client;
  for (const name of [job.workflowId, `${job.workflowId}.a`]) await workflow.getHandle(name).terminate();
  await workflow.start('generateVideoWithFallback', {
    workflowId: job.workflowId,
    taskQueue: QUEUE,
    args: [{ request: { prompt: 'left' }, services: SERVICES, ...input }],
  });
  const again = await submitWorker('a', 'leaving');
  const recalled = async () => {
    const history = await historyOf(env.temporal.client, childName(job.workflowId, 'a'));
    return activities(history).some(({ type }) => type === 'recallSubmit');
  };
  while (!(await recalled())) await pause();
  await again.runUntil(async () => {
    const held = await untilProgress(job, ({ phase }) => phase !== 'submitting');
    expect(held).toMatchObject({ phase: 'needs-decision', service: 'a' });
    await job.decideSubmit({ decision: 'abandon' });
    await failureOf(job.result());
  });
  expect(postsFor('left')).toEqual([1, 0]);
});

/** Runs a worker for submits to a until so many attempts of one have ended. The retry after them comes a second later. */
async function leaveAfter<T>(
  attempts: number,
  queue: string,
  storage: VideoStorage,
  work: () => Promise<T>,
): Promise<T> {
  let leave: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const leaveAtEnd: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute: (input, next) =>
        next(input).finally(() => {
          if (info.attempt === attempts) leave();
        }),
    },
  });
  const leaving = await submitWorker('a', queue, {
    storage,
    worker: { interceptors: { activity: [leaveAtEnd] } },
  });
  const [result] = await leaving.runUntil(Promise.all([work(), ended]));
  return result;
}

/** Its second attempt fails before anything is sent. */
function failingSecondWrite(): VideoStorage {
  const storage = createFileStorage(env.storageFolder);
  return {
    ...storage,
    create: async (...given) => {
      if (activityInfo().attempt === 2) throw new Error('no space left');
      return storage.create(...given);
    },
  };
}

/** How many submits were begun at both services. */
async function submitsOf({ workflowId }: VideoJob): Promise<number> {
  const ofBoth = SERVICES.map(async (service) => {
    const name = childName(workflowId, service);
    if (!(await videos.find(name))) return 0;
    const history = await historyOf(env.temporal.client, name);
    return activities(history).filter(({ type }) => type === 'submitVideo').length;
  });
  return (await Promise.all(ofBoth)).reduce((sum, count) => sum + count, 0);
}

interface LeftService {
  /** What it answers to the first submit. */
  answer: Faults['submit'];
  /** After how many attempts its worker leaves. */
  attempts?: number;
  storage?: () => VideoStorage;
  /** `fail` if not set: a job that goes to the wrong service would be held for ever. */
  onLostSubmit?: 'resubmit';
  /** Longer than a worker may take to come back: a job that stays with its service waits for as long as that takes. */
  backAfterMs?: number;
  /** 2 s if not set; a retry without a Retry-After comes after 2 s. */
  fallbackAfter?: string;
  service: 'a' | 'b';
  posts: [a: number, b: number];
}

const BUSY = { kind: 'rate-limited', retryAfter: 1 } as const;

// On a real server alone: Temporal's test server gives a retry no limit for its start.
const LEFT: Record<string, LeftService> = {
  '429: the next one makes the only task': { answer: BUSY, service: 'b', posts: [1, 1] },
  '500: it may have a task, so it is asked again': {
    answer: { kind: 'server-error', status: 500 },
    backAfterMs: 3_000,
    service: 'a',
    posts: [2, 0],
  },
  'nothing: a lost submit is repeated only where it may be found': {
    answer: { kind: 'reset' },
    onLostSubmit: 'resubmit',
    service: 'a',
    posts: [2, 0],
  },
  '429, and the storage failed since: the next one makes the only task': {
    answer: BUSY,
    attempts: 2,
    // Long enough for the second attempt on a busy machine.
    fallbackAfter: '6s',
    storage: failingSecondWrite,
    service: 'b',
    posts: [1, 1],
  },
};

test.each(Object.entries(LEFT))(
  'no worker is left for a service that answered %s',
  async (prompt, { answer, attempts = 1, onLostSubmit = 'fail', service, posts, ...more }) => {
    const { backAfterMs = 0, fallbackAfter = '2s' } = more;
    const storage = more.storage?.() ?? createFileStorage(env.storageFolder);
    const queue = `left-${Object.keys(LEFT).indexOf(prompt)}`;
    a.next('submit', answer);
    const job = await leaveAfter(attempts, queue, storage, () =>
      start(prompt, { fallbackAfter, onLostSubmit }, submittingOn(queue)),
    );
    const [back, next] = await Promise.all([submitWorker('a', queue), submitWorker('b', queue)]);
    while ((await submitsOf(job)) < 2) await pause();
    await sleep(backAfterMs);
    const result = await back.runUntil(next.runUntil(job.result()));
    expect({ service: result.service, posts: postsFor(prompt) }).toEqual({ service, posts });
  },
);

test('a worker that hangs until the deadline before it sends anything again has lost no submit', async () => {
  let letGo = (): void => undefined;
  const untilTheEnd = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const storage = createFileStorage(env.storageFolder);
  const hanging = await submitWorker('a', 'hanging', {
    storage: {
      ...storage,
      read: async (key: string) => {
        if (activityInfo().attempt === 2) await untilTheEnd;
        return storage.read(key);
      },
    },
  });
  a.next('submit', BUSY);
  const failure = await hanging.runUntil(async () => {
    const input = { fallbackAfter: '1h', deadline: '5s', onLostSubmit: 'fail' };
    const job = await start('hanging', input, submittingOn('hanging'));
    return failureOf(job.result()).finally(letGo);
  });
  expectRow(failure, 'DeadlineExceeded', undefined);
  expect(postsFor('hanging')).toEqual([1, 0]);
});

test('forget removes what the items of a batch left at their services', async () => {
  const taskQueue = 'forgetting';
  const worker = await startWorker({ taskQueue });
  const storage = createFileStorage(env.storageFolder);
  const client = await createVideoClient({ client: env.temporal.client, taskQueue, storage });
  await worker.runUntil(async () => {
    const batch = await client.startBatch({ requests: [{ prompt: 'gone' }], services: SERVICES });
    await batch.result();
    const { removed } = await client.forget(batch.workflowId);
    const files = removed.map(({ what }) => what).filter((what) => what !== 'execution');
    expect(files).toEqual(['video', 'sidecar', 'record', 'results']);
  });
});
