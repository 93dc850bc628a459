import { randomUUID } from 'node:crypto';
import type { Context as ActivityContext } from '@temporalio/activity';
import type { Priority } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import { createVideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { WorkerRole } from '../../src/worker/video-worker';
import { historyOf, timers } from '../support/history';
import { captureLogs } from '../support/logs';
import { submittingOn } from '../support/redirect-submits';
import { withConstants } from '../support/short-histories';
import { ONE_PARTITION, startSubmitting, untilQueued } from '../support/submit-backlog';
import { inWorld, keepRunning, pause, quickWorkflows, untilProgress } from '../support/world';

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  const dynamicConfig = {
    ...ONE_PARTITION,
    // An eager activity skips the queue and gets no priority.
    'system.enableActivityEagerExecution': 'false',
  };
  const emulator = { jobTimeMs: 0, videoBytes: 64 * 1024 };
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig, emulator });
});
afterAll(() => env.teardown());

const DOWNLOAD_QUEUE = 'downloads-by-priority';
const polling = { min: '1s', max: '1s' } as const;
const request = { prompt: 'A red fox' };

describe('the priority of a caller', () => {
  const recorded: { type: string; priority: Priority | undefined }[] = [];
  /** The history has the priority only for the start of the workflow. */
  const record = ({ info }: ActivityContext) => {
    // Local activities wait in no queue: they are part of a workflow task, which has the priority.
    if (info.isLocal) return {};
    recorded.push({ type: info.activityType, priority: info.priority });
    return {};
  };
  let stop: () => Promise<void>;
  beforeAll(async () => {
    const worker = await env.createWorker({
      downloadQueue: DOWNLOAD_QUEUE,
      worker: { ...quickWorkflows(), interceptors: { activity: [record] } },
    });
    stop = keepRunning(worker);
  });
  beforeEach(() => void recorded.splice(0));
  afterAll(() => stop());

  test('applies to every activity of the job that waits in a queue, on all its queues', async () => {
    const priority = { priorityKey: 2, fairnessKey: 'acme', fairnessWeight: 2.5 };
    const { job } = await env.videos.submit({ request, polling }, { temporal: { priority } });
    await job.result();
    expect(recorded).toEqual(['submitVideo', 'downloadVideo'].map((type) => ({ type, priority })));
  });

  test('of a batch applies to each of its activities', async () => {
    const priority = { priorityKey: 4, fairnessKey: 'acme', fairnessWeight: 0.5 };
    const requests = [{ prompt: 'A red fox' }, { prompt: 'A grey fox' }];
    const batch = await env.videos.startBatch({ requests, polling }, { temporal: { priority } });
    expect(await batch.result()).toMatchObject({ succeeded: 2 });
    const types = new Set(recorded.map(({ type }) => type));
    expect(types).toEqual(new Set(['openBatch', 'submitVideo', 'downloadVideo', 'recordResults']));
    expect(recorded).toEqual(recorded.map(({ type }) => ({ type, priority })));
  });
});

test('a worker with our workflows alone breaks no job: pollVideo waits for a worker that has it', async () => {
  const taskQueue = `split-${randomUUID()}`;
  const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
  // Without a cache, the next worker need not wait for the one that has ended.
  const options = { ...quickWorkflows(), maxCachedWorkflows: 0 };
  const createWhole = () => env.createWorker({ taskQueue, worker: options });
  const eventsOf = async ({ workflowId }: VideoJob) => {
    const history = await historyOf(env.temporal.client, workflowId);
    return { events: history.events ?? [], waits: timers(history).length };
  };
  const job = await (await createWhole()).runUntil(async () => {
    // It polls only when it is asked to. The SDK reports that a workflow task fails only once; after that the task times out.
    const started = await videos.start(
      { request, polling: { min: '1h', max: '1h' }, deadline: '10h' },
      { temporal: { workflowTaskTimeout: '2s' } },
    );
    while ((await eventsOf(started)).waits === 0) await pause();
    return started;
  });
  const withoutActivities = await Worker.create({
    connection: env.temporal.nativeConnection,
    taskQueue,
    ...options,
  });
  await withoutActivities.runUntil(async () => {
    await job.pollNow();
    const messages = async () =>
      (await eventsOf(job)).events.flatMap(
        (event) => event.workflowTaskFailedEventAttributes?.failure?.message ?? [],
      );
    while ((await messages()).length === 0) await pause();
    expect((await messages())[0]).toContain("'pollVideo' not registered on worker");
  });
  expect(await (await createWhole()).runUntil(job.result())).toMatchObject({ polls: 1 });
});

test('submits wait in Temporal’s queue, ordered by the caller’s priority', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const submit = `backlog-${randomUUID()}-submit`;
    const order = [5, 5, 3, 3, 1];
    const jobs: VideoJob[] = [];
    for (const [index, priorityKey] of order.entries()) {
      const request = { prompt: `${priorityKey} ${index}` };
      const temporal = { priority: { priorityKey } };
      jobs.push(await world.videos.start({ request, polling }, { ...submittingOn(submit), temporal }));
    }
    await untilQueued(env, submit, jobs);
    expect(world.emulator.calls).toEqual([]);

    const stop = await startSubmitting(env, world, submit);
    for (const job of jobs) await job.result();
    await stop();
    const posted = world.emulator.generations().map(({ request }) => Number(request.prompt[0]));
    expect(posted).toEqual([1, 3, 3, 5, 5]);
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
