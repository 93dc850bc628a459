import { randomUUID } from 'node:crypto';
import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  type NexusInboundCallsInterceptor,
  Worker,
  type WorkerOptions,
  type WorkerPlugin,
} from '@temporalio/worker';
import { HandlerError } from 'nexus-rpc';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { NexusDecision, NexusJobInput } from '../../src/nexus';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { VideoPlugin, type VideoPluginOptions } from '../../src/worker/video-plugin';
import { createVideoWorker, type VideoWorkerOptions } from '../../src/worker/video-worker';
import { closed, replyJson, startRawServer } from '../service/raw-server';
import type { makeTrailer } from '../support/host-workflows';
import { captureLogs } from '../support/logs';
import { failureOf, keepRunning, pause, quickWorkflows, untilProgress } from '../support/world';
import type { askProgress, decide, Outcome, orderAndCancel, orderVideo } from './nexus-callers';

const CALLERS = 'callers';
const endpoint = `videos-${randomUUID()}`;
const queue = { ofVideos: `videos-${randomUUID()}`, ofCallers: `callers-${randomUUID()}` };
const polling = { min: '1s', max: '1s' } as const;

let env: VideoTestEnvironment;
let service: OpenedVideoService;
/** Jobs of the host, which runs during all tests, with its own workflows and the plugin. */
let videos: VideoClient;
let callers: Client;
let callerCode: string;
let stop: (() => Promise<unknown>) | undefined;

beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, videoBytes: 64 * 1024 },
  });
  const { client, connection, nativeConnection } = env.temporal;
  await connection.workflowService.registerNamespace({
    namespace: CALLERS,
    workflowExecutionRetentionPeriod: msToTs('1 day'),
  });
  await env.temporal.createNexusEndpoint(endpoint, queue.ofVideos);
  service = createVideoService({ baseUrl: env.emulator.url, apiKey: () => env.emulator.apiKey });
  videos = await createVideoClient({ client, taskQueue: queue.ofVideos });
  callers = new Client({ connection, namespace: CALLERS });
  const host = await createHost(newPlugin({ nexus: true }), {
    taskQueue: queue.ofVideos,
    workflowBundle: undefined,
    workflowsPath: require.resolve('../support/host-workflows'),
    interceptors: {
      nexus: [() => ({ inbound: { startOperation: loseAnswers } })],
      client: { workflow: [{ start: runBeforeJoining }] },
    },
  });
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('./nexus-callers'),
    logger: new DefaultLogger('ERROR'),
  });
  callerCode = code;
  const caller = await retryUntilFound(() =>
    Worker.create({
      connection: nativeConnection,
      namespace: CALLERS,
      taskQueue: queue.ofCallers,
      workflowBundle: { code },
    }),
  );
  const stops = [host, caller].map(keepRunning);
  stop = () => Promise.all(stops.map((end) => end()));
});
afterAll(async () => {
  await stop?.();
  await service?.close();
  await env?.teardown();
});

const newPlugin = (options: VideoPluginOptions = {}) =>
  new VideoPlugin({ env: {}, service, storage: createFileStorage(env.storageFolder), ...options });

const think = async (about: string) => `A film about ${about}`;

const createHost = (plugin: VideoPlugin, options: Partial<WorkerOptions> = {}) =>
  Worker.create({
    connection: env.temporal.nativeConnection,
    taskQueue: `host-${randomUUID()}`,
    ...quickWorkflows(),
    activities: { think },
    plugins: [plugin],
    ...options,
  });

/** The task queue of each activity of a job, by activity type. */
async function queuesOf(workflowId: string): Promise<Record<string, string>> {
  const { events } = await env.temporal.client.workflow.getHandle(workflowId).fetchHistory();
  const scheduled = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: one }) => one ?? []);
  return Object.fromEntries(
    scheduled.map(({ activityType, taskQueue }) => [activityType?.name ?? '', taskQueue?.name ?? '']),
  );
}

describe('a host’s worker with the plugin', () => {
  it('runs its own workflow, which generates a video as a child, on its one task queue', async () => {
    const workflowId = randomUUID();
    const { client } = env.temporal;
    const trailer = await client.workflow.execute<typeof makeTrailer>('makeTrailer', {
      taskQueue: queue.ofVideos,
      workflowId: randomUUID(),
      args: ['foxes', workflowId],
    });
    expect(trailer).toMatchObject({ prompt: 'A film about foxes' });
    expect(env.emulator.generations().map(({ taskId }) => taskId)).toContain(trailer.taskId);
    expect(new Set(Object.values(await queuesOf(workflowId)))).toEqual(
      new Set([queue.ofVideos, `${queue.ofVideos}-submit`]),
    );
  });

  it('runs extra workers for separate queues, and ends them with itself', async () => {
    const taskQueue = `host-${randomUUID()}`;
    const downloadQueue = `${taskQueue}-d`;
    const plugin = newPlugin({ downloadQueue, submitsPerSecond: 50 });
    const connection = await NativeConnection.connect({
      address: env.temporal.address,
      // A second time: the SDK passes the plugins of a connection to each of its workers.
      plugins: [plugin],
    });
    const host = await createHost(plugin, { taskQueue, connection });
    const ofQueue = await createVideoClient({ client: env.temporal.client, taskQueue });
    const running = host.run();
    const job = await ofQueue.start({ request: { prompt: 'a fox' }, polling });
    await job.result();
    expect(await queuesOf(job.workflowId)).toMatchObject({
      submitVideo: `${taskQueue}-submit`,
      downloadVideo: downloadQueue,
    });
    host.shutdown();
    await running;
    // Closing fails while a worker still uses the connection.
    await connection.close();
  });

  it('that ends before its extra worker has started leaves none running', async () => {
    const connection = await NativeConnection.connect({ address: env.temporal.address });
    const taskQueue = randomUUID();
    // Later plugins in the list apply to the extra workers too.
    const slow: WorkerPlugin = {
      name: 'slow',
      async configureWorker(options) {
        if (options.taskQueue === `${taskQueue}-submit`) while (host.getState() !== 'STOPPED') await pause();
        return options;
      },
    };
    const plugin = newPlugin();
    const host = await createHost(plugin, { taskQueue, connection, plugins: [plugin, slow] });
    const running = host.run();
    host.shutdown();
    await running;
    await connection.close();
  });

  it('fails when an extra worker fails', async () => {
    const host = await createHost(newPlugin({ downloadQueue: '__temporal_reserved' }));
    expect(String(await failureOf(host.run()))).toContain('__temporal_');
    expect(host.getState()).toBe('STOPPED');
  });

  it('closes the service that it created, with its connections, and not one that it was given', async () => {
    // Longer than the test, so that only closing ends the connection.
    const headers = { 'keep-alive': 'timeout=600' };
    const server = await startRawServer((asked) =>
      replyJson(asked, { error: 'unknown' }, { status: 404, headers }),
    );
    const settings = { VIDEO_API_BASE_URL: server.url, VIDEO_API_KEY: 'sk-0123456789' };
    const taskQueue = `host-${randomUUID()}`;
    const host = await createHost(newPlugin({ env: settings, service: undefined }), { taskQueue });
    const ofQueue = await createVideoClient({ client: env.temporal.client, taskQueue });
    const failure = await host.runUntil(() => failureOf(ofQueue.execute({ taskId: 'nobody' })));
    expect(failure).toMatchObject({ type: 'TaskUnknown' });
    const { socket } = await server.nextRequest();
    await closed(socket);
    await server.close();

    const ended: string[] = [];
    const given: OpenedVideoService = { ...service, close: async () => void ended.push('given') };
    const other = await createHost(newPlugin({ service: given }));
    await other.runUntil(async () => undefined);
    expect(ended).toEqual([]);
  });
});

test('a worker of the package that cannot create one of its workers fails with that error, and closes its connection', async () => {
  const close = jest.spyOn(NativeConnection.prototype, 'close');
  const create = (options: VideoWorkerOptions) =>
    createVideoWorker({
      env: { TEMPORAL_ADDRESS: env.temporal.address, VIDEOGEN_STORAGE: env.storageFolder },
      service,
      taskQueue: randomUUID(),
      worker: { workflowBundle: quickWorkflows().workflowBundle },
      ...options,
    });
  expect(String(await failureOf(create({ taskQueue: '__temporal_jobs' })))).toContain('__temporal_jobs');
  expect(close).toHaveBeenCalledTimes(1);
  const worker = await create({ downloadQueue: '__temporal_downloads' });
  expect(String(await failureOf(worker.run()))).toContain('__temporal_downloads');
  expect(close).toHaveBeenCalledTimes(2);
  close.mockRestore();
});

/** How many answers are lost after the job was started. Temporal then retries the operation. */
let lostAnswers = 0;

const loseAnswers: NexusInboundCallsInterceptor['startOperation'] = async (input, next) => {
  const answer = await next(input);
  if (lostAnswers === 0) return answer;
  lostAnswers -= 1;
  throw new HandlerError('INTERNAL', 'the answer is lost');
};

/** Runs after a job was found running and before an operation joins it. */
let beforeJoining = async () => {};

const runBeforeJoining: WorkflowClientInterceptor['start'] = async (input, next) => {
  if (input.options.workflowIdConflictPolicy === 'USE_EXISTING') await beforeJoining();
  return next(input);
};

/** Retries while a new namespace is not yet known to all services of the server. */
async function retryUntilFound<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!/not found/i.test(String(error))) throw error;
      await pause();
    }
  }
}

type Caller = typeof orderVideo | typeof orderAndCancel | typeof askProgress | typeof decide;

const call = async (type: string, given: NexusJobInput | NexusDecision | string): Promise<Outcome> =>
  retryUntilFound(() =>
    callers.workflow.execute<(endpoint: string, given: unknown) => ReturnType<Caller>>(type, {
      taskQueue: queue.ofCallers,
      workflowId: randomUUID(),
      args: [endpoint, given],
    }),
  );

const submits = () => env.emulator.calls.filter(({ call }) => call === 'submit').length;

describe('a workflow in another namespace, by Nexus,', () => {
  it('joins a job by its name, while it runs and after, and only one is paid for', async () => {
    const workflowId = `named-${randomUUID()}`;
    const input = { request: { prompt: 'a fox' }, polling, workflowId };
    const before = submits();
    const [first, second] = await Promise.all([call('orderVideo', input), call('orderVideo', input)]);
    const third = await call('orderVideo', input);
    expect(first.result?.taskId).toBeDefined();
    expect([second.result, third.result]).toEqual([first.result, first.result]);
    expect(submits() - before).toBe(1);

    const other = await call('orderVideo', { ...input, request: { prompt: 'a bear' } });
    expect(other).toMatchObject({ type: 'InvalidRequest', throughNexus: true });
    expect(other.message).toContain(`${workflowId} is the name of another job (it differs in prompt)`);
    expect(await call('askProgress', workflowId)).toMatchObject({ phase: 'succeeded', polls: 1 });
  });

  it('gets the job that was started when the operation is retried after a lost answer', async () => {
    const before = submits();
    lostAnswers = 1;
    const { result } = await call('orderVideo', { request: { prompt: 'a fox' }, polling });
    expect(result?.taskId).toBe(env.emulator.generations().at(-1)?.taskId);
    expect(lostAnswers).toBe(0);
    expect(submits() - before).toBe(1);
  });

  it('gets one sentence about an invalid input', async () => {
    const wrong = JSON.parse('{ "request": { "prompt": "a fox", "aspectRatio": "16:9" } }');
    const outcome = await call('orderVideo', wrong);
    expect(outcome).toMatchObject({ type: 'InvalidRequest', throughNexus: true });
    expect(outcome.message).toMatch(/^The request was refused: .*"aspectRatio"/);
    expect(await call('orderVideo', JSON.parse('"a fox"'))).toMatchObject({ type: 'InvalidRequest' });
  });

  it('gets the failure of the job with its type and task, also after the job has failed or was terminated', async () => {
    const request = { prompt: 'a fox' };
    const input = { request, polling, workflowId: `named-${randomUUID()}` };
    env.emulator.next('status', { kind: 'failed-task', code: 'foxes', message: 'too many foxes' });
    const first = await call('orderVideo', input);
    const { taskId } = env.emulator.generations().at(-1) ?? {};
    expect(first).toMatchObject({ type: 'GenerationFailed', taskId });
    expect(first.message).toContain('too many foxes');
    const second = await call('orderVideo', input);
    expect(second).toMatchObject({ type: first.type, taskId });
    expect(second.message).toContain(`the job ${input.workflowId} ended like this at 2`);

    const workflowId = `named-${randomUUID()}`;
    const job = await videos.start({ request, polling: { min: '1h' } }, { workflowId });
    const ofJob = { type: 'Cancelled', taskId: await job.taskId() };
    await env.temporal.client.workflow.getHandle(workflowId).terminate('enough foxes');
    const outcome = await call('orderVideo', { request, polling: { min: '1h' }, workflowId });
    expect(outcome).toMatchObject({ ...ofJob, throughNexus: true });
    expect(outcome.message).toContain('terminated: enough foxes');
    expect(await failureOf(job.result())).toMatchObject(ofJob);
  });

  it('gets the video of a job that ended just before it was joined', async () => {
    const workflowId = `named-${randomUUID()}`;
    const input = { request: { prompt: 'a fox' } };
    const job = await videos.start({ ...input, polling: { min: '1h', max: '1h' } }, { workflowId });
    const taskId = await job.taskId();
    let wasJoining = false;
    beforeJoining = async () => {
      wasJoining = true;
      await job.pollNow();
      await job.result();
    };
    const outcome = await call('orderVideo', { ...input, workflowId });
    beforeJoining = async () => {};
    expect(wasJoining).toBe(true);
    expect(outcome.result?.taskId).toBe(taskId);
  });

  it('cancels the job with the operation', async () => {
    const workflowId = `named-${randomUUID()}`;
    const outcome = await call('orderAndCancel', {
      request: { prompt: 'a fox' },
      workflowId,
      polling: { min: '1h', max: '1h' },
    });
    expect(outcome.throughNexus).toBe(true);
    expect((await videos.handle(workflowId).progress()).phase).toBe('cancelled');
  });

  it('decides about a lost submit, once, and only of jobs', async () => {
    env.emulator.next('submit', { kind: 'reset' });
    const workflowId = `lost-${randomUUID()}`;
    const job = await videos.start({ request: { prompt: 'a fox' }, polling }, { workflowId });
    await untilProgress(job, ({ phase }) => phase === 'needs-decision');
    const wrong: NexusDecision = JSON.parse(`{ "workflowId": "${workflowId}", "decision": "again" }`);
    expect(await call('decide', wrong)).toMatchObject({
      type: 'InvalidRequest',
      message: expect.stringContaining('The decision cannot be taken'),
    });
    expect(await call('decide', { workflowId, decision: 'resubmit' })).toEqual({});
    expect(await job.result()).toHaveProperty('video');
    const late = await call('decide', { workflowId, decision: 'abandon' });
    expect(late).toMatchObject({ type: 'InvalidRequest', throughNexus: true });
    expect(late.message).toContain('has ended');
    const nobody = await call('decide', { workflowId: 'nobody', decision: 'abandon' });
    expect(nobody.message).toContain('there is no job nobody');
  });

  it('can query the progress of jobs only', async () => {
    const other = `other-${randomUUID()}`;
    await env.temporal.client.workflow.start('bookHotel', { taskQueue: randomUUID(), workflowId: other });
    for (const workflowId of [other, 'nobody'])
      expect(await call('askProgress', workflowId)).toMatchObject({
        type: 'InvalidRequest',
        message: expect.stringContaining(`there is no job ${workflowId}`),
      });
  });

  it('has neither zod nor a client in its bundle', () => {
    expect(callerCode).toContain('./src/nexus.ts');
    expect(callerCode).not.toMatch(/node_modules\/(zod|@temporalio\/(client|nexus|worker))\//);
  });
});
