import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import { childName } from '../../src/contract/names';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import type { Emulator, Faults } from '../../src/testing';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import type { VideoWorker } from '../../src/worker/video-worker';
import { postsOf } from '../support/chaos-audit';
import { expectRow } from '../support/expect-row';
import { activities, historyOf } from '../support/history';
import { captureLogs } from '../support/logs';
import { profileFor } from '../support/quick-profile';
import { redirectSubmits, submittingOn } from '../support/redirect-submits';
import { failureOf, pause, quickWorkflows } from '../support/world';

// Temporal's test server gives a retry no limit for its start.

const QUEUE = 'without-workers';
let env: VideoTestEnvironment;
let emulators: Record<'a' | 'b', Emulator>;
let services: Record<'a' | 'b', OpenedVideoService>;
let videos: VideoClient;
let worker: VideoWorker;
let running: Promise<void>;

beforeAll(async () => {
  captureLogs();
  const options = { jobTimeMs: 0, videoBytes: 64 * 1024 };
  const [environment, a, b] = await Promise.all([
    createVideoTestEnvironment({ server: 'dev' }),
    startEmulator(options),
    startEmulator(options),
  ]);
  env = environment;
  emulators = { a, b };
  services = { a: serviceAt(a), b: serviceAt(b) };
  // It has no part in submits: those have queues of their own.
  worker = await env.createWorker({
    taskQueue: QUEUE,
    services,
    worker: { ...quickWorkflows(), interceptors: { activity: [redirectSubmits] } },
  });
  running = worker.run();
  videos = await createVideoClient({ client: env.temporal.client, taskQueue: QUEUE });
});
afterAll(async () => {
  worker?.shutdown();
  await running;
  await Promise.all(Object.values(services).map((service) => service.close()));
  await Promise.all([env.teardown(), emulators.a.close(), emulators.b.close()]);
});

function serviceAt({ url, apiKey }: Emulator): OpenedVideoService {
  return createVideoService({ baseUrl: url, apiKey: () => apiKey, profile: profileFor(0) });
}

/** A worker for the submits to one service. */
function submitWorker(name: 'a' | 'b', queue: string, more: object = {}): Promise<VideoWorker> {
  return env.createWorker({
    taskQueue: `${queue}-${name}`,
    services: { [name]: services[name] },
    worker: quickWorkflows(),
    ...more,
  });
}

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
    worker: { ...quickWorkflows(), interceptors: { activity: [leaveAtEnd] } },
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
  const ofBoth = ['a', 'b'].map(async (service) => {
    const name = childName(workflowId, service);
    if (!(await videos.find(name))) return 0;
    const history = await historyOf(env.temporal.client, name);
    return activities(history).filter(({ type }) => type === 'submitVideo').length;
  });
  return (await Promise.all(ofBoth)).reduce((sum, count) => sum + count, 0);
}

const BUSY = { kind: 'rate-limited', retryAfter: 1 } as const;
const UNSURE = { kind: 'server-error', status: 500 } as const;
const LOST = { kind: 'reset' } as const;

interface Case {
  /** What service a answers to the first submits. */
  answers: Faults['submit'][];
  /** After how many attempts the worker leaves; as many as there are answers if not set. */
  attempts?: number;
  storage?: () => VideoStorage;
  /** `fail` if not set: a job that goes to the wrong service would be held for ever. */
  onLostSubmit?: 'resubmit';
  /** Longer than a worker may take to come back: a job that stays with its service waits for as long as that takes. */
  backAfterMs?: number;
  /** 2 s if not set; a retry without a Retry-After comes after 2 s. */
  fallbackAfter?: string;
  service: 'a' | 'b';
  posts: Record<'a' | 'b', number>;
}

const CASES: Record<string, Case> = {
  '429: the next one makes the only task': { answers: [BUSY], service: 'b', posts: { a: 1, b: 1 } },
  '500: it may have a task, so it is asked again': {
    answers: [UNSURE],
    backAfterMs: 3_000,
    service: 'a',
    posts: { a: 2, b: 0 },
  },
  '500, then 429: it may still have a task': {
    answers: [UNSURE, BUSY],
    backAfterMs: 3_000,
    service: 'a',
    posts: { a: 3, b: 0 },
  },
  'nothing: a lost submit is repeated only where it may be found': {
    answers: [LOST],
    onLostSubmit: 'resubmit',
    service: 'a',
    posts: { a: 2, b: 0 },
  },
  'nothing, then 429: the lost submit may still have a task': {
    answers: [LOST, BUSY],
    onLostSubmit: 'resubmit',
    fallbackAfter: '6s',
    backAfterMs: 3_000,
    service: 'a',
    posts: { a: 3, b: 0 },
  },
  '429, and the storage failed since: the next one makes the only task': {
    answers: [BUSY],
    attempts: 2,
    // Long enough for the second attempt on a busy machine.
    fallbackAfter: '6s',
    storage: failingSecondWrite,
    service: 'b',
    posts: { a: 1, b: 1 },
  },
};

test.each(Object.keys(CASES))('no worker is left for a service that answered %s', async (prompt) => {
  const { answers, onLostSubmit = 'fail', service, posts, ...more } = CASES[prompt] as Case;
  const { attempts = answers.length, backAfterMs = 0, fallbackAfter = '2s' } = more;
  const storage = more.storage?.() ?? createFileStorage(env.storageFolder);
  const submit = `left-${Object.keys(CASES).indexOf(prompt)}`;
  emulators.a.next('submit', ...answers);
  const job = await leaveAfter(attempts, submit, storage, () =>
    videos.start(
      { request: { prompt }, services: ['a', 'b'], fallbackAfter, onLostSubmit },
      submittingOn(submit),
    ),
  );
  const [back, next] = await Promise.all([submitWorker('a', submit), submitWorker('b', submit)]);
  while ((await submitsOf(job)) < 2) await pause();
  await sleep(backAfterMs);
  const result = await back.runUntil(next.runUntil(job.result()));
  const counted = { a: postsOf(emulators.a, prompt).length, b: postsOf(emulators.b, prompt).length };
  expect({ service: result.service, posts: counted }).toEqual({ service, posts });
});

test('a worker that hangs until the deadline before it sends anything again has lost no submit', async () => {
  const prompt = 'Its second attempt reads for ever';
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
  emulators.a.next('submit', BUSY);
  const failure = await hanging.runUntil(async () => {
    const job = await videos.start(
      {
        request: { prompt },
        services: ['a', 'b'],
        fallbackAfter: '1h',
        deadline: '5s',
        onLostSubmit: 'fail',
      },
      submittingOn('hanging'),
    );
    return failureOf(job.result()).finally(letGo);
  });
  expectRow(failure, 'DeadlineExceeded', undefined);
  expect(postsOf(emulators.a, prompt)).toHaveLength(1);
});
