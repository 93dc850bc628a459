import { randomUUID } from 'node:crypto';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { createVideoService } from '../../src/service';
import type { VideoTestEnvironment } from '../../src/testing';
import type { VideoWorker, VideoWorkerOptions } from '../../src/worker/video-worker';
import { type HostileServer, startHostileServer } from './hostile-server';
import type { HostileSink } from './hostile-sinks';
import { bundlePath } from './world';

export const API_KEY = 'the-key-of-the-service';

/** One worker for all tests of a sink: one for each would take longer than the tests. */
export interface HostileWorld {
  sink: HostileSink;
  /** The service. */
  home: HostileServer;
  /** Another origin. */
  elsewhere: HostileServer;
  videos: VideoClient;
  /** To a worker that soon loses its patience. */
  hurriedVideos: VideoClient;
  close(): Promise<void>;
}

export const LARGEST_VIDEO_BYTES = 12 * 1024 * 1024;

/** A good connection that a busy machine keeps waiting is only asked again. */
const HURRIED_PACE = { windowMs: 50, leastBytes: 1_000, attemptMs: 60_000 };
const HURRIED_TIMEOUTS = { headersTimeout: 60_000, bodyTimeout: 500 };

export async function startHostileWorld(
  env: VideoTestEnvironment,
  startSink: () => Promise<HostileSink>,
): Promise<HostileWorld> {
  const [home, elsewhere] = [await startHostileServer(), await startHostileServer()];
  const sink = await startSink();
  const running: { worker: VideoWorker; end: Promise<void> }[] = [];
  const address = { baseUrl: home.url, apiKey: () => API_KEY };
  const service = createVideoService(address);
  const hurriedService = createVideoService({ ...address, timeouts: { video: HURRIED_TIMEOUTS } });
  const clientOfWorker = async (options: VideoWorkerOptions) => {
    const taskQueue = `hostile-${randomUUID()}`;
    const worker = await env.createWorker({
      taskQueue,
      submitQueue: taskQueue,
      service,
      storage: sink.storage,
      largestVideoBytes: LARGEST_VIDEO_BYTES,
      worker: { workflowBundle: { codePath: bundlePath() } },
      ...options,
    });
    running.push({ worker, end: worker.run() });
    return createVideoClient({ client: env.temporal.client, taskQueue, submitQueue: taskQueue });
  };
  return {
    sink,
    home,
    elsewhere,
    videos: await clientOfWorker({}),
    hurriedVideos: await clientOfWorker({ service: hurriedService, pace: HURRIED_PACE }),
    async close() {
      for (const { worker } of running) worker.shutdown();
      await Promise.all(running.map(({ end }) => end));
      for (const one of [service, hurriedService]) await one.close();
      for (const server of [home, elsewhere]) await server.close();
      await sink.close();
    },
  };
}
