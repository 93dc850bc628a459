import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { NativeConnection } from '@temporalio/worker';
import { parse, stringify } from 'yaml';
import { run } from '../../src/cli/run';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import type { VideoRequest } from '../../src/contract/request';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { createVideoWorker } from '../../src/worker/video-worker';
import { FakeTerminal } from '../cli/fake-terminal';
import { blocksOf, commandsOf, expectShown, readPage, sectionOf } from '../support/docs-page';
import { activities, historyOf } from '../support/history';
import { captureLogs, type LogLine } from '../support/logs';
import { profileFor } from '../support/quick-profile';
import { redirectSubmits, submittingOn } from '../support/redirect-submits';
import { filesIn, recordsIn } from '../support/stored-files';
import { pendingSubmit, untilWaiting } from '../support/submit-backlog';
import { failureOf, quickWorkflows } from '../support/world';

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
let a: Awaited<ReturnType<typeof startEmulator>>;
let b: typeof a;

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
  const running = worker.run();
  stopWorker = async () => {
    worker.shutdown();
    await running;
  };
  videos = await createVideoClient({ env: settings, client, taskQueue });
  plain = await createVideoClient({ env: {}, client, taskQueue });
});
afterAll(async () => {
  await stopWorker?.();
  await Promise.all([env.teardown(), a.close(), b.close()]);
  await rm(folder, { recursive: true });
});

const submitsOf = (emulator: typeof a) => emulator.calls.filter(({ call }) => call === 'submit').length;
const end = ({ workflowId }: VideoJob) => env.temporal.client.workflow.getHandle(workflowId).terminate();

test('a job has the name of its service in its input, and the key nowhere', async () => {
  const job = await videos.start({ request }, { workflowId: 'pinned' });
  const result = await job.result();
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

test('what a job cost is filed under the name of its service, and lists name the service', async () => {
  const job = await videos.start({ request, service: 'my-own' }, { workflowId: 'priced' });
  expect((await job.result()).cost).toMatchObject({
    estimated: { amount: 0.4, currency: 'USD' },
    service: 'my-own',
  });
  expect(await videos.find('priced')).toMatchObject({ service: 'my-own' });
  for await (const listed of videos.list({ limit: 1 })) {
    expect(listed).toMatchObject({ workflowId: 'priced', service: 'my-own' });
  }
});

/** The task of a job that ended before it had its video. */
async function leftBehind(request: VideoRequest): Promise<string> {
  const polling = { min: '1h', max: '1h' } as const;
  const { job, taskId } = await videos.submit({ request, service: 'my-own', polling });
  await env.temporal.client.workflow.getHandle(job.workflowId).terminate('a test');
  return taskId;
}

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
});

test('a submit that no worker has started at the deadline is not the fault of its service, and goes to no other', async () => {
  const services = ['my-own', 'fal-seedance'];
  const posts = () => [a, b].map(submitsOf);
  const before = posts();
  const input = { request, services, deadline: '1s', fallbackAfter: '5m' };
  const failure = await failureOf(videos.execute(input, submittingOn('nobody')));
  expect(failure).toMatchObject({ type: 'DeadlineExceeded' });
  expect(String(failure)).toContain('no worker started submitVideo');
  expect(posts()).toEqual(before);
});

test('a client without the list may name a service, and gets the default of the worker without one', async () => {
  expect(await plain.execute({ request, service: 'my-own' })).toMatchObject({ service: 'my-own' });
  const job = await plain.start({ request }, { workflowId: 'by-default' });
  expect(await job.result()).toMatchObject({ service: 'my-own' });
  expect(await plain.find('by-default')).toMatchObject({ service: 'my-own' });
});

test('a task is adopted at the service that is named', async () => {
  const taskId = await leftBehind(request);
  const before = submitsOf(b);
  expect(await videos.execute({ taskId, service: 'my-own' })).toMatchObject({ taskId, service: 'my-own' });
  expect(submitsOf(b)).toBe(before);
});

test('a job that ends without its video says which service has its task, lost or not', async () => {
  b.next('submit', { kind: 'reset' });
  const lost = await failureOf(videos.execute({ request, service: 'my-own', onLostSubmit: 'fail' }));
  expect(lost).toMatchObject({ details: { service: 'my-own' } });
  const polling = { min: '1h' } as const;
  const job = await videos.start({ request: { ...request, seed: 1 }, service: 'my-own', polling });
  const taskId = await job.taskId();
  await job.cancel();
  expect(await failureOf(job.result())).toMatchObject({ details: { taskId, service: 'my-own' } });
});

test('a job that a worker without its service has in memory is polled by one that has it', async () => {
  const queue = 'split';
  const file = parse(await readFile(settings.VIDEOGEN_SERVICES_FILE ?? '', 'utf8'));
  const workerWith = async (name: string) => {
    const path = join(folder, `${name}.yaml`);
    await writeFile(path, stringify({ ...file, services: { [name]: file.services[name] }, default: name }));
    // As in another process: over one connection, the SDK takes one worker for each queue.
    const connection = await NativeConnection.connect({ address: env.temporal.address });
    const worker = await createVideoWorker({
      env: { ...settings, VIDEOGEN_SERVICES_FILE: path, FAL_KEY: secrets.FAL_KEY },
      connection,
      taskQueue: queue,
      worker: quickWorkflows(),
    });
    const ended = worker.run().finally(() => connection.close());
    return { worker, ended };
  };
  const client = await createVideoClient({ env: settings, client: env.temporal.client, taskQueue: queue });
  const running = [await workerWith('fal-seedance')];
  try {
    const job = await client.start({ request: { ...request, seed: 3 }, service: 'my-own', deadline: '50s' });
    // The worker that has taken the job up keeps it.
    await job.progress();
    running.push(await workerWith('my-own'));
    expect(await job.result()).toMatchObject({ service: 'my-own' });
  } finally {
    for (const { worker } of running) worker.shutdown();
    await Promise.all(running.map(({ ended }) => ended));
  }
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

test('a batch has one service for all its items, and a retry stays with it', async () => {
  const requests = ['red', 'grey', 'white'].map((colour) => ({ prompt: `A ${colour} fox` }));
  const batch = await videos.startBatch({ requests, service: 'my-own' }, { workflowId: 'foxes' });
  expect(await batch.result()).toMatchObject({ succeeded: 3 });
  expect(await videos.find('foxes')).toMatchObject({ kind: 'batch', service: 'my-own' });

  b.next('submit', { kind: 'refused', status: 400, message: 'no foxes' });
  const failed = await videos.start({ request, service: 'my-own' }, { workflowId: 'no-fox' });
  await failureOf(failed.result());
  const { workflowId } = await videos.retry('no-fox', { resubmit: true });
  expect(await videos.handle(workflowId).result()).toMatchObject({ service: 'my-own' });
  expect(await videos.find(workflowId)).toMatchObject({ service: 'my-own' });
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
