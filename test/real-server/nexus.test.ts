import { randomUUID } from 'node:crypto';
import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import {
  bundleWorkflowCode,
  DefaultLogger,
  type NexusInboundCallsInterceptor,
  Worker,
} from '@temporalio/worker';
import { HandlerError } from 'nexus-rpc';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { IDENTITY_MEMO, WORKFLOW_TYPE } from '../../src/contract/names';
import type { NexusJobInput } from '../../src/nexus/service';
import { VideoPlugin } from '../../src/plugin/video-plugin';
import { createVideoService, type VideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import type { askProgress, orderAndCancel, orderVideo, Told } from '../support/nexus-callers';
import { bundlePath, failureOf, pause } from '../support/world';

const CALLERS = 'callers';
const endpoint = `videos-${randomUUID()}`;
const queue = { ofVideos: `videos-${randomUUID()}`, ofCallers: `callers-${randomUUID()}` };
const polling = { min: '1s', max: '1s' } as const;
/** The plugin's worker does everything. */
const queues = { submit: queue.ofVideos };

let env: VideoTestEnvironment;
let service: VideoService;
let videos: VideoClient;
let callers: Client;
let callerCode: string;
let stop: () => Promise<void>;

beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, videoBytes: 64 * 1024 },
  });
  const { connection, nativeConnection } = env.temporal;
  await connection.workflowService.registerNamespace({
    namespace: CALLERS,
    workflowExecutionRetentionPeriod: msToTs('1 day'),
  });
  await env.temporal.createNexusEndpoint(endpoint, queue.ofVideos);
  service = createVideoService({ baseUrl: env.emulator.url, apiKey: () => env.emulator.apiKey });
  videos = await createVideoClient({ client: env.temporal.client, taskQueue: queue.ofVideos });
  callers = new Client({ connection, namespace: CALLERS });
  const storage = createFileStorage(env.storageFolder);
  const host = await Worker.create({
    connection: nativeConnection,
    taskQueue: queue.ofVideos,
    workflowBundle: { codePath: bundlePath() },
    interceptors: {
      nexus: [() => ({ inbound: { startOperation: answersMayBeLost } })],
      client: { workflow: [{ start: somethingMayHappen }] },
    },
    plugins: [new VideoPlugin({ env: {}, service, storage, nexus: true })],
  });
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('../support/nexus-callers'),
    logger: new DefaultLogger('ERROR'),
  });
  callerCode = code;
  const caller = await whenKnown(() =>
    Worker.create({
      connection: nativeConnection,
      namespace: CALLERS,
      taskQueue: queue.ofCallers,
      workflowBundle: { code },
    }),
  );
  const running = [host.run(), caller.run()];
  stop = async () => {
    host.shutdown();
    caller.shutdown();
    await Promise.all(running);
  };
});
afterAll(async () => {
  await stop();
  await service.close();
  await env.teardown();
});

/** So many answers to a start are lost after the job was started; Temporal then sends the order again. */
let lostAnswers = 0;

const answersMayBeLost: NexusInboundCallsInterceptor['startOperation'] = async (input, next) => {
  const answer = await next(input);
  if (lostAnswers === 0) return answer;
  lostAnswers -= 1;
  throw new HandlerError('INTERNAL', 'the answer is lost');
};

/** What happens between the moment when a job was seen to run and the one when an order joins it. */
let beforeJoining = async () => {};

const somethingMayHappen: WorkflowClientInterceptor['start'] = async (input, next) => {
  if (input.options.workflowIdConflictPolicy === 'USE_EXISTING') await beforeJoining();
  return next(input);
};

/** A namespace is known everywhere some time after it was registered. */
async function whenKnown<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!/not found/i.test(String(error))) throw error;
      await pause();
    }
  }
}

type Caller = typeof orderVideo | typeof orderAndCancel | typeof askProgress;

const call = async (type: string, given: NexusJobInput | string): Promise<Told> =>
  whenKnown(() =>
    callers.workflow.execute<(endpoint: string, given: unknown) => ReturnType<Caller>>(type, {
      taskQueue: queue.ofCallers,
      workflowId: randomUUID(),
      args: [endpoint, given],
    }),
  );

const submits = () => env.emulator.calls.filter(({ call }) => call === 'submit').length;

describe('a workflow in another namespace', () => {
  it('orders a video and gets what the job gives', async () => {
    const { result, message } = await call('orderVideo', { request: { prompt: 'a fox' }, polling });
    expect(message).toBeUndefined();
    expect(env.emulator.generations().map(({ taskId }) => taskId)).toContain(result?.taskId);
    expect(result?.video.uri).toContain('video-nexus-');
  });

  it('orders the same under one name twice, while it runs and after, and one is paid for', async () => {
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

  it('whose order is sent again because the answer was lost gets the job that was started', async () => {
    const before = submits();
    lostAnswers = 1;
    const { result } = await call('orderVideo', { request: { prompt: 'a fox' }, polling });
    expect(result?.taskId).toBe(env.emulator.generations().at(-1)?.taskId);
    expect(lostAnswers).toBe(0);
    expect(submits() - before).toBe(1);
  });

  it('is told in a sentence what is wrong with an order, once', async () => {
    const wrong = JSON.parse('{ "request": { "prompt": "a fox", "aspectRatio": "16:9" } }');
    const told = await call('orderVideo', wrong);
    expect(told).toMatchObject({ type: 'InvalidRequest', throughNexus: true });
    expect(told.message).toMatch(/^The request was refused: .*"aspectRatio"/);
    expect(await call('orderVideo', JSON.parse('"a fox"'))).toMatchObject({ type: 'InvalidRequest' });
  });

  it('reads a failure of the job with its type and task', async () => {
    env.emulator.next('status', { kind: 'failed-task', code: 'foxes', message: 'too many foxes' });
    const told = await call('orderVideo', { request: { prompt: 'a fox' }, polling });
    expect(told).toMatchObject({
      type: 'GenerationFailed',
      taskId: env.emulator.generations().at(-1)?.taskId,
    });
    expect(told.message).toContain('too many foxes');
  });

  it('reads the failure of a job that had ended when it was ordered again', async () => {
    const input = { request: { prompt: 'a fox' }, polling, workflowId: `named-${randomUUID()}` };
    env.emulator.next('status', { kind: 'failed-task', code: 'foxes', message: 'too many foxes' });
    const first = await call('orderVideo', input);
    expect(first.type).toBe('GenerationFailed');
    const second = await call('orderVideo', input);
    expect(second).toMatchObject({ type: first.type, taskId: first.taskId });
    expect(second.message).toContain(`the job ${input.workflowId} ended so at 2`);
  });

  it('starts the job afresh whose name had sent nothing', async () => {
    const input = { request: { prompt: 'a fox' }, polling, workflowId: `named-${randomUUID()}` };
    env.emulator.next('submit', { kind: 'refused', status: 401, message: 'no such key' });
    expect(await call('orderVideo', input)).toMatchObject({ type: 'Unauthorized' });
    const [first, second] = await Promise.all([call('orderVideo', input), call('orderVideo', input)]);
    expect(first.result?.taskId).toBe(env.emulator.generations().at(-1)?.taskId);
    expect(second.result).toEqual(first.result);
  });

  it('is told at once that the job of its name was terminated, and of which task', async () => {
    const workflowId = `named-${randomUUID()}`;
    const input = { request: { prompt: 'a fox' }, polling: { min: '1h', max: '1h' }, queues } as const;
    const job = await videos.start(input, { workflowId });
    const taskId = await job.taskId();
    await env.temporal.client.workflow.getHandle(workflowId).terminate('too many foxes');
    const told = await call('orderVideo', { ...input, workflowId });
    expect(told).toMatchObject({ type: 'Cancelled', taskId, throughNexus: true });
    expect(told.message).toContain('terminated: too many foxes');
    expect(told.message).toContain(`the job ${workflowId} ended so at 2`);
    expect(await failureOf(job.result())).toMatchObject({ type: told.type, taskId });
  });

  it('is told at once that Temporal ended the job of its name for its time', async () => {
    const workflowId = `named-${randomUUID()}`;
    const request = { prompt: 'a fox' };
    await env.temporal.client.workflow.start(WORKFLOW_TYPE, {
      taskQueue: randomUUID(),
      workflowId,
      workflowExecutionTimeout: '1s',
      memo: { [IDENTITY_MEMO]: { request } },
      args: [{ request }],
    });
    const failure = await failureOf(videos.handle(workflowId).result());
    const told = await call('orderVideo', { request, workflowId });
    expect(told).toMatchObject({ type: 'DeadlineExceeded', throughNexus: true });
    expect(failure).toMatchObject({ type: told.type });
  });

  it('gets the video of a job that ended just before it was joined', async () => {
    const workflowId = `named-${randomUUID()}`;
    const input = { request: { prompt: 'a fox' } };
    const job = await videos.start({ ...input, polling: { min: '1h', max: '1h' }, queues }, { workflowId });
    const taskId = await job.taskId();
    let wasJoining = false;
    beforeJoining = async () => {
      wasJoining = true;
      await job.pollNow();
      await job.result();
    };
    const told = await call('orderVideo', { ...input, workflowId });
    beforeJoining = async () => {};
    expect(wasJoining).toBe(true);
    expect(told.result?.taskId).toBe(taskId);
  });

  it('cancels the job with its order', async () => {
    const workflowId = `named-${randomUUID()}`;
    const told = await call('orderAndCancel', {
      request: { prompt: 'a fox' },
      workflowId,
      polling: { min: '1h', max: '1h' },
    });
    expect(told.throughNexus).toBe(true);
    expect((await videos.handle(workflowId).progress()).phase).toBe('cancelled');
  });

  it('asks for the progress of jobs alone', async () => {
    const workflowId = `other-${randomUUID()}`;
    await env.temporal.client.workflow.start('bookHotel', { taskQueue: randomUUID(), workflowId });
    const other = await call('askProgress', workflowId);
    expect(other).toMatchObject({ message: expect.stringContaining(`there is no job ${workflowId}`) });
    const nobody = await call('askProgress', 'nobody');
    expect(nobody).toMatchObject({
      type: 'InvalidRequest',
      message: expect.stringContaining('there is no job nobody'),
    });
  });

  it('brings neither zod nor a client into its bundle', () => {
    expect(callerCode).toContain('./src/nexus/service.ts');
    expect(callerCode).not.toMatch(/node_modules\/(zod|@temporalio\/(client|nexus|worker))\//);
  });
});
