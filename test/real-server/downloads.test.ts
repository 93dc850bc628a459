import { randomUUID } from 'node:crypto';
import { existsSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import type { JobProgress } from '../../src/contract/job';
import { createFileStorage, StorageFault, type VideoStorage } from '../../src/storage';
import { newPartName } from '../../src/storage/disk-files';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { noiseVideo } from '../../src/testing/video/make-video';
import type { VideoWorker, WorkerRole } from '../../src/worker/video-worker';
import { historyOf } from '../support/history';
import { serve } from '../support/hostile-answers';
import { type Answer, startHostileServer } from '../support/hostile-server';
import { captureLogs } from '../support/logs';
import { plainHistory } from '../support/plain-history';
import { filesIn } from '../support/stored-files';
import { killLeftoverWorkers, startWorkerProcess } from '../support/worker-process';
import { pause, quickWorkflows, untilProgress } from '../support/world';

const request = { prompt: 'A red fox' };
const polling = { min: '1s', max: '1s' };
const isPastPolling = ({ phase }: JobProgress) => !['submitting', 'waiting'].includes(phase);

const logs = captureLogs();
let env: VideoTestEnvironment;
beforeAll(async () => {
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, videoBytes: 64 * 1024 },
  });
});
afterAll(() => env.teardown());
afterEach(killLeftoverWorkers);

async function pendingDownload({ workflowId }: VideoJob) {
  const { raw } = await env.temporal.client.workflow.getHandle(workflowId).describe();
  return raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'downloadVideo');
}

/** The identity of the worker that ran each activity, by activity type. */
async function workersOf({ workflowId }: VideoJob): Promise<Record<string, string>> {
  const { events = [] } = await historyOf(env.temporal.client, workflowId);
  const started = (events ?? []).flatMap(({ activityTaskStartedEventAttributes: start }) => start ?? []);
  return Object.fromEntries(
    started.map(({ scheduledEventId, identity }) => {
      const scheduled = events?.find(({ eventId }) => `${eventId}` === `${scheduledEventId}`);
      const { activityType } = scheduled?.activityTaskScheduledEventAttributes ?? {};
      return [activityType?.name ?? '', identity ?? ''];
    }),
  );
}

describe('downloads with their own queue', () => {
  let taskQueue: string;
  let downloadQueue: string;
  let videos: VideoClient;
  beforeEach(async () => {
    taskQueue = `jobs-${randomUUID()}`;
    downloadQueue = `downloads-${randomUUID()}`;
    videos = await createVideoClient({ client: env.temporal.client, taskQueue });
  });

  const createWorker = (roles: WorkerRole[], storage?: VideoStorage): Promise<VideoWorker> =>
    env.createWorker({
      taskQueue,
      downloadQueue,
      roles,
      ...(storage && { storage }),
      worker: { identity: roles.join(' and '), ...quickWorkflows() },
    });

  test('run only on the worker of that queue, and wait until there is one', async () => {
    const others = await createWorker(['jobs', 'submits']);
    const job = await others.runUntil(async () => {
      const waiting = await videos.start({ request, polling });
      await untilProgress(waiting, isPastPolling);

      // A later job comes as far, so the worker had the time.
      await untilProgress(await videos.start({ request, polling }), isPastPolling);
      expect(await pendingDownload(waiting)).toMatchObject({ attempt: 1, lastStartedTime: null });
      expect(await waiting.progress()).toMatchObject({ phase: 'downloading' });

      const downloads = await createWorker(['downloads']);
      await downloads.runUntil(waiting.result());
      return waiting;
    });
    expect(await workersOf(job)).toEqual({
      submitVideo: 'jobs and submits',
      downloadVideo: 'downloads',
    });
    const { taskId, video } = await job.result();
    expect((await readFile(fileURLToPath(video.uri))).equals(await env.emulator.video(taskId))).toBe(true);
  });

  test('are cleaned up by workers, and a failed cleanup ends none', async () => {
    const left = join(env.storageFolder, newPartName('task'));
    writeFileSync(left, 'half a fox');
    utimesSync(left, 0, 0);
    const unswept = {
      ...createFileStorage(env.storageFolder),
      sweep: async () => {
        throw new StorageFault('the disk is gone');
      },
    };
    const isLogged = (message: string) => logs.some((line) => line.message.startsWith(message));
    const downloads = await createWorker(['downloads'], unswept);
    const submits = await createWorker(['submits']);
    const jobs = await createWorker(['jobs']);
    await downloads.runUntil(() =>
      submits.runUntil(async () => {
        const job = await videos.start({ request, polling });
        while (!isLogged('could not remove leftovers of unfinished downloads')) await pause();
        await jobs.runUntil(job.result());
        while (!isLogged('removed leftovers of unfinished downloads')) await pause();
        expect(existsSync(left)).toBe(false);
      }),
    );
  });
});

/** A download takes half a minute, long enough to report progress and to send heartbeats. */
const DRIP = { bytes: 16 * 1024, everyMs: 100 };
const SLOW_VIDEO_BYTES = 5_000_000;

async function heartbeatOf(job: VideoJob): Promise<{ part?: string; bytes?: number }> {
  const pending = await plainHistory(env.temporal.client, await pendingDownload(job));
  const [heartbeat] = pending?.heartbeatDetails?.payloads ?? [];
  return heartbeat ? JSON.parse(Buffer.from(heartbeat.data ?? []).toString()) : {};
}

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

test('a long download resumes at its last heartbeat when its worker is killed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'videogen-downloads-'));
  const video = await noiseVideo(request, SLOW_VIDEO_BYTES);
  const server = await startHostileServer();
  const requests = server.add('task', { bytes: video, answers: [slowly, serve] });
  const taskQueue = `long-${randomUUID()}`;
  const startWorker = () =>
    startWorkerProcess({
      TEMPORAL_ADDRESS: env.temporal.address,
      VIDEO_API_BASE_URL: server.url,
      VIDEO_API_KEY: 'sk-x',
      VIDEOGEN_TASK_QUEUE: taskQueue,
      VIDEOGEN_STORAGE: folder,
    });
  try {
    const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
    const job = await videos.start({ taskId: 'task' }, { workflowId: 'fox' });
    const first = await startWorker();
    while ((await heartbeatOf(job)).part === undefined) await sleep(200);
    await first.kill('SIGKILL');
    expect(await filesIn(folder)).toEqual([expect.stringMatching(/^\.videogen-.*\.part$/)]);

    const { bytes } = await heartbeatOf(job);
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(SLOW_VIDEO_BYTES);
    await startWorker();
    const result = await job.result();
    expect(requests.videos.map(({ range, ifRange }) => [range, ifRange])).toEqual([
      [undefined, undefined],
      [`bytes=${bytes}-`, '"one"'],
    ]);
    expect(result.video.bytes).toBe(SLOW_VIDEO_BYTES);
    expect((await readFile(fileURLToPath(result.video.uri))).equals(video)).toBe(true);
    expect((await filesIn(folder)).sort()).toEqual(['fox.mp4', 'fox.mp4.json']);
  } finally {
    await killLeftoverWorkers();
    await server.close();
    await rm(folder, { recursive: true });
  }
}, 120_000);
