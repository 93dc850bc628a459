import { randomUUID } from 'node:crypto';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { createVideoService } from '../../src/service';
import type { VideoTestEnvironment } from '../../src/testing';
import type { VideoWorker, VideoWorkerOptions } from '../../src/worker/video-worker';
import { type HostileServer, startHostileServer } from './hostile-server';
import type { HostileSink } from './hostile-sinks';
import { bundlePath } from './world';

export const API_KEY = 'the-key-of-the-service';

/** All tests of a sink share the workers, which take longer to start than the tests. */
export interface HostileWorld {
  sink: HostileSink;
  /** The service. */
  home: HostileServer;
  /** Another origin. */
  elsewhere: HostileServer;
  videos: VideoClient;
  /** Jobs for the worker with short timeouts. */
  shortTimeoutVideos: VideoClient;
  close(): Promise<void>;
}

export const LARGEST_VIDEO_BYTES = 12 * 1024 * 1024;

/** On a busy machine these may also end a good connection, which is then only retried. */
const SHORT_PACE = { windowMs: 50, leastBytes: 1_000, attemptMs: 60_000 };
const SHORT_TIMEOUTS = { headersTimeout: 60_000, bodyTimeout: 500 };

export async function startHostileWorld(
  env: VideoTestEnvironment,
  startSink: () => Promise<HostileSink>,
): Promise<HostileWorld> {
  const [home, elsewhere] = [await startHostileServer(), await startHostileServer()];
  const sink = await startSink();
  const running: { worker: VideoWorker; end: Promise<void> }[] = [];
  const address = { baseUrl: home.url, apiKey: () => API_KEY };
  const service = createVideoService(address);
  const shortTimeoutService = createVideoService({ ...address, timeouts: { video: SHORT_TIMEOUTS } });
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
    shortTimeoutVideos: await clientOfWorker({ service: shortTimeoutService, pace: SHORT_PACE }),
    async close() {
      for (const { worker } of running) worker.shutdown();
      await Promise.all(running.map(({ end }) => end));
      for (const one of [service, shortTimeoutService]) await one.close();
      for (const server of [home, elsewhere]) await server.close();
      await sink.close();
    },
  };
}
