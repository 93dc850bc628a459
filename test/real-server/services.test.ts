import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Context as ActivityContext } from '@temporalio/activity';
import type { Priority } from '@temporalio/common';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { parse, stringify } from 'yaml';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import type { VideoInput } from '../../src/contract/job';
import { childName } from '../../src/contract/names';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import {
  createVideoTestEnvironment,
  type Emulator,
  type Faults,
  type VideoTestEnvironment,
} from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { createVideoWorker, type VideoWorkerOptions, type WorkerRole } from '../../src/worker/video-worker';
import { runHere } from '../cli/cli-here';
import { blocksOf, commandsOf, expectShown, readPage, sectionOf, wordsOf } from '../support/docs-page';
import { activities, historyOf } from '../support/history';
import { captureLogs, type LogLine } from '../support/logs';
import { atLength } from '../support/nightly';
import { postsOf } from '../support/posts';
import { profileFor } from '../support/quick-profile';
import { redirectSubmits, submittingOn } from '../support/redirect-submits';
import { withConstants } from '../support/short-histories';
import { filesIn, recordsIn } from '../support/stored-files';
import { failureOf, keepRunning, pause, quickWorkflows, untilProgress } from '../support/world';

jest.setTimeout(120_000);

const request = { prompt: 'A red fox', duration: 4 };
const polling = { min: '1s', max: '1s' } as const;
const taskQueue = 'films';

let env: VideoTestEnvironment;
let logs: LogLine[];
let folder: string;
let stopWorker: (() => Promise<void>) | undefined;
/** Knows the services. */
let videos: VideoClient;
/** The file alone: whoever starts jobs has no keys. */
let settings: Record<string, string>;
/** Knows none, as a client without the file. */
let plain: VideoClient;
const secrets = { FAL_KEY: `sk-a-${randomUUID()}`, OWN_KEY: `sk-b-${randomUUID()}` };
let a: Emulator;
let b: Emulator;
const open: OpenedVideoService[] = [];

beforeAll(async () => {
  logs = captureLogs();
  folder = await mkdtemp(join(tmpdir(), 'videogen-services-'));
  const emulated = { jobTimeMs: 0, videoBytes: 64 * 1024 };
  const dynamicConfig = {
    // An eager activity skips the queue and gets no priority.
    'system.enableActivityEagerExecution': 'false',
  };
  [env, a, b] = await Promise.all([
    createVideoTestEnvironment({ server: 'dev', dynamicConfig, emulator: emulated }),
    startEmulator({ ...emulated, apiKey: secrets.FAL_KEY }),
    startEmulator({ ...emulated, apiKey: secrets.OWN_KEY }),
  ]);
  await writeFile(join(folder, 'own.key'), `${secrets.OWN_KEY}\n`);
  // The file of the page, with addresses of this machine.
  const [onPage = ''] = blocksOf(sectionOf(readPage('other-services.md'), 'Several services'), 'yaml');
  const file = join(folder, 'services.yaml');
  const { services, ...rest } = parse(onPage);
  const profile = {
    polling: { ...profileFor(0).polling, min: '100ms' },
    prices: { currency: 'USD', table: [{ perSecond: 0.1 }], defaults: { duration: 4 } },
  };
  services['fal-seedance'].baseUrl = a.url;
  services['my-own'] = { ...services['my-own'], baseUrl: b.url, profile };
  await writeFile(file, stringify({ ...rest, services }));
  settings = { VIDEOGEN_SERVICES_FILE: file, VIDEOGEN_STORAGE: join(folder, 'videos') };
  const { client, nativeConnection: connection } = env.temporal;
  const worker = await createVideoWorker({
    env: { ...settings, FAL_KEY: secrets.FAL_KEY },
    connection,
    taskQueue,
    worker: { ...quickWorkflows(), interceptors: { activity: [redirectSubmits] } },
  });
  stopWorker = keepRunning(worker);
  videos = await createVideoClient({ env: settings, client, taskQueue });
  plain = await createVideoClient({ env: {}, client, taskQueue });
});
afterAll(async () => {
  await stopWorker?.();
  await Promise.all(open.map((service) => service.close()));
  await Promise.all([env.teardown(), a.close(), b.close()]);
  await rm(folder, { recursive: true });
});

/** A service that a worker is given by the program, without a file. */
function serviceAt({ url, apiKey }: Emulator): OpenedVideoService {
  const profile = profileFor(0);
  const service = createVideoService({ baseUrl: url, apiKey: () => apiKey, profile });
  open.push(service);
  return { ...service, address: undefined };
}

const submitsOf = (emulator: Emulator) => postsOf(emulator).length;
const terminate = ({ workflowId }: { workflowId: string }) =>
  env.temporal.client.workflow.getHandle(workflowId).terminate();

test('a job has the name of its service in its input, its cost and lists, and the key nowhere', async () => {
  const job = await videos.start({ request }, { workflowId: 'pinned' });
  const result = await job.result();
  expect(result.cost).toMatchObject({ estimated: { amount: 0.4, currency: 'USD' }, service: 'my-own' });
  expect(await videos.find('pinned')).toMatchObject({ service: 'my-own' });
  for await (const listed of videos.list({ limit: 1 })) {
    expect(listed).toMatchObject({ workflowId: 'pinned', service: 'my-own' });
  }
  const { client } = env.temporal;
  const handle = client.workflow.getHandle('pinned');
  const history = historyToJSON(await historyOf(client, 'pinned'));
  const decoded = history.replace(/"data": "([A-Za-z0-9+/=]+)"/g, (_, data) =>
    Buffer.from(data, 'base64').toString(),
  );
  expect(decoded).toContain('"service":"my-own"');
  const { memo, searchAttributes } = await handle.describe();
  const storage = join(folder, 'videos');
  const files = [...(await filesIn(storage)), ...(await recordsIn(storage))];
  const stored = await Promise.all(files.map((file) => readFile(join(storage, file), 'latin1')));
  const everything = {
    decoded,
    memo: inspect({ memo, searchAttributes, result, progress: await job.progress() }, { depth: 10 }),
    details: JSON.stringify(await handle.query('__temporal_workflow_metadata')),
    logs: inspect(logs, { depth: 20, maxArrayLength: null, maxStringLength: null }),
    stored: stored.join('\n'),
  };
  expect(everything.memo).toContain("videoService: 'my-own'");
  for (const text of Object.values(everything)) {
    for (const secret of Object.values(secrets)) expect(text).not.toContain(secret);
  }
});

test('an unknown service is refused at once: by a client that has the list, or else by the worker', async () => {
  const refused = failureOf(videos.start({ request, service: 'c' }));
  expect(await refused).toMatchObject({
    type: 'InvalidRequest',
    message: expect.stringContaining('the service c is not known: name one of fal-seedance, my-own'),
  });
  for (const input of [
    { request, service: 'c' },
    { taskId: 'task_1', service: 'c' },
  ]) {
    expect(await failureOf(plain.execute(input))).toMatchObject({
      type: 'InvalidRequest',
      message: expect.stringContaining('this worker has no service c: name one of fal-seedance, my-own'),
    });
  }
  const batch = await plain.startBatch({ requests: [request], service: 'c' });
  expect(await failureOf(batch.result())).toMatchObject({
    message: expect.stringContaining('this worker has no service c'),
  });
  // Without the list a client may name a service, and gets the default of the worker without a name.
  for (const input of [{ request, service: 'my-own' }, { request }])
    expect(await plain.execute(input)).toMatchObject({ service: 'my-own' });
});

test('the commands of the page print what it shows', async () => {
  const all = { ...settings, TEMPORAL_ADDRESS: env.temporal.address, VIDEOGEN_TASK_QUEUE: taskQueue };
  const commands = commandsOf(sectionOf(readPage('other-services.md'), 'Choose one'));
  expect(commands.length).toBeGreaterThan(3);
  for (const shown of commands) {
    const { out, err } = await runHere(wordsOf(shown.command), all, true);
    expectShown(shown, err + out);
  }
  // The job stays with its service, and the command says so.
  const same = ['generate', 'A red fox in the snow', '--service', 'fal-seedance', '--id', 'fox-1'];
  const { err } = await runHere(same, all);
  expect(err).toContain('fox-1 keeps what it was started with: service my-own.');
});

test('after the default service has changed, a retry stays at the service that has the task of the job, or may have it', async () => {
  const queue = `defaults-${randomUUID()}`;
  const JOB_TIME_MS = 60_000;
  /** At the services: their tasks end when the test says so. */
  let nowMs = 0;
  const options = { jobTimeMs: JOB_TIME_MS, videoBytes: 64 * 1024, clock: () => nowMs };
  // Neither knows the tasks of the other.
  const before = await startEmulator({ ...options, idempotencyKeys: 'honoured' });
  const after = await startEmulator(options);
  const services = { c: serviceAt(before), d: serviceAt(after) };
  /** What a client does while a worker runs whose default is this service. */
  const withDefault = async <T>(defaultService: 'c' | 'd', use: () => Promise<T>): Promise<T> => {
    const worker = quickWorkflows();
    const running = await env.createWorker({ taskQueue: queue, services, defaultService, worker });
    return running.runUntil(use);
  };
  /** Without our client, which would write the name of the default into the input if it knew the services. */
  const start = async (input: Partial<VideoInput>) => {
    const workflowId = randomUUID();
    const args = [{ request: { prompt: 'A red fox' }, ...input }];
    await env.temporal.client.workflow.start('generateVideo', { workflowId, taskQueue: queue, args });
    return env.videos.handle(workflowId);
  };

  before.next('submit', { kind: 'reset' });
  const { made, lost } = await withDefault('c', async () => {
    const lost = await start({ onLostSubmit: 'fail' });
    expect(await failureOf(lost.result())).toMatchObject({ type: 'SubmitUnconfirmed' });
    const made = await Promise.all([{ service: 'c' }, {}].map(start));
    for (const job of made) {
      await untilProgress(job, ({ phase }) => phase === 'waiting');
      await terminate(job);
    }
    return { made, lost };
  });
  nowMs += JOB_TIME_MS;
  await withDefault('d', async () => {
    const retried = await Promise.all(made.map((job) => env.videos.retry(job.workflowId)));
    for (const { workflowId, adopted } of retried) {
      expect(before.generations().map(({ taskId }) => taskId)).toContain(adopted);
      const result = await env.videos.handle(workflowId).result();
      expect(result).toMatchObject({ taskId: adopted, service: 'c' });
    }
    // Its submit is repeated there, once that is decided.
    expect(await env.videos.retry(lost.workflowId)).toMatchObject({ workflowId: lost.workflowId });
    await untilProgress(lost, ({ phase }) => phase === 'needs-decision');
    await lost.decideSubmit({ decision: 'resubmit' });
    await lost.result();
  });
  expect(before.generations()).toHaveLength(3);
  expect([submitsOf(before), after.calls.length]).toEqual([4, 0]);
  await Promise.all([before.close(), after.close()]);
});

describe('a fallback', () => {
  const SERVICES = ['a', 'b'];
  const QUEUE = 'switching';
  const BUSY = { kind: 'rate-limited', retryAfter: 1 } as const;

  let switching: VideoClient;
  let stop: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    const { client } = env.temporal;
    stop = keepRunning(await startWorker({ taskQueue: QUEUE }));
    const storage = createFileStorage(env.storageFolder);
    switching = await createVideoClient({ client, taskQueue: QUEUE, storage });
  });
  afterAll(() => stop?.());

  const startWorker = (options: VideoWorkerOptions) =>
    env.createWorker({
      services: { a: serviceAt(a), b: serviceAt(b) },
      ...options,
      worker: { ...quickWorkflows(), interceptors: { activity: [redirectSubmits] }, ...options.worker },
    });
  /** A worker for the submits to one service on a queue of their own. */
  const submitWorker = (service: 'a' | 'b', queue: string, options: VideoWorkerOptions = {}) =>
    startWorker({ taskQueue: `${queue}-${service}`, ...options });

  const start = (prompt: string, more = {}, options = {}): Promise<VideoJob> =>
    switching.start({ request: { prompt }, services: SERVICES, ...more }, options);
  const postsFor = (prompt: string) => [a, b].map((emulator) => postsOf(emulator, prompt).length);
  const historyAt = (service: string, { workflowId }: VideoJob) =>
    historyOf(env.temporal.client, childName(workflowId, service));

  /** Runs a worker for submits to a until the first attempt of one has ended. The retry after it comes a second later. */
  async function leaveAfterAttempt<T>(queue: string, work: () => Promise<T>): Promise<T> {
    let leave: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const leaveAtEnd: ActivityInterceptorsFactory = () => ({
      inbound: { execute: (input, next) => next(input).finally(() => leave()) },
    });
    const leaving = await submitWorker('a', queue, { worker: { interceptors: { activity: [leaveAtEnd] } } });
    const [result] = await leaving.runUntil(Promise.all([work(), ended]));
    return result;
  }

  /** How many submits were begun at both services. */
  async function submitsBegun(job: VideoJob): Promise<number> {
    const ofBoth = SERVICES.map(async (service) => {
      if (!(await switching.find(childName(job.workflowId, service)))) return 0;
      const history = await historyAt(service, job);
      return activities(history).filter(({ type }) => type === 'submitVideo').length;
    });
    return (await Promise.all(ofBoth)).reduce((sum, count) => sum + count, 0);
  }

  /** What a answers to the first submit, before its only worker leaves. */
  const LEFT: Record<string, { answer: Faults['submit']; onLostSubmit?: 'resubmit' }> = {
    busy: { answer: BUSY },
    failing: { answer: { kind: 'server-error', status: 500 } },
    // A lost submit is repeated only where it may be found.
    silent: { answer: { kind: 'reset' }, onLostSubmit: 'resubmit' },
  };

  // On a real server alone: Temporal's test server gives a retry no limit for its start.
  test('whose service is left by its worker after an answer asks the next one only if that answer was a refusal', async () => {
    const queueOf = (prompt: string) => `left-${prompt}`;
    const jobs = new Map<string, VideoJob>();
    for (const [prompt, { answer, onLostSubmit = 'fail' }] of atLength(
      Object.entries(LEFT).slice(0, 2),
      Object.entries(LEFT),
    )) {
      a.next('submit', answer);
      const queue = queueOf(prompt);
      // A retry without a Retry-After comes after 2 s.
      const input = { fallbackAfter: '2s', onLostSubmit };
      const job = await leaveAfterAttempt(queue, () => start(prompt, input, submittingOn(queue)));
      jobs.set(prompt, job);
    }
    for (const job of jobs.values()) while ((await submitsBegun(job)) < 2) await pause();
    // Longer than a worker may take to come back: a job that stays with its service waits for as long as that takes.
    await sleep(3_000);
    const queues = [...jobs.keys()].map(queueOf);
    const workers = await Promise.all(
      queues.flatMap((queue) => [submitWorker('a', queue), submitWorker('b', queue)]),
    );
    const stops = workers.map(keepRunning);
    const ends = new Map<string, unknown>();
    for (const [prompt, job] of jobs) ends.set(prompt, [(await job.result()).service, postsFor(prompt)]);
    await Promise.all(stops.map((each) => each()));
    expect(Object.fromEntries(ends)).toEqual({
      busy: ['b', [1, 1]],
      failing: ['a', [2, 0]],
      ...atLength({}, { silent: ['a', [2, 0]] }),
    });
  });

  test('that was terminated has ended and can be retried, although its job at the service goes on', async () => {
    const job = await start('left alone', { polling: { min: '1h', max: '1h' } });
    const taskId = await job.taskId();
    await terminate(job);
    expect(await switching.find(job.workflowId)).toMatchObject({ state: 'cancelled', taskId });
    const child = switching.handle(childName(job.workflowId, 'a'));
    expect(await child.progress()).toMatchObject({ phase: 'waiting', taskId });
    const { workflowId } = await switching.retry(job.workflowId);
    expect(String(await failureOf(switching.handle(workflowId).result()))).toContain(
      `belongs to the job ${child.workflowId}`,
    );
    await child.pollNow();
    expect(await child.result()).toMatchObject({ taskId });
  });

  test('in the items of a batch leaves nothing at the services when the batch is forgotten', async () => {
    const batch = await switching.startBatch({ requests: [{ prompt: 'gone' }], services: SERVICES });
    await batch.result();
    const { removed } = await switching.forget(batch.workflowId);
    const files = removed.map(({ what }) => what).filter((what) => what !== 'execution');
    expect(files).toEqual(['video', 'sidecar', 'record', 'results']);
  });
});

test('the priority of the caller of a batch applies to each activity that waits in a queue, on all its queues', async () => {
  const recorded: { type: string; priority: Priority | undefined }[] = [];
  /** The history has the priority only for the start of the workflow. */
  const record = ({ info }: ActivityContext) => {
    // Local activities wait in no queue: they are part of a workflow task, which has the priority.
    if (!info.isLocal) recorded.push({ type: info.activityType, priority: info.priority });
    return {};
  };
  const worker = await env.createWorker({
    downloadQueue: 'downloads-by-priority',
    worker: { ...quickWorkflows(), interceptors: { activity: [record] } },
  });
  await worker.runUntil(async () => {
    const priority = { priorityKey: 4, fairnessKey: 'acme', fairnessWeight: 0.5 };
    const requests = [{ prompt: 'A red fox' }, { prompt: 'A grey fox' }];
    const batch = await env.videos.startBatch({ requests, polling }, { temporal: { priority } });
    expect(await batch.result()).toMatchObject({ succeeded: 2 });
    const types = new Set(recorded.map(({ type }) => type));
    expect(types).toEqual(new Set(['openBatch', 'submitVideo', 'downloadVideo', 'recordResults']));
    expect(recorded).toEqual(recorded.map(({ type }) => ({ type, priority })));
  });
});

/** The identity of the worker that ran each activity, by activity type. */
async function workersOf({ workflowId }: VideoJob): Promise<Record<string, string>> {
  const { events } = await historyOf(env.temporal.client, workflowId);
  const started = (events ?? []).flatMap(({ activityTaskStartedEventAttributes: start }) => start ?? []);
  return Object.fromEntries(
    started.map(({ scheduledEventId, identity }) => {
      const scheduled = events?.find(({ eventId }) => `${eventId}` === `${scheduledEventId}`);
      const { activityType } = scheduled?.activityTaskScheduledEventAttributes ?? {};
      return [activityType?.name ?? '', identity ?? ''];
    }),
  );
}

test('a submit and a download wait for a worker of their own queue, and the job shows the queue that nobody serves', async () => {
  const taskQueue = `split-${randomUUID()}`;
  const downloadQueue = `${taskQueue}-downloads`;
  const workflowBundle = withConstants({ ASK_AFTER_MS: 500 });
  const createWorker = (role: WorkerRole) =>
    env.createWorker({
      taskQueue,
      downloadQueue,
      roles: [role],
      worker: { ...quickWorkflows(), workflowBundle, identity: role },
    });
  const [jobs, submits, downloads] = await Promise.all([
    createWorker('jobs'),
    createWorker('submits'),
    createWorker('downloads'),
  ]);
  const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
  await jobs.runUntil(async () => {
    const job = await videos.start({ request, polling });
    const handle = env.temporal.client.workflow.getHandle(job.workflowId);
    const details = async () =>
      (await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
    await untilProgress(job, ({ unservedQueue }) => unservedQueue === `${taskQueue}-submit`);
    expect(await details()).toContain(`No worker serves the task queue \`${taskQueue}-submit\``);
    await submits.runUntil(async () => {
      const { phase } = await untilProgress(job, ({ unservedQueue }) => unservedQueue === downloadQueue);
      expect(phase).toBe('downloading');
      expect(await details()).toContain(`No worker serves the task queue \`${downloadQueue}\``);
    });
    await downloads.runUntil(job.result());
    expect(await job.progress()).not.toHaveProperty('unservedQueue');
    expect(await details()).not.toContain('No worker serves');
    expect(await workersOf(job)).toEqual({ submitVideo: 'submits', downloadVideo: 'downloads' });
  });
});
