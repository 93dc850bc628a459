import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import { type Emulator, startEmulator } from '../../src/emulator';
import { type DevServer, PortInUse, startDevServer } from '../../src/temporal-server';
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process';
import { failureOf, pause, untilProgress } from '../support/world';

const request = { prompt: 'A red fox' };

let folder: string;
let server: DevServer;
let connection: Connection;

const startServer = (port?: number) =>
  startDevServer({
    executable: process.env.VIDEOGEN_TEMPORAL_CLI ?? '',
    dbFilename: join(folder, 'temporal.db'),
    headless: true,
    port,
  });

/** Long enough to observe a waiting job even on a busy machine. */
const RARE_POLLS = { min: '10s', max: '10s' };

/** On the same port, which another process may have for a moment. */
async function startServerAgain(port: number): Promise<DevServer> {
  for (;;) {
    try {
      return await startServer(port);
    } catch (error) {
      if (!(error instanceof PortInUse)) throw error;
      await pause();
    }
  }
}

/** The service, storage, queue and workers of one test. */
interface CrashWorld {
  emulator: Emulator;
  videos: VideoClient;
  startWorker(env?: Record<string, string>): Promise<WorkerProcess>;
  /** The names of partial downloads. */
  partialFiles(): Promise<string[]>;
  storage(name: string): string;
}

async function inCrashWorld(work: (world: CrashWorld) => Promise<void>): Promise<void> {
  const emulator = await startEmulator({ jobTimeMs: 2_000 });
  // One queue per test: a task that is handed to a worker during its kill is lost.
  const taskQueue = `crashes-${randomUUID()}`;
  const storage = (name: string) => join(folder, taskQueue, name);
  const workers: WorkerProcess[] = [];
  try {
    await work({
      emulator,
      videos: await createVideoClient({ client: new Client({ connection }), taskQueue }),
      async startWorker(env = {}) {
        const worker = await startWorkerProcess({
          TEMPORAL_ADDRESS: server.address,
          VIDEO_API_BASE_URL: emulator.url,
          VIDEO_API_KEY: emulator.apiKey,
          VIDEOGEN_TASK_QUEUE: taskQueue,
          VIDEOGEN_STORAGE: storage('videos'),
          ...env,
        });
        workers.push(worker);
        return worker;
      },
      partialFiles: async () =>
        (await readdir(storage('videos')).catch(() => [])).filter((name) => name.endsWith('.part')),
      storage,
    });
  } finally {
    await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));
    await emulator.close();
  }
}

/** Starts a job whose worker is killed between its POST and the answer. */
async function startAndKillWhileSending({ emulator, videos, startWorker }: CrashWorld): Promise<VideoJob> {
  emulator.next('submit', { kind: 'hang' });
  const job = await videos.start({ request, polling: { min: '1s', max: '1s' } });
  const first = await startWorker();
  while (emulator.generations().length === 0) await pause();
  await first.kill('SIGKILL');
  return job;
}

/** Waits until Temporal has noticed the end of the attempt before. */
async function untilAttempt(attempt: number, { workflowId }: { workflowId: string }): Promise<void> {
  const handle = new Client({ connection }).workflow.getHandle(workflowId);
  while ((await handle.describe()).raw.pendingActivities?.[0]?.attempt !== attempt) await pause();
}

/** These run in parallel, because most of their time goes into heartbeat timeouts. */
const KILLED_WORKERS: Record<string, (world: CrashWorld) => Promise<void>> = {
  async 'a job succeeds on a third worker when one is killed while waiting and another while downloading'({
    emulator,
    videos,
    startWorker,
    partialFiles,
  }) {
    const job = await videos.start({ request, polling: RARE_POLLS });
    const first = await startWorker();
    await untilProgress(job, ({ phase }) => phase === 'waiting');
    await first.kill('SIGKILL');

    emulator.next('download', { kind: 'stall', afterBytes: 10_000 });
    const second = await startWorker();
    while ((await partialFiles()).length === 0) await pause();
    await second.kill('SIGKILL');

    await startWorker();
    const { taskId, video } = await job.result();
    const file = await readFile(fileURLToPath(video.uri));
    expect(file.equals(await emulator.video(taskId))).toBe(true);
    expect(await partialFiles()).toEqual([]);
    expect(emulator.generations()).toHaveLength(1);
    expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(1);
  },

  async 'a worker killed between the POST and its answer never posts twice: the job is held, and continues as decided'(
    world,
  ) {
    const { emulator, startWorker } = world;
    const job = await startAndKillWhileSending(world);

    await startWorker();
    const { hold } = await untilProgress(job, ({ phase }) => phase === 'needs-decision');
    expect(hold?.message).toContain('attempt 1 ended before its answer was known');
    const [task] = emulator.generations();
    await job.decideSubmit({ decision: 'adopt', taskId: task?.taskId ?? '' });
    expect((await job.result()).taskId).toBe(task?.taskId);
    expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(1);
    expect(emulator.generations()).toHaveLength(1);
  },

  async 'a job cancelled after its worker was killed between the POST and its answer says that a task may exist'(
    world,
  ) {
    const { emulator, startWorker } = world;
    const job = await startAndKillWhileSending(world);
    await untilAttempt(2, job);

    await startWorker({ VIDEOGEN_TEST_ROLES: 'jobs' });
    await job.cancel();
    const failure = String(await failureOf(job.result()));
    expect(failure).toContain('so a paid task may exist: attempt 1 ended before its answer was known');
    expect(failure).toContain('the job was cancelled before anybody decided');
    expect(emulator.generations()).toHaveLength(1);
  },

  'a submit whose worker was killed and whose heartbeat was reset is lost for a worker with the same storage':
    resetHeartbeat('videos'),

  'a submit whose worker was killed and whose heartbeat was reset is lost for a worker with another storage':
    resetHeartbeat('other-videos'),
};

function resetHeartbeat(secondStorage: string) {
  return async (world: CrashWorld) => {
    const { emulator, startWorker, storage } = world;
    const job = await startAndKillWhileSending(world);
    await untilAttempt(2, job);
    await connection.workflowService.resetActivity({
      namespace: 'default',
      execution: { workflowId: job.workflowId },
      type: 'submitVideo',
      resetHeartbeat: true,
    });

    await startWorker({ VIDEOGEN_STORAGE: storage(secondStorage) });
    const { phase } = await untilProgress(job, (progress) => progress.phase !== 'submitting');
    expect(phase).toBe('needs-decision');
    expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(1);
  };
}

const ends = new Map<string, Promise<unknown>>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-crashes-'));
  server = await startServer();
  connection = await Connection.connect({ address: server.address });
  for (const [what, work] of Object.entries(KILLED_WORKERS)) {
    ends.set(
      what,
      inCrashWorld(work).then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
  }
});
afterAll(async () => {
  await Promise.all(ends.values());
  await connection.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

test.each(Object.keys(KILLED_WORKERS))(
  '%s',
  async (what) => {
    const error = await ends.get(what);
    if (error !== undefined) throw error;
  },
  240_000,
);

test('a job continues when the server is killed and restarted on its database file', async () => {
  // The other tests use the same server.
  await Promise.all(ends.values());
  await inCrashWorld(async ({ emulator, videos, startWorker }) => {
    const job = await videos.start({ request, polling: RARE_POLLS });
    await startWorker();
    const { taskId } = await untilProgress(job, ({ phase }) => phase === 'waiting');
    const port = Number(server.address.split(':').at(-1));
    await server.kill();
    server = await startServerAgain(port);

    const result = await job.result();
    expect(result.taskId).toBe(taskId);
    expect(emulator.generations()).toHaveLength(1);
  });
}, 120_000);
