import { createVideoActivities, type VideoActivities } from '../../../activities';
import { createVideoService } from '../../../src/service';
import { type HostileServer, startHostileServer } from '../../support/hostile-server';
import type { HostileSink } from '../../support/hostile-sinks';

export const API_KEY = 'the-key-of-the-service';

/** A service and a storage that all tests of a file share. */
export interface HostileWorld {
  sink: HostileSink;
  /** The service. */
  home: HostileServer;
  /** Another origin. */
  elsewhere: HostileServer;
  /** The activities of a new worker, whose rate limiter knows of no earlier 429. */
  activities(options: { shortTimeouts?: boolean }): VideoActivities;
  close(): Promise<void>;
}

export const LARGEST_VIDEO_BYTES = 12 * 1024 * 1024;

/** On a busy machine these may also end a good connection, which is then only retried. */
const SHORT_PACE = { windowMs: 50, leastBytes: 1_000 };
const SHORT_TIMEOUTS = { video: 500 };

export async function startHostileWorld(startSink: () => Promise<HostileSink>): Promise<HostileWorld> {
  const [home, elsewhere, sink] = await Promise.all([
    startHostileServer(),
    startHostileServer(),
    startSink(),
  ]);
  const address = { baseUrl: home.url, apiKey: () => API_KEY };
  const service = createVideoService(address);
  const shortTimeoutService = createVideoService({ ...address, timeouts: SHORT_TIMEOUTS });
  return {
    sink,
    home,
    elsewhere,
    activities: ({ shortTimeouts = false }) =>
      createVideoActivities({
        storage: sink.storage,
        largestVideoBytes: LARGEST_VIDEO_BYTES,
        ...(shortTimeouts ? { service: shortTimeoutService, pace: SHORT_PACE } : { service }),
      }),
    async close() {
      for (const one of [service, shortTimeoutService]) await one.close();
      for (const server of [home, elsewhere]) await server.close();
      await sink.close();
    },
  };
}
