import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { createFileStorage, createS3Storage, type VideoStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { makeTrailerOf } from '../support/host-workflows';
import { captureLogs } from '../support/logs';
import { atLength } from '../support/nightly';
import { S3_SERVER_TIMEOUT_MS, type S3Server, startS3Server } from '../support/s3-server';
import { SlowWrites, slowStorage, startSlowS3 } from '../support/slow-storage';
import { recordsIn } from '../support/stored-files';
import { inWorld, pause, untilProgress, type World } from '../support/world';

const RECORDS = /\bjobs\//;

jest.setTimeout(180_000);

let env: VideoTestEnvironment;
let server: S3Server;
let workflowBundle: WorkflowBundleWithSourceMap;
beforeAll(async () => {
  captureLogs();
  [env, server] = await Promise.all([createVideoTestEnvironment({ server: 'dev' }), startS3Server()]);
  workflowBundle = await bundleWorkflowCode({
    workflowsPath: require.resolve('../support/host-workflows'),
    plugins: [env.createPlugin()],
  });
}, S3_SERVER_TIMEOUT_MS);
afterAll(async () => {
  await env?.teardown();
  await server?.stop();
});

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function inFolder(writes: SlowWrites): Promise<VideoStorage> {
  const folder = await mkdtemp(join(tmpdir(), 'videogen-slow-'));
  cleanUps.push(
    () => rm(folder, { recursive: true }),
    () => writes.land(),
  );
  return slowStorage(createFileStorage(folder), writes);
}

async function inBucket(writes: SlowWrites): Promise<VideoStorage> {
  const proxy = await startSlowS3(server.connection.endpoint, writes);
  cleanUps.push(() => proxy.stop());
  const { bucket, connection } = server;
  return createS3Storage({ bucket, prefix: randomUUID(), ...connection, endpoint: proxy.endpoint });
}

type Trailer = WorkflowHandle<typeof makeTrailerOf>;

const startTrailer = ({ taskQueue }: World, about: string): Promise<Trailer> =>
  env.temporal.client.workflow.start<typeof makeTrailerOf>('makeTrailerOf', {
    taskQueue,
    workflowId: `film-${about}`,
    args: [about],
  });

const paidFor = ({ emulator }: World, about: string) =>
  emulator.generations().filter(({ request }) => request.prompt?.endsWith(about));

/** Terminates the parent, and waits until Temporal has terminated its child. */
async function terminate(trailer: Trailer, about: string): Promise<void> {
  await trailer.terminate('a test');
  const child = env.temporal.client.workflow.getHandle(`trailer-${about}`);
  while ((await child.describe()).status.name === 'RUNNING') await pause();
}

/** The trailer gets its video, or an operator is asked and finds the task of the run before. */
async function expectPaidOnce(world: World, trailer: Trailer, about: string): Promise<void> {
  const child = world.videos.handle(`trailer-${about}`);
  const { phase } = await untilProgress(child, (now) =>
    ['needs-decision', 'succeeded', 'failed'].includes(now.phase),
  );
  if (phase === 'needs-decision') {
    const [lost] = paidFor(world, about);
    expect(lost).toBeDefined();
    await child.decideSubmit({ decision: 'adopt', taskId: lost?.taskId ?? '' });
  }
  const taskId = await trailer.result();
  expect(paidFor(world, about).map((task) => task.taskId)).toEqual([taskId]);
  const posts = world.emulator.calls.filter(({ call, body }) => call === 'submit' && isAbout(body, about));
  expect(posts).toHaveLength(1);
}

const isAbout = (body: unknown, about: string) => String(Object(body).prompt).endsWith(about);

describe.each([
  ['a folder', inFolder],
  ['S3', inBucket],
])('in %s', (_, storageWith) => {
  test('a parent that is terminated and started again while each write of a record takes 300 ms pays once, in each round', async () => {
    const writes = new SlowWrites({ key: RECORDS, nth: 'every', delayMs: 300 });
    const storage = await storageWith(writes);
    await inWorld(env, { jobTimeMs: 0, storage, worker: { workflowBundle } }, async (world) => {
      for (const about of atLength(
        ['foxes', 'hares'],
        ['foxes', 'hares', 'lynxes', 'owls', 'bears', 'voles'],
      )) {
        const before = writes.held;
        const first = await startTrailer(world, about);
        while (writes.held === before) await pause();
        await terminate(first, about);
        await expectPaidOnce(world, await startTrailer(world, about), about);
      }
    });
  });

  test('two runs that announce their request at the same moment pay once', async () => {
    const writes = new SlowWrites(
      ...[1, 2].map((nth) => ({ key: RECORDS, nth, delayMs: 'forever' as const })),
    );
    const storage = await storageWith(writes);
    await inWorld(env, { jobTimeMs: 0, storage, worker: { workflowBundle } }, async (world) => {
      const first = await startTrailer(world, 'wolves');
      while (writes.held === 0) await pause();
      await terminate(first, 'wolves');
      const second = await startTrailer(world, 'wolves');
      while (writes.held === 1) await pause();
      await writes.land();
      await expectPaidOnce(world, second, 'wolves');
    });
  });

  test('a note that nothing was paid, which lands after the task of the next attempt, erases no task', async () => {
    const writes = new SlowWrites({ key: RECORDS, nth: 2, delayMs: 'forever' });
    const storage = await storageWith(writes);
    await inWorld(env, { jobTimeMs: 1_000, storage }, async ({ emulator, videos, taskQueue }) => {
      const input = { request: { prompt: 'A red fox' } };
      const named = { workflowId: `late-${randomUUID()}` };
      emulator.next('submit', { kind: 'rate-limited', retryAfter: 1 });
      const { job, taskId } = await videos.submit(input, named);
      expect(writes.held).toBe(1);
      await env.temporal.client.workflow.getHandle(job.workflowId).terminate('a test');
      await writes.land();

      const again = { taskQueue, ...named, args: [input] };
      const result = await env.temporal.client.workflow.execute('generateVideo', again);
      expect(result).toMatchObject({ taskId });
      expect(emulator.generations().map((task) => task.taskId)).toEqual([taskId]);
    });
  });
});

test('a run that finds the request of another run under way is held, and sends nothing once the answer is on record', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, taskQueue, storageFolder }) => {
    const entries = async () => {
      const names = (await recordsIn(storageFolder)).filter((name) =>
        /^jobs[/]under-way[.].*[/]\d+[.]json$/.test(name),
      );
      return Promise.all(
        names.map(async (name) => JSON.parse(await readFile(join(storageFolder, name), 'utf8'))),
      );
    };
    const start = () =>
      env.temporal.client.workflow.start('generateVideo', {
        taskQueue,
        workflowId: 'under-way',
        args: [{ request: { prompt: 'A red fox' } }],
      });
    emulator.next('submit', { kind: 'late', ms: 10_000 });
    const first = await start();
    while (emulator.generations().length === 0) await pause();
    await first.terminate('a test');
    const second = await start();
    const job = videos.handle('under-way');
    const { hold } = await untilProgress(job, ({ phase }) => phase === 'needs-decision');
    expect(hold?.lostSubmit).toBe((await entries())[0].id);

    while ((await entries()).at(-1).event !== 'task') await pause();
    await job.decideSubmit({ decision: 'resubmit', lostSubmit: hold?.lostSubmit });
    const [task] = emulator.generations();
    expect(await second.result()).toMatchObject({ taskId: task?.taskId });
    expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(1);
  });
});
