import { randomUUID } from 'node:crypto';
import type { VideoJob } from '../../src/client/video-job';
import type { VideoInput } from '../../src/contract/job';
import { SERVICE_MEMO } from '../../src/contract/names';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import {
  createVideoTestEnvironment,
  type Emulator,
  startEmulator,
  type VideoTestEnvironment,
} from '../../src/testing';
import type { VideoWorkerOptions } from '../../src/worker/video-worker';
import { captureLogs } from '../support/logs';
import { profileFor } from '../support/quick-profile';
import { failureOf, quickWorkflows, untilProgress } from '../support/world';

const JOB_TIME_MS = 60_000;
const RESET = { kind: 'reset' } as const;

let env: VideoTestEnvironment;
/** The services c and d: neither knows the tasks of the other. */
let before: Emulator;
let after: Emulator;
let taskQueue: string;
/** At the service: its tasks end when a test says so. */
let nowMs: number;
const open: OpenedVideoService[] = [];

beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, videoBytes: 64 * 1024 },
  });
});
beforeEach(async () => {
  taskQueue = `defaults-${randomUUID()}`;
  nowMs = 0;
  const options = {
    jobTimeMs: JOB_TIME_MS,
    videoBytes: 64 * 1024,
    idempotencyKeys: 'honoured' as const,
    clock: () => nowMs,
  };
  [before, after] = await Promise.all([startEmulator(options), startEmulator(options)]);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((service) => service.close()));
  await Promise.all([before.close(), after.close()]);
});
afterAll(() => env.teardown());

function serviceAt({ url, apiKey }: Emulator): OpenedVideoService {
  const service = createVideoService({
    baseUrl: url,
    apiKey: () => apiKey,
    profile: profileFor(0),
  });
  open.push(service);
  return { ...service, address: undefined };
}

/** What a client does while a worker with these services runs. */
async function onWorker<T>(options: Partial<VideoWorkerOptions>, use: () => Promise<T>): Promise<T> {
  const worker = await env.createWorker({
    taskQueue,
    ...options,
    worker: quickWorkflows(),
  });
  return worker.runUntil(use);
}

/** Without our client, which would write the name of the default into the input if it knew the services. */
async function start(input: Partial<VideoInput>, more: { workflowId?: string; memo?: object } = {}) {
  const { workflowId = randomUUID(), memo = {} } = more;
  const { workflow } = env.temporal.client;
  await workflow.start('generateVideo', {
    workflowId,
    taskQueue,
    memo: { ...memo },
    args: [{ request: { prompt: 'A red fox' }, ...input }],
  });
  return env.videos.handle(workflowId);
}

/** A job that was terminated with its task can be retried. */
async function endWithTask(job: VideoJob): Promise<void> {
  await untilProgress(job, ({ phase }) => phase === 'waiting');
  await env.temporal.client.workflow.getHandle(job.workflowId).terminate();
}
const isHeld = (job: VideoJob) => untilProgress(job, ({ phase }) => phase === 'needs-decision');
const posts = (emulator: Emulator) => emulator.calls.filter(({ call }) => call === 'submit').length;
const lastTask = (emulator: Emulator) => emulator.generations().at(-1)?.taskId ?? 'there is none';

const both = () => ({ c: serviceAt(before), d: serviceAt(after) });

describe('after the default has changed, a retry', () => {
  test('goes on with the task at the service that made it, whether the job named it or none', async () => {
    const inputs: Partial<VideoInput>[] = [{ service: 'c' }, {}];
    const jobs = await onWorker({ services: both(), defaultService: 'c' }, async () => {
      const started = await Promise.all(inputs.map((input) => start(input)));
      await Promise.all(started.map(endWithTask));
      return started;
    });
    nowMs += JOB_TIME_MS;
    await onWorker({ services: both(), defaultService: 'd' }, async () => {
      const retried = await Promise.all(jobs.map((job) => env.videos.retry(job.workflowId)));
      for (const { workflowId, adopted } of retried) {
        expect(before.generations().map(({ taskId }) => taskId)).toContain(adopted);
        const result = await env.videos.handle(workflowId).result();
        expect(result).toMatchObject({ taskId: adopted, service: 'c' });
      }
    });
    expect([posts(before), after.calls.length]).toEqual([2, 0]);
  });

  test('repeats a lost submit, once that is decided, at the service that may have its task', async () => {
    before.next('submit', RESET);
    const job = await onWorker({ services: both(), defaultService: 'c' }, async () => {
      const started = await start({ onLostSubmit: 'fail' });
      expect(await failureOf(started.result())).toMatchObject({ type: 'SubmitUnconfirmed' });
      return started;
    });
    nowMs += JOB_TIME_MS;
    await onWorker({ services: both(), defaultService: 'd' }, async () => {
      const { workflowId } = await env.videos.retry(job.workflowId);
      expect(workflowId).toBe(job.workflowId);
      await isHeld(job);
      await job.decideSubmit({ decision: 'resubmit' });
      await job.result();
    });
    expect(before.generations()).toHaveLength(1);
    expect([posts(before), posts(after)]).toEqual([2, 0]);
  });
});

test('a decision about a lost submit is carried out at the service that it was sent to', async () => {
  before.next('submit', RESET);
  const job = await onWorker({ services: both(), defaultService: 'c' }, async () => {
    const started = await start({});
    await isHeld(started);
    return started;
  });
  nowMs += JOB_TIME_MS;
  await onWorker({ services: both(), defaultService: 'd' }, async () => {
    await job.decideSubmit({ decision: 'resubmit' });
    expect(await job.result()).toMatchObject({ taskId: lastTask(before), service: 'c' });
  });
  expect([posts(before), after.calls.length]).toEqual([2, 0]);
});

test('a submit that was lost at the service without a name is adopted there, although the job names one now', async () => {
  const workflowId = 'named-since';
  env.emulator.next('submit', RESET);
  await onWorker({}, async () => {
    const job = await start({ onLostSubmit: 'fail' }, { workflowId });
    await failureOf(job.result());
  });
  const lost = lastTask(env.emulator);
  await onWorker({ services: both(), defaultService: 'c' }, async () => {
    const job = await start({ service: 'c' }, { workflowId, memo: { [SERVICE_MEMO]: 'c' } });
    await isHeld(job);
    await job.decideSubmit({ decision: 'adopt', taskId: lost });
    const result = await job.result();
    expect(result).toMatchObject({ taskId: lost });
    expect(result).not.toHaveProperty('service');
    expect((await env.videos.find(workflowId))?.service).toBeUndefined();
  });
  expect(before.calls).toEqual([]);
});
