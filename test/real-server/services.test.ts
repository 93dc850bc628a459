import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { parse, stringify } from 'yaml';
import { run } from '../../src/cli/run';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import type { VideoInput } from '../../src/contract/job';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createVideoTestEnvironment, type Emulator, type VideoTestEnvironment } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { createVideoWorker } from '../../src/worker/video-worker';
import { FakeTerminal } from '../cli/fake-terminal';
import { blocksOf, commandsOf, expectShown, readPage, sectionOf } from '../support/docs-page';
import { activities, historyOf } from '../support/history';
import { captureLogs, type LogLine } from '../support/logs';
import { profileFor } from '../support/quick-profile';
import { redirectSubmits } from '../support/redirect-submits';
import { filesIn, recordsIn } from '../support/stored-files';
import { pendingSubmit, untilWaiting } from '../support/submit-backlog';
import { failureOf, keepRunning, quickWorkflows, untilProgress } from '../support/world';

const request = { prompt: 'A red fox', duration: 4 };
const prices = { currency: 'USD', table: [{ perSecond: 0.1 }], defaults: { duration: 4 } };
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

beforeAll(async () => {
  logs = captureLogs();
  folder = await mkdtemp(join(tmpdir(), 'videogen-services-'));
  const emulated = { jobTimeMs: 0, videoBytes: 64 * 1024 };
  [env, a, b] = await Promise.all([
    createVideoTestEnvironment({ server: 'dev', emulator: emulated }),
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
    prices,
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
  await Promise.all([env.teardown(), a.close(), b.close()]);
  await rm(folder, { recursive: true });
});

const submitsOf = (emulator: Emulator) => emulator.calls.filter(({ call }) => call === 'submit').length;
const end = ({ workflowId }: VideoJob) => env.temporal.client.workflow.getHandle(workflowId).terminate();

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

test('the same name and request at another service is the same job: nothing is paid twice', async () => {
  const paidAtA = submitsOf(a);
  const workflowId = 'one-name';
  const first = await (await videos.start({ request, service: 'my-own' }, { workflowId })).result();
  const joined = await videos.start({ request, service: 'fal-seedance' }, { workflowId });
  expect(await joined.result()).toEqual(first);
  // As after Temporal has forgotten the job: only the record in the storage knows it.
  const again = await env.temporal.client.workflow.start('generateVideo', {
    workflowId,
    taskQueue,
    args: [{ request, service: 'fal-seedance' }],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
  expect(await again.result()).toMatchObject({ taskId: first.taskId, service: 'my-own' });
  expect(submitsOf(a)).toBe(paidAtA);
});

test('a batch has one service for all its items', async () => {
  const requests = ['red', 'grey', 'white'].map((colour) => ({ prompt: `A ${colour} fox` }));
  const batch = await videos.startBatch({ requests, service: 'my-own' }, { workflowId: 'foxes' });
  expect(await batch.result()).toMatchObject({ succeeded: 3 });
  expect(await videos.find('foxes')).toMatchObject({ kind: 'batch', service: 'my-own' });
});

/** Quotes hold words together. */
const wordsOf = (command: string) =>
  [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '').slice(1);

test('the commands of the page print what it shows', async () => {
  const more = { TEMPORAL_ADDRESS: env.temporal.address, VIDEOGEN_TASK_QUEUE: taskQueue };
  const commands = commandsOf(sectionOf(readPage('other-services.md'), 'Choose one'));
  expect(commands.length).toBeGreaterThan(3);
  for (const shown of commands) {
    const terminal = new FakeTerminal({ ...settings, ...more }, false, true);
    await run(wordsOf(shown.command), terminal);
    expectShown(shown, terminal.stderr + terminal.stdout);
  }
  // The job stays with its service, and the command says so.
  const joined = new FakeTerminal({ ...settings, ...more });
  await run(['generate', 'A red fox in the snow', '--service', 'fal-seedance', '--id', 'fox-1'], joined);
  expect(joined.stderr).toContain('fox-1 keeps what it was started with: service my-own.');
});

describe('after the default service has changed', () => {
  const JOB_TIME_MS = 60_000;
  /** The services c and d: neither knows the tasks of the other. */
  let before: Emulator;
  let after: Emulator;
  let queue: string;
  /** At the service: its tasks end when a test says so. */
  let nowMs: number;
  const open: OpenedVideoService[] = [];

  beforeEach(async () => {
    queue = `defaults-${randomUUID()}`;
    nowMs = 0;
    const options = {
      jobTimeMs: JOB_TIME_MS,
      videoBytes: 64 * 1024,
      idempotencyKeys: 'honoured',
      clock: () => nowMs,
    } as const;
    [before, after] = await Promise.all([startEmulator(options), startEmulator(options)]);
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((service) => service.close()));
    await Promise.all([before.close(), after.close()]);
  });

  function serviceAt({ url, apiKey }: Emulator): OpenedVideoService {
    const service = createVideoService({ baseUrl: url, apiKey: () => apiKey, profile: profileFor(0) });
    open.push(service);
    return { ...service, address: undefined };
  }

  /** What a client does while a worker runs whose default is this service. */
  async function withDefault<T>(defaultService: 'c' | 'd', use: () => Promise<T>): Promise<T> {
    const services = { c: serviceAt(before), d: serviceAt(after) };
    const worker = await env.createWorker({
      taskQueue: queue,
      services,
      defaultService,
      worker: quickWorkflows(),
    });
    return worker.runUntil(use);
  }

  /** Without our client, which would write the name of the default into the input if it knew the services. */
  async function start(input: Partial<VideoInput>) {
    const workflowId = randomUUID();
    const args = [{ request: { prompt: 'A red fox' }, ...input }];
    await env.temporal.client.workflow.start('generateVideo', { workflowId, taskQueue: queue, args });
    return env.videos.handle(workflowId);
  }

  test('a retry goes on with the task at the service that made it, whether the job named it or none', async () => {
    const inputs: Partial<VideoInput>[] = [{ service: 'c' }, {}];
    const jobs = await withDefault('c', async () => {
      const started = await Promise.all(inputs.map((input) => start(input)));
      for (const job of started) {
        await untilProgress(job, ({ phase }) => phase === 'waiting');
        await end(job);
      }
      return started;
    });
    nowMs += JOB_TIME_MS;
    await withDefault('d', async () => {
      const retried = await Promise.all(jobs.map((job) => env.videos.retry(job.workflowId)));
      for (const { workflowId, adopted } of retried) {
        expect(before.generations().map(({ taskId }) => taskId)).toContain(adopted);
        const result = await env.videos.handle(workflowId).result();
        expect(result).toMatchObject({ taskId: adopted, service: 'c' });
      }
    });
    expect([submitsOf(before), after.calls.length]).toEqual([2, 0]);
  });

  test('a retry repeats a lost submit, once that is decided, at the service that may have its task', async () => {
    before.next('submit', { kind: 'reset' });
    const job = await withDefault('c', async () => {
      const started = await start({ onLostSubmit: 'fail' });
      expect(await failureOf(started.result())).toMatchObject({ type: 'SubmitUnconfirmed' });
      return started;
    });
    nowMs += JOB_TIME_MS;
    await withDefault('d', async () => {
      const { workflowId } = await env.videos.retry(job.workflowId);
      expect(workflowId).toBe(job.workflowId);
      await untilProgress(job, ({ phase }) => phase === 'needs-decision');
      await job.decideSubmit({ decision: 'resubmit' });
      await job.result();
    });
    expect(before.generations()).toHaveLength(1);
    expect([submitsOf(before), submitsOf(after)]).toEqual([2, 0]);
  });
});

// Last: it leaves the service paused for ten minutes.
test('while one service answers only 429, jobs of another end as if they were alone', async () => {
  a.next(
    'submit',
    ...Array.from({ length: 100 }, () => ({ kind: 'rate-limited', retryAfter: 600 }) as const),
  );
  const stuck = await Promise.all(
    Array.from({ length: 12 }, () => videos.start({ request, service: 'fal-seedance' })),
  );
  await untilWaiting(env, stuck);
  while (submitsOf(a) === 0) await untilWaiting(env, stuck);
  const submitsBefore = submitsOf(b);
  const quick = await Promise.all(
    Array.from({ length: 6 }, () => videos.start({ request, service: 'my-own' })),
  );
  for (const job of quick) {
    expect(await job.result()).toMatchObject({ service: 'my-own', polls: 1 });
    // One attempt each: none was paused or limited.
    const past = activities(await historyOf(env.temporal.client, job.workflowId));
    expect(past.map(({ type, attempts }) => ({ type, attempts }))).toEqual(
      ['routeJob', 'submitVideo', 'pollVideo', 'downloadVideo'].map((type) => ({ type, attempts: 1 })),
    );
  }
  expect(submitsOf(b) - submitsBefore).toBe(quick.length);
  for (const job of stuck) {
    expect(await job.progress()).toMatchObject({ phase: 'submitting', service: 'fal-seedance' });
    const { activityOptions } = (await pendingSubmit(env, job)) ?? {};
    expect(activityOptions?.taskQueue?.name).toBe(`${taskQueue}-submit-fal-seedance`);
  }
  // The others wait in Temporal, not in calls.
  expect(submitsOf(a)).toBeLessThan(stuck.length);
  await Promise.all(stuck.map(end));
});
