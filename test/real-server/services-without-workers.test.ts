import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import { type Emulator, type Faults, startEmulator } from '../../src/emulator';
import { createVideoService, type VideoService } from '../../src/service';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { VideoWorker } from '../../src/worker/video-worker';
import { postsOf } from '../support/chaos-audit';
import { activities, historyOf } from '../support/history';
import { captureLogs } from '../support/logs';
import { profileFor } from '../support/quick-profile';
import { pause, quickWorkflows } from '../support/world';

// Temporal's test server gives a retry no limit for its start.

const QUEUE = 'without-workers';
let env: VideoTestEnvironment;
let emulators: Record<'a' | 'b', Emulator>;
let services: Record<'a' | 'b', VideoService>;
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
  worker = await env.createWorker({ taskQueue: QUEUE, services, worker: quickWorkflows() });
  running = worker.run();
  videos = await createVideoClient({ client: env.temporal.client, taskQueue: QUEUE });
});
afterAll(async () => {
  worker?.shutdown();
  await running;
  await Promise.all(Object.values(services).map((service) => service.close()));
  await Promise.all([env.teardown(), emulators.a.close(), emulators.b.close()]);
});

function serviceAt({ url, apiKey }: Emulator): VideoService {
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
async function leaveAfter<T>(attempts: number, queue: string, work: () => Promise<T>): Promise<T> {
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
    storage: failingSecondWrite(),
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
    write: async (...given) => {
      if (activityInfo().attempt === 2) throw new Error('no space left');
      return storage.write(...given);
    },
  };
}

async function submitsOf({ workflowId }: VideoJob): Promise<number> {
  const history = await historyOf(env.temporal.client, workflowId);
  return activities(history).filter(({ type }) => type === 'submitVideo').length;
}

const BUSY = { kind: 'rate-limited', retryAfter: 1 } as const;
const UNSURE = { kind: 'server-error', status: 500 } as const;

test.each<[string, Faults['submit'], attempts: number, made: string, posts: [a: number, b: number]]>([
  ['429: the next one makes the only task', BUSY, 1, 'b', [1, 1]],
  ['500: it may have a task, so it is asked again', UNSURE, 1, 'a', [2, 0]],
  ['429, and the storage failed since: that is not its fault', BUSY, 2, 'a', [2, 0]],
])('no worker is left for a service that answered %s', async (prompt, fault, attempts, made, expected) => {
  const submit = `left-${attempts}-${fault.kind}`;
  emulators.a.next('submit', fault);
  const job = await leaveAfter(attempts, submit, () =>
    videos.start({ request: { prompt }, services: ['a', 'b'], fallbackAfter: '2s', queues: { submit } }),
  );
  const [back, next] = await Promise.all([submitWorker('a', submit), submitWorker('b', submit)]);
  while ((await submitsOf(job)) < 2) await pause();
  // A job that stays with its service waits for as long as that takes.
  if (fault === UNSURE) await sleep(3_000);
  const { service } = await back.runUntil(next.runUntil(job.result()));
  const posts = Object.values(emulators).map((emulator) => postsOf(emulator, prompt).length);
  expect({ service, posts }).toEqual({ service: made, posts: expected });
});
