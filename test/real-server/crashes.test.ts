import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { stringify } from 'yaml';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import { parseResults } from '../../src/contract/batch';
import { isVideoFailure } from '../../src/contract/video-failure';
import { type DevServer, PortInUse, startDevServer } from '../../src/temporal-server';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { seededRandom } from '../../src/testing/seeded-random';
import { noiseVideo } from '../../src/testing/video/make-video';
import { type ChaosOptions, runChaos } from '../chaos/chaos-run';
import type { PlannedEvent } from '../chaos/plan';
import { historiesOf } from '../support/history';
import { ledgerOf } from '../support/ledger-of';
import { atLength, testAtNight } from '../support/nightly';
import { plainHistory } from '../support/plain-history';
import { postsOf } from '../support/posts';
import { REPLAY, SEED } from '../support/seed';
import { shortHistories } from '../support/short-histories';
import { killLeftoverWorkers, startWorkerProcess } from '../support/worker-process';
import { failureOf, pause, untilProgress } from '../support/world';
import { SLOW_VIDEO_BYTES, type SlowVideo, startSlowVideo } from './slow-video';

jest.setTimeout(120_000);

const OFTEN = { min: '1s', max: '1s' };
/** Long enough to observe a waiting job even on a busy machine. */
const RARELY = { min: '10s', max: '10s' };
const REFUSED = { kind: 'refused', status: 401, message: 'no foxes' } as const;
const HANG = { kind: 'hang' } as const;

/** The callers whose jobs are counted. */
const CAPPED = 'thrifty';
const CAP = 3;
const CAPPED_AT_NIGHT = 'hasty';
const CAP_AT_NIGHT = 20;

const taskQueue = `killed-${randomUUID()}`;
let folder: string;
let storage: string;
let server: DevServer;
let connection: Connection;
let client: Client;
let videos: VideoClient;
/** The default service, the one after it, and one that honours idempotency keys. */
let a: Emulator;
let b: Emulator;
let honouring: Emulator;
let slow: SlowVideo;

const startServer = (port?: number) =>
  startDevServer({
    executable: process.env.VIDEOGEN_TEMPORAL_CLI ?? '',
    dbFilename: join(folder, 'temporal.db'),
    headless: true,
    port,
  });

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

async function writeSettings(): Promise<void> {
  const at = ({ url: baseUrl }: { url: string }) => ({ baseUrl, key: { env: 'KEY' } });
  const services = { a: at(a), b: at(b), honouring: at(honouring), slow: at(slow) };
  await writeFile(join(folder, 'services.yaml'), stringify({ services, default: 'a' }));
  const keys = { [CAPPED]: { videos: CAP }, [CAPPED_AT_NIGHT]: { videos: CAP_AT_NIGHT } };
  await writeFile(join(folder, 'caps.yaml'), stringify({ keys }));
}

/** A worker with all services. Its batches and its ledger continue as new after a short history. */
const startWorker = (roles?: 'jobs' | 'submits') =>
  startWorkerProcess({
    TEMPORAL_ADDRESS: server.address,
    VIDEOGEN_SERVICES_FILE: join(folder, 'services.yaml'),
    KEY: a.apiKey,
    VIDEOGEN_CAPS: join(folder, 'caps.yaml'),
    VIDEOGEN_TASK_QUEUE: taskQueue,
    VIDEOGEN_STORAGE: storage,
    VIDEOGEN_TEST_BUNDLE: shortHistories().codePath,
    ...(roles && { VIDEOGEN_TEST_ROLES: roles }),
  });

/** The prompt is the name of the job. */
const start = (prompt: string, more: object = {}): Promise<VideoJob> =>
  videos.start({ request: { prompt }, polling: OFTEN, ...more }, { workflowId: prompt });

const endOf = (job: VideoJob): Promise<string> =>
  job.result().then(
    () => 'succeeded',
    (error: unknown) => (isVideoFailure(error) ? error.type : String(error)),
  );

const generationsOf = (prompt: string) => a.generations().filter(({ request }) => request.prompt === prompt);
const postsFor = (prompt: string) => [a, b].map((emulator) => postsOf(emulator, prompt).length);

async function untilPosted(emulator: Emulator, ...prompts: string[]): Promise<void> {
  while (!prompts.every((prompt) => postsOf(emulator, prompt).length > 0)) await pause();
}

async function pendingActivity({ workflowId }: VideoJob) {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  return raw.pendingActivities?.[0];
}

/** Waits until Temporal has noticed the end of the first attempt. */
async function untilSecondAttempt(job: VideoJob): Promise<void> {
  while ((await pendingActivity(job))?.attempt !== 2) await pause();
}

async function resetHeartbeat({ workflowId }: VideoJob): Promise<void> {
  await connection.workflowService.resetActivity({
    namespace: 'default',
    execution: { workflowId },
    type: 'submitVideo',
    resetHeartbeat: true,
  });
}

/** As for a worker without the storage of the one before. */
async function loseRecord({ workflowId }: VideoJob): Promise<void> {
  const jobs = join(storage, 'jobs');
  const [record = ''] = (await readdir(jobs)).filter((name) => name.startsWith(`${workflowId}.`));
  await rm(join(jobs, record), { recursive: true });
}

async function heartbeatOf(job: VideoJob): Promise<{ part?: string; bytes?: number }> {
  const pending = await plainHistory(client, await pendingActivity(job));
  const [heartbeat] = pending?.heartbeatDetails?.payloads ?? [];
  return heartbeat ? JSON.parse(Buffer.from(heartbeat.data ?? []).toString()) : {};
}

const ITEMS = 20;
const STORED_BEFORE_KILL = 5;

/** One worker is killed in the middle of all these jobs, because a worker takes two seconds of processor time to start. */
async function killWorker() {
  const worker = await startWorker();
  const waiting = await start('waiting', { polling: RARELY });
  await untilProgress(waiting, ({ phase }) => phase === 'waiting');

  a.next('submit', REFUSED, REFUSED);
  b.next('submit', HANG);
  const lostAtB = await start('lost at b', { services: ['a', 'b'] });
  await untilPosted(b, 'lost at b');
  // Its second attempt comes long after the kill, on a busy machine too.
  b.next('submit', { kind: 'rate-limited', retryAfter: 60 });
  const refusedByB = await start('refused by b', { services: ['a', 'b'] });
  await untilPosted(b, 'refused by b');

  const [held, cancelled, recorded, unrecorded] = ['held', 'cancelled', 'recorded', 'unrecorded'] as const;
  const counted = ['counted 1', 'counted 2'];
  a.next('submit', HANG, HANG, HANG, HANG, HANG, HANG, HANG);
  const sending = {
    held: await start(held),
    cancelled: await start(cancelled),
    recorded: await start(recorded),
    unrecorded: await start(unrecorded),
  };
  const lostAtA = await start('lost at a', { services: ['a', 'b'] });
  for (const prompt of counted) await start(prompt, { caller: CAPPED });
  await untilPosted(a, held, cancelled, recorded, unrecorded, 'lost at a', ...counted);

  const video = await noiseVideo({ prompt: 'A red fox' }, SLOW_VIDEO_BYTES);
  slow.bytes = video;
  const downloading = await videos.start({ taskId: 'task', service: 'slow' }, { workflowId: 'downloading' });
  while ((await heartbeatOf(downloading)).part === undefined) await pause();
  const batch = await videos.startBatch({
    requests: Array.from({ length: ITEMS }, (_, index) => ({ prompt: `Fox ${index + 1}` })),
    window: 8,
    service: 'honouring',
    // Submits lost with a killed worker may be sent again.
    onLostSubmit: 'resubmit',
    polling: OFTEN,
  });
  await untilProgress(batch, ({ succeeded }) => succeeded >= STORED_BEFORE_KILL);
  await worker.kill('SIGKILL');

  const { bytes } = await heartbeatOf(downloading);
  // Without a worker for submits, the second attempts do not start.
  await Promise.all([startWorker('jobs'), ...Object.values(sending).map(untilSecondAttempt)]);
  await resetHeartbeat(sending.recorded);
  await resetHeartbeat(sending.unrecorded);
  await loseRecord(sending.unrecorded);
  await sending.cancelled.cancel();
  await failureOf(sending.cancelled.result());
  const submitter = await startWorker('submits');
  const download = { job: downloading, video, bytes };
  return { waiting, ...sending, lostAtA, lostAtB, refusedByB, counted, batch, download, submitter };
}

let jobs: Awaited<ReturnType<typeof killWorker>>;

// It waits for a heartbeat timeout.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-crashes-'));
  storage = join(folder, 'videos');
  const small = { videoBytes: 16 * 1024 };
  [server, slow, a, b, honouring] = await Promise.all([
    startServer(),
    startSlowVideo(),
    startEmulator({ ...small, jobTimeMs: 1_000 }),
    startEmulator({ ...small, jobTimeMs: 0 }),
    startEmulator({ ...small, jobTimeMs: 1_000, idempotencyKeys: 'honoured' }),
  ]);
  await writeSettings();
  connection = await Connection.connect({ address: server.address });
  client = new Client({ connection });
  videos = await createVideoClient({ client, taskQueue });
  jobs = await killWorker();
}, 240_000);
afterAll(async () => {
  await killLeftoverWorkers();
  for (const service of [a, b, honouring, slow]) await service?.close();
  await connection?.close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('a worker that is killed', () => {
  test('while a job waits leaves it to the next worker, which stores the video of the one task', async () => {
    const { taskId, video } = await jobs.waiting.result();
    const file = await readFile(fileURLToPath(video.uri));
    expect(file.equals(await a.video(taskId))).toBe(true);
    expect(generationsOf('waiting')).toHaveLength(1);
    expect(postsFor('waiting')).toEqual([1, 0]);
  });

  test('between the POST and its answer never posts twice: the job is held, and continues as decided', async () => {
    const { held } = jobs;
    const { hold } = await untilProgress(held, ({ phase }) => phase === 'needs-decision');
    expect(hold?.message).toContain('attempt 1 ended before its answer was known');
    const [task] = generationsOf('held');
    await held.decideSubmit({ decision: 'adopt', taskId: task?.taskId ?? '' });
    expect((await held.result()).taskId).toBe(task?.taskId);
    expect(postsFor('held')).toEqual([1, 0]);
    expect(generationsOf('held')).toHaveLength(1);
  });

  test('between the POST and its answer leaves a cancelled job that says that a task may exist', async () => {
    const failure = String(await failureOf(jobs.cancelled.result()));
    expect(failure).toContain('so a paid task may exist: attempt 1 ended before its answer was known');
    expect(failure).toContain('the job was cancelled before anybody decided');
    expect(generationsOf('cancelled')).toHaveLength(1);
  });

  test.each(['recorded', 'unrecorded'] as const)(
    'leaves a lost submit even if its heartbeat is reset: %s in the storage of the next worker',
    async (prompt) => {
      const { phase } = await untilProgress(jobs[prompt], (progress) => progress.phase !== 'submitting');
      expect(phase).toBe('needs-decision');
      expect(postsFor(prompt)).toEqual([1, 0]);
    },
  );

  test('on the way from one service to the next posts to each at most once, unless it was refused', async () => {
    const { lostAtA, lostAtB, refusedByB } = jobs;
    expect(await refusedByB.result()).toMatchObject({ service: 'b', refusedBy: [{ service: 'a' }] });
    for (const [job, service] of [
      [lostAtA, 'a'],
      [lostAtB, 'b'],
    ] as const) {
      const progress = await untilProgress(job, ({ phase }) => phase !== 'submitting');
      expect(progress).toMatchObject({ phase: 'needs-decision', service });
      await job.decideSubmit({ decision: 'abandon' });
      await failureOf(job.result());
    }
    expect(['lost at a', 'lost at b', 'refused by b'].map(postsFor)).toEqual([
      [1, 0],
      [1, 1],
      [1, 2],
    ]);
  });

  test('between the POST and its answer leaves the video counted under a cap', async () => {
    const later = ['later 1', 'later 2', 'later 3'];
    const started = await Promise.all(later.map((prompt) => start(prompt, { caller: CAPPED })));
    const ends = await Promise.all(started.map(endOf));
    expect(ends.sort()).toEqual(['CapReached', 'CapReached', 'succeeded']);
    expect([...jobs.counted, ...later].flatMap((prompt) => postsOf(a, prompt))).toHaveLength(CAP);
    expect(await countedFor(CAPPED)).toBe(CAP);
  });

  test('in the middle of a batch that continues as new makes nobody pay twice, and each video is stored once', async () => {
    const { results, ...counts } = await jobs.batch.result();
    expect(counts).toMatchObject({ items: ITEMS, succeeded: ITEMS, failed: 0 });
    const lines = parseResults(await readFile(fileURLToPath(results.uri), 'utf8'));
    const paid = honouring.generations().map(({ taskId }) => taskId);
    expect(paid).toHaveLength(ITEMS);
    expect(lines.map((line) => line.outcome === 'succeeded' && line.taskId).sort()).toEqual(paid.sort());
    expect((await historiesOf(client, jobs.batch.workflowId)).length).toBeGreaterThan(1);
  });

  test('during a long download leaves it to another worker, which resumes at the last heartbeat', async () => {
    const { job, video, bytes = 0 } = jobs.download;
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(SLOW_VIDEO_BYTES);
    const result = await job.result();
    expect(slow.requests).toEqual([
      [undefined, undefined],
      [`bytes=${bytes}-`, '"one"'],
    ]);
    expect((await readFile(fileURLToPath(result.video.uri))).equals(video)).toBe(true);
    // After the batch, whose downloads were interrupted too.
    expect((await readdir(storage)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });
});

/** Used and reserved together. */
async function countedFor(caller: string): Promise<number> {
  const { counts } = await ledgerOf(client, taskQueue);
  const count = counts.find(({ name }) => name === caller);
  return (count?.used.videos ?? 0) + (count?.reserved.videos ?? 0);
}

testAtNight(
  `with workers killed at random times the count under a cap is never below what was paid, ${REPLAY}`,
  async () => {
    const random = seededRandom(`caps ${SEED}`);
    const prompts = Array.from({ length: CAP_AT_NIGHT + 10 }, (_, index) => `hasty ${index}`);
    const paid = () => prompts.flatMap(generationsOf).length;
    await jobs.submitter.kill('SIGKILL');
    a.next('submit', ...prompts.map(() => ({ kind: 'late', ms: 100 + 1_400 * random() }) as const));
    const started = await Promise.all(
      prompts.map((prompt) => start(prompt, { caller: CAPPED_AT_NIGHT, onLostSubmit: 'resubmit' })),
    );
    for (let kills = 0; kills < 4; kills++) {
      const before = postsOf(a).length;
      const worker = await startWorker('submits');
      while (postsOf(a).length === before) await pause();
      await sleep(1_500 * random());
      await worker.kill('SIGKILL');
      // A video is counted before it is paid for, so the count is read last.
      const least = paid();
      expect(await countedFor(CAPPED_AT_NIGHT)).toBeGreaterThanOrEqual(least);
    }
    jobs.submitter = await startWorker('submits');
    const ends = await Promise.all(started.map(endOf));
    expect(new Set(ends)).toEqual(new Set(['succeeded', 'CapReached']));
    expect(await countedFor(CAPPED_AT_NIGHT)).toBeGreaterThanOrEqual(paid());
    expect(paid()).toBeLessThanOrEqual(CAP_AT_NIGHT);
  },
  300_000,
);

test('a job continues when the server is killed and restarted on its database file', async () => {
  const job = await start('server', { polling: RARELY });
  const { taskId } = await untilProgress(job, ({ phase }) => phase === 'waiting');
  const port = Number(server.address.split(':').at(-1));
  await server.stop();
  server = await startServerAgain(port);

  await job.pollNow();
  expect((await job.result()).taskId).toBe(taskId);
  expect(generationsOf('server')).toHaveLength(1);
});

test('a worker that shuts down waits for the answer to a request in flight, and the job continues on another worker', async () => {
  a.next('submit', { kind: 'late', ms: 3_000 });
  const job = await start('drained');
  await untilPosted(a, 'drained');
  expect(await jobs.submitter.kill('SIGTERM')).toBe(0);
  const { taskId } = await job.result();
  expect(generationsOf('drained')).toMatchObject([{ taskId }]);
});

describe('of videos that are made while everything fails', () => {
  /** While the jobs start: Temporal gives up what a killed worker had after 20 s. */
  const EVENTS: PlannedEvent[] = [
    { atMs: 400, kind: 'kill-after-post', afterMs: 0, downMs: 0 },
    { atMs: 1_000, kind: 'line', line: 'worker-2:alpha', trouble: { kind: 'cut', ms: 500 } },
    { atMs: 1_500, kind: 'disk', worker: 2, disk: 'ENOSPC', ms: 1_000 },
    { atMs: 2_500, kind: 'kill', part: 'temporal', downMs: 0 },
    { atMs: 3_500, kind: 'kill-after-post', afterMs: 100, downMs: 0 },
    { atMs: 4_000, kind: 'freeze', part: 'worker-1', ms: 1_000 },
    { atMs: 4_500, kind: 'kill', part: 'service', downMs: 500 },
  ];
  const inSuite = { jobs: 14, lengthMs: 6_000, gateways: 0, events: EVENTS };
  const size = atLength<Omit<ChaosOptions, 'seed' | 'temporalCli'>>(inSuite, {
    jobs: 30,
    lengthMs: 40_000,
    gateways: 1,
  });

  test('none is lost, paid twice, corrupt or left behind', async () => {
    const { flaws, lost, paidTwice, corrupt, leftBehind, table } = await runChaos({
      seed: 'fox',
      workers: 2,
      temporalCli: process.env.VIDEOGEN_TEMPORAL_CLI ?? '',
      ...size,
    });
    expect(flaws).toEqual([]);
    expect({ lost, paidTwice, corrupt, leftBehind }).toEqual({
      lost: 0,
      paidTwice: 0,
      corrupt: 0,
      leftBehind: 0,
    });
    // Without these it would show nothing.
    expect(table['kills of a worker after a POST']).toBeGreaterThan(0);
    expect(table['kills of a temporal']).toBeGreaterThan(0);
    expect(table.decisions).toBeGreaterThan(0);
  }, 300_000);
});
