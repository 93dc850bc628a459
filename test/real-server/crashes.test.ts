import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { createVideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import { parseResults } from '../../src/contract/batch';
import { type DevServer, PortInUse, startDevServer } from '../../src/temporal-server';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { noiseVideo } from '../../src/testing/video/make-video';
import { serve } from '../support/hostile-answers';
import { type Answer, startHostileServer } from '../support/hostile-server';
import { atLength } from '../support/nightly';
import { plainHistory } from '../support/plain-history';
import { postsOf } from '../support/posts';
import { filesIn } from '../support/stored-files';
import {
  killLeftoverWorkers,
  spawnWorker,
  startWorkerProcess,
  type WorkerProcess,
} from '../support/worker-process';
import { failureOf, pause, untilProgress } from '../support/world';

let folder: string;
let server: DevServer;
let connection: Connection;
let emulator: Emulator;

const startServer = (port?: number) =>
  startDevServer({
    executable: process.env.VIDEOGEN_TEMPORAL_CLI ?? '',
    dbFilename: join(folder, 'temporal.db'),
    headless: true,
    port,
  });

const OFTEN = { min: '1s', max: '1s' };
/** Long enough to observe a waiting job even on a busy machine. */
const RARELY = { min: '10s', max: '10s' };

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

/** A queue and its workers. A task that is handed to a worker during its kill is lost, so kills need queues of their own. */
async function openQueue(name: string) {
  const taskQueue = `${name}-${randomUUID()}`;
  const videos = await createVideoClient({ client: new Client({ connection }), taskQueue });
  const storage = join(folder, name);
  const settings = () => ({
    TEMPORAL_ADDRESS: server.address,
    VIDEO_API_BASE_URL: emulator.url,
    VIDEO_API_KEY: emulator.apiKey,
    VIDEOGEN_TASK_QUEUE: taskQueue,
    VIDEOGEN_STORAGE: storage,
  });
  return {
    videos,
    storage,
    settings,
    start: (prompt: string, polling = OFTEN): Promise<VideoJob> =>
      videos.start({ request: { prompt }, polling }),
    startWorker: (env: Record<string, string> = {}): Promise<WorkerProcess> =>
      startWorkerProcess({ ...settings(), ...env }),
    /** The names of partial downloads. */
    partialFiles: async () =>
      (await readdir(storage).catch(() => [])).filter((name) => name.endsWith('.part')),
  };
}

const generationsOf = (prompt: string) =>
  emulator.generations().filter(({ request }) => request.prompt === prompt);

async function untilPosted(...prompts: string[]): Promise<void> {
  while (!prompts.every((prompt) => generationsOf(prompt).length > 0)) await pause();
}

/** Waits until Temporal has noticed the end of the attempt before. */
async function untilAttempt(attempt: number, { workflowId }: VideoJob): Promise<void> {
  const handle = new Client({ connection }).workflow.getHandle(workflowId);
  while ((await handle.describe()).raw.pendingActivities?.[0]?.attempt !== attempt) await pause();
}

async function resetHeartbeat({ workflowId }: VideoJob): Promise<void> {
  await connection.workflowService.resetActivity({
    namespace: 'default',
    execution: { workflowId },
    type: 'submitVideo',
    resetHeartbeat: true,
  });
}

/** The jobs share the killed workers, because a worker takes two seconds of processor time to start. */
async function killWorkers() {
  const queue = await openQueue('killed');
  const moving = await openQueue('moved');
  const [first, firstToMove] = await Promise.all([queue.startWorker(), moving.startWorker()]);
  const waiting = await queue.start('waiting', RARELY);
  await untilProgress(waiting, ({ phase }) => phase === 'waiting');
  const hang = { kind: 'hang' } as const;
  emulator.next('submit', hang, hang, hang, hang);
  const sending = await Promise.all([
    queue.start('held'),
    queue.start('cancelled'),
    queue.start('reset'),
    moving.start('moved'),
  ]);
  const [held, cancelled, reset, moved] = sending;
  await untilPosted('held', 'cancelled', 'reset', 'moved');
  await Promise.all([first.kill('SIGKILL'), firstToMove.kill('SIGKILL')]);
  await Promise.all(sending.map((job) => untilAttempt(2, job)));
  await resetHeartbeat(reset);
  await resetHeartbeat(moved);
  await moving.startWorker({ VIDEOGEN_STORAGE: join(folder, 'other-videos') });

  emulator.next('download', { kind: 'stall', afterBytes: 10_000 });
  // Without a worker for submits, the second attempts do not start.
  const second = await queue.startWorker({ VIDEOGEN_TEST_ROLES: 'jobs' });
  await cancelled.cancel();
  await failureOf(cancelled.result());
  while ((await queue.partialFiles()).length === 0) await pause();
  await second.kill('SIGKILL');

  const worker = await queue.startWorker();
  return { ...queue, worker, waiting, held, cancelled, reset, moved };
}

let jobs: Awaited<ReturnType<typeof killWorkers>>;

// It waits for two heartbeat timeouts.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-crashes-'));
  server = await startServer();
  connection = await Connection.connect({ address: server.address });
  emulator = await startEmulator({ jobTimeMs: 2_000, videoBytes: 64 * 1024 });
  jobs = await killWorkers();
}, 240_000);
afterAll(async () => {
  await killLeftoverWorkers();
  await emulator?.close();
  await connection?.close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

jest.setTimeout(120_000);

test('a job succeeds on a third worker when one is killed while waiting and another while downloading', async () => {
  const { taskId, video } = await jobs.waiting.result();
  const file = await readFile(fileURLToPath(video.uri));
  expect(file.equals(await emulator.video(taskId))).toBe(true);
  expect(await jobs.partialFiles()).toEqual([]);
  expect(generationsOf('waiting')).toHaveLength(1);
  expect(postsOf(emulator, 'waiting')).toHaveLength(1);
});

test('a worker killed between the POST and its answer never posts twice: the job is held, and continues as decided', async () => {
  const { held } = jobs;
  const { hold } = await untilProgress(held, ({ phase }) => phase === 'needs-decision');
  expect(hold?.message).toContain('attempt 1 ended before its answer was known');
  const [task] = generationsOf('held');
  await held.decideSubmit({ decision: 'adopt', taskId: task?.taskId ?? '' });
  expect((await held.result()).taskId).toBe(task?.taskId);
  expect(postsOf(emulator, 'held')).toHaveLength(1);
  expect(generationsOf('held')).toHaveLength(1);
});

test('a job cancelled after its worker was killed between the POST and its answer says that a task may exist', async () => {
  const failure = String(await failureOf(jobs.cancelled.result()));
  expect(failure).toContain('so a paid task may exist: attempt 1 ended before its answer was known');
  expect(failure).toContain('the job was cancelled before anybody decided');
  expect(generationsOf('cancelled')).toHaveLength(1);
});

test.each([
  ['the same', () => jobs.reset, 'reset'],
  ['another', () => jobs.moved, 'moved'],
])(
  'a submit whose worker was killed and whose heartbeat was reset is lost for a worker with %s storage',
  async (_which, job, prompt) => {
    const { phase } = await untilProgress(job(), (progress) => progress.phase !== 'submitting');
    expect(phase).toBe('needs-decision');
    expect(postsOf(emulator, prompt)).toHaveLength(1);
  },
);

test('a worker that shuts down waits for the answer to a request in flight, and the job continues on another worker', async () => {
  emulator.next('submit', { kind: 'late', ms: 3_000 });
  const job = await jobs.start('drained');
  await untilPosted('drained');
  expect(await jobs.worker.kill('SIGTERM')).toBe(0);
  await jobs.startWorker();
  const { taskId } = await job.result();
  expect(generationsOf('drained')).toMatchObject([{ taskId }]);
});

test('a fatal error of a worker ends its process', async () => {
  const { settings } = await openQueue('nowhere');
  const lost = spawnWorker({ ...settings(), TEMPORAL_NAMESPACE: 'no-such-namespace' });
  expect(await lost.ended).toBe(1);
  expect(lost.output()).toContain('no-such-namespace');
});

/** At night more items than one run of the workflow takes. The worker is killed at these counts of stored videos. */
const { items, killedAt } = atLength({ items: 20, killedAt: [5] }, { items: 1_000, killedAt: [250, 600] });

test('a batch whose worker is killed stores each video and pays for each once', async () => {
  const { videos, ...queue } = await openQueue('batch');
  const honouring = await startEmulator({
    jobTimeMs: 1_000,
    videoBytes: 16 * 1024,
    idempotencyKeys: 'honoured',
  });
  const startWorker = () =>
    queue.startWorker({ VIDEO_API_BASE_URL: honouring.url, VIDEO_API_KEY: honouring.apiKey });
  let worker = await startWorker();
  const batch = await videos.startBatch({
    requests: Array.from({ length: items }, (_, index) => ({ prompt: `Fox ${index + 1}` })),
    window: atLength(8, 100),
    // The service honours idempotency keys, so submits lost with a killed worker may be sent again.
    onLostSubmit: 'resubmit',
    polling: OFTEN,
  });
  for (const stored of killedAt) {
    await untilProgress(batch, ({ succeeded }) => succeeded >= stored);
    await worker.kill('SIGKILL');
    worker = await startWorker();
  }
  const { results, ...counts } = await batch.result();
  expect(counts).toMatchObject({ items, succeeded: items, failed: 0 });
  const lines = parseResults(await readFile(fileURLToPath(results.uri), 'utf8'));
  const paid = honouring.generations().map(({ taskId }) => taskId);
  expect(paid).toHaveLength(items);
  expect(lines.map((line) => line.outcome === 'succeeded' && line.taskId).sort()).toEqual(paid.sort());
  await worker.kill('SIGKILL');
  await honouring.close();
}, 300_000);

/** A download takes half a minute, long enough to report progress and to send heartbeats. */
const DRIP = { bytes: 16 * 1024, everyMs: 100 };
const SLOW_VIDEO_BYTES = 5_000_000;

async function drip(response: ServerResponse, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length && !response.destroyed; at += DRIP.bytes) {
    response.write(bytes.subarray(at, at + DRIP.bytes));
    await sleep(DRIP.everyMs);
  }
  response.end();
}

const slowly: Answer = (response, { bytes, etag }) => {
  response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': bytes.length, etag });
  void drip(response, bytes);
};

async function heartbeatOf({ workflowId }: VideoJob): Promise<{ part?: string; bytes?: number }> {
  const client = new Client({ connection });
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  const download = raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'downloadVideo');
  const pending = await plainHistory(client, download);
  const [heartbeat] = pending?.heartbeatDetails?.payloads ?? [];
  return heartbeat ? JSON.parse(Buffer.from(heartbeat.data ?? []).toString()) : {};
}

test('a long download resumes at its last heartbeat when its worker is killed', async () => {
  const video = await noiseVideo({ prompt: 'A red fox' }, SLOW_VIDEO_BYTES);
  const slow = await startHostileServer();
  const requests = slow.add('task', { bytes: video, answers: [slowly, serve] });
  const { videos, storage, ...queue } = await openQueue('long');
  const startWorker = () => queue.startWorker({ VIDEO_API_BASE_URL: slow.url });
  const job = await videos.start({ taskId: 'task' }, { workflowId: 'fox' });
  const first = await startWorker();
  while ((await heartbeatOf(job)).part === undefined) await pause();
  await first.kill('SIGKILL');
  expect(await filesIn(storage)).toEqual([expect.stringMatching(/^\.videogen-.*\.part$/)]);

  const { bytes } = await heartbeatOf(job);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(SLOW_VIDEO_BYTES);
  const second = await startWorker();
  const result = await job.result();
  expect(requests.videos.map(({ range, ifRange }) => [range, ifRange])).toEqual([
    [undefined, undefined],
    [`bytes=${bytes}-`, '"one"'],
  ]);
  expect(result.video.bytes).toBe(SLOW_VIDEO_BYTES);
  expect((await readFile(fileURLToPath(result.video.uri))).equals(video)).toBe(true);
  expect((await filesIn(storage)).sort()).toEqual(['fox.mp4', 'fox.mp4.json']);
  await second.kill('SIGKILL');
  await slow.close();
});

test('a job continues when the server is killed and restarted on its database file', async () => {
  const job = await jobs.start('server', RARELY);
  const { taskId } = await untilProgress(job, ({ phase }) => phase === 'waiting');
  const port = Number(server.address.split(':').at(-1));
  await server.stop();
  server = await startServerAgain(port);

  expect((await job.result()).taskId).toBe(taskId);
  expect(generationsOf('server')).toHaveLength(1);
});
