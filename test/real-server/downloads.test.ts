import { randomUUID } from 'node:crypto';
import { existsSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import type { JobProgress } from '../../src/contract';
import { DOWNLOAD_PROGRESS_SIGNAL } from '../../src/contract/names';
import { noiseVideo } from '../../src/emulator';
import { createFileStorage, StorageFault, type VideoStorage } from '../../src/storage';
import { newPartName, partMark } from '../../src/storage/part-files';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { VideoWorker, WorkerRole } from '../../src/worker/video-worker';
import { historyOf } from '../support/history';
import { serve } from '../support/hostile-answers';
import { type Answer, startHostileServer } from '../support/hostile-server';
import { captureLogs } from '../support/logs';
import { killLeftoverWorkers, startWorkerProcess } from '../support/worker-process';
import { bundlePath, pause, untilProgress } from '../support/world';

const request = { prompt: 'A red fox' };
const polling = { min: '1s', max: '1s' };
const isPastTheLooks = ({ phase }: JobProgress) => !['submitting', 'waiting'].includes(phase);

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

/** Who did each kind of activity, by the name of the worker. */
async function whoDidWhat({ workflowId }: VideoJob): Promise<Record<string, string>> {
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

describe('downloads with a queue of their own', () => {
  let taskQueue: string;
  let downloadQueue: string;
  let videos: VideoClient;
  beforeEach(async () => {
    taskQueue = `jobs-${randomUUID()}`;
    downloadQueue = `downloads-${randomUUID()}`;
    videos = await createVideoClient({ client: env.temporal.client, taskQueue, downloadQueue });
  });

  const createWorker = (roles: WorkerRole[], storage?: VideoStorage): Promise<VideoWorker> =>
    env.createWorker({
      taskQueue,
      downloadQueue,
      roles,
      ...(storage && { storage }),
      worker: { identity: roles.join(' and '), workflowBundle: { codePath: bundlePath() } },
    });

  test('are done by the worker of that queue and by no other, and waited for until there is one', async () => {
    const others = await createWorker(['jobs', 'submits']);
    const job = await others.runUntil(async () => {
      const waiting = await videos.start({ request, polling });
      await untilProgress(waiting, isPastTheLooks);

      // A job that has its downloads on the task queue passes it, so the worker would have had the time.
      const without = await createVideoClient({ client: env.temporal.client, taskQueue });
      const passing = await without.start({ request, polling });
      await passing.result();
      expect(await whoDidWhat(passing)).toMatchObject({ downloadVideo: 'jobs and submits' });
      expect(await pendingDownload(waiting)).toMatchObject({ attempt: 1, lastStartedTime: null });
      expect(await waiting.progress()).toMatchObject({ phase: 'downloading' });

      const downloads = await createWorker(['downloads']);
      await downloads.runUntil(waiting.result());
      return waiting;
    });
    expect(await whoDidWhat(job)).toEqual({
      submitVideo: 'jobs and submits',
      pollVideo: 'jobs and submits',
      downloadVideo: 'downloads',
    });
    const { taskId, video } = await job.result();
    expect((await readFile(fileURLToPath(video.uri))).equals(await env.emulator.video(taskId))).toBe(true);
  });

  test('tell their job how far they are, and what anybody else tells it does no harm', async () => {
    const others = await createWorker(['jobs', 'submits']);
    await others.runUntil(async () => {
      const job = await videos.start({ request, polling });
      const handle = env.temporal.client.workflow.getHandle(job.workflowId);
      const shapes = [null, 'half', 5, true, [], {}, { bytes: null }, { bytes: '5' }, { bytes: 5, of: {} }];
      // Before there is a download, too.
      for (const shape of shapes) await handle.signal(DOWNLOAD_PROGRESS_SIGNAL, shape);
      await untilProgress(job, isPastTheLooks);
      for (const shape of shapes) await handle.signal(DOWNLOAD_PROGRESS_SIGNAL, shape);
      await handle.signal(DOWNLOAD_PROGRESS_SIGNAL);
      expect((await job.progress()).download).toBeUndefined();

      await handle.signal(DOWNLOAD_PROGRESS_SIGNAL, { bytes: 5, of: 10, more: 'x' });
      expect((await job.progress()).download).toEqual({ bytes: 5, of: 10 });
      // As languages without undefined say it.
      await handle.signal(DOWNLOAD_PROGRESS_SIGNAL, { bytes: 7, of: null });
      expect((await job.progress()).download).toEqual({ bytes: 7 });

      const downloads = await createWorker(['downloads']);
      expect(await downloads.runUntil(job.result())).toMatchObject({ video: { contentType: 'video/mp4' } });
    });
  });

  test('are kept tidy by those who do them, and a storage that cannot be swept ends no worker', async () => {
    const left = join(env.storageFolder, newPartName(partMark('fox.mp4', 'task')));
    writeFileSync(left, 'half a fox');
    utimesSync(left, 0, 0);
    const unswept = {
      ...createFileStorage(env.storageFolder),
      sweep: async () => {
        throw new StorageFault('the disk is gone');
      },
    };
    const told = (message: string) => logs.some((line) => line.message.startsWith(message));
    const downloads = await createWorker(['downloads'], unswept);
    const submits = await createWorker(['submits']);
    const jobs = await createWorker(['jobs']);
    await downloads.runUntil(() =>
      submits.runUntil(async () => {
        const job = await videos.start({ request, polling });
        while (!told('could not remove leftovers of unfinished downloads')) await pause();
        // Who only submits has not swept either.
        expect(existsSync(left)).toBe(true);
        await jobs.runUntil(job.result());
        while (!told('removed leftovers of unfinished downloads')) await pause();
        expect(existsSync(left)).toBe(false);
      }),
    );
  });
});

/** So that a download takes half a minute: long enough for it to tell its progress and for its heartbeats to be sent. */
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

test('a long download tells how far it is, and one whose worker was killed goes on where its heartbeat says', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'videogen-downloads-'));
  const video = await noiseVideo(request, SLOW_VIDEO_BYTES);
  const server = await startHostileServer();
  const asking = server.add('task', { bytes: video, answers: [slowly, serve] });
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
    const { download } = await untilProgress(job, (progress) => progress.download !== undefined);
    expect(download).toEqual({ bytes: expect.any(Number), of: SLOW_VIDEO_BYTES });
    expect(download?.bytes).toBeGreaterThan(0);
    expect(download?.bytes).toBeLessThan(SLOW_VIDEO_BYTES);
    await first.kill('SIGKILL');
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^\.videogen-.*\.part$/)]);

    const [noted] = (await pendingDownload(job))?.heartbeatDetails?.payloads ?? [];
    const { bytes } = JSON.parse(Buffer.from(noted?.data ?? []).toString());
    expect(bytes).toBeGreaterThan(0);
    await startWorker();
    const result = await job.result();
    expect(asking.videos.map(({ range, ifRange }) => [range, ifRange])).toEqual([
      [undefined, undefined],
      [`bytes=${bytes}-`, '"one"'],
    ]);
    expect(result.video.bytes).toBe(SLOW_VIDEO_BYTES);
    expect((await readFile(fileURLToPath(result.video.uri))).equals(video)).toBe(true);
    expect((await readdir(folder)).sort()).toEqual(['fox.mp4', 'fox.mp4.json']);
  } finally {
    await killLeftoverWorkers();
    await server.close();
    await rm(folder, { recursive: true });
  }
}, 120_000);
