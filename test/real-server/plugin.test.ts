import { randomUUID } from 'node:crypto';
import { NativeConnection, Worker, type WorkerOptions, type WorkerPlugin } from '@temporalio/worker';
import { createVideoClient } from '../../src/client/video-client';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { VideoPlugin, type VideoPluginOptions } from '../../src/worker/video-plugin';
import { createVideoWorker, type VideoWorkerOptions } from '../../src/worker/video-worker';
import { closed, replyJson, startRawServer } from '../service/raw-server';
import type { makeTrailer } from '../support/host-workflows';
import { captureLogs } from '../support/logs';
import { failureOf, pause, quickWorkflows } from '../support/world';

let env: VideoTestEnvironment;
let service: OpenedVideoService;

beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, videoBytes: 64 * 1024 },
  });
  service = createVideoService({ baseUrl: env.emulator.url, apiKey: () => env.emulator.apiKey });
});
afterAll(async () => {
  await service.close();
  await env.teardown();
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

const polling = { min: '1s', max: '1s' } as const;

/** The task queue of each activity of a job, by activity type. */
async function queuesOf(workflowId: string): Promise<Record<string, string>> {
  const { events } = await env.temporal.client.workflow.getHandle(workflowId).fetchHistory();
  const scheduled = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: one }) => one ?? []);
  return Object.fromEntries(
    scheduled.map(({ activityType, taskQueue }) => [activityType?.name ?? '', taskQueue?.name ?? '']),
  );
}

describe('a host’s worker with the plugin', () => {
  it('bundles and runs its own workflow, which generates a video as a child, on its one task queue', async () => {
    const taskQueue = `host-${randomUUID()}`;
    const host = await createHost(newPlugin(), {
      taskQueue,
      workflowBundle: undefined,
      workflowsPath: require.resolve('../support/host-workflows'),
    });
    const workflowId = randomUUID();
    const trailer = await host.runUntil(() =>
      env.temporal.client.workflow.execute<typeof makeTrailer>('makeTrailer', {
        taskQueue,
        workflowId: randomUUID(),
        args: ['foxes', workflowId],
      }),
    );
    expect(trailer).toMatchObject({ prompt: 'A film about foxes' });
    expect(env.emulator.generations().map(({ taskId }) => taskId)).toContain(trailer.taskId);
    expect(new Set(Object.values(await queuesOf(workflowId)))).toEqual(
      new Set([taskQueue, `${taskQueue}-submit`]),
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
    const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
    const running = host.run();
    const job = await videos.start({ request: { prompt: 'a fox' }, polling });
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
    const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
    const failure = await host.runUntil(() => failureOf(videos.execute({ taskId: 'nobody' })));
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

describe('a worker of the package', () => {
  it('that cannot create one of its workers fails with that error, and closes its connection', async () => {
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
});
