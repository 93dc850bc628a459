import { once } from 'node:events';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { createVideoClient, type VideoClient } from 'temporal-videogen';
import { createVideoTestEnvironment } from 'temporal-videogen/testing';
import { createApp } from './app';

interface Environment {
  videos: VideoClient;
  close(): Promise<void>;
}

/** Uses TEMPORAL_ADDRESS, where workers run elsewhere, or starts a server, a worker and an emulated service here. */
async function openEnvironment(): Promise<Environment> {
  if (process.env.TEMPORAL_ADDRESS) {
    return { videos: await createVideoClient(), close: async () => undefined };
  }
  console.error(
    'Using a Temporal server, a worker and an emulated video service that end with this program.',
  );
  const onProgress = (line: string) => console.error(line);
  const { videos, createWorker, teardown } = await createVideoTestEnvironment({ server: 'dev', onProgress });
  const worker = await createWorker();
  const running = worker.run();
  return {
    videos,
    async close() {
      worker.shutdown();
      await running;
      await teardown();
    },
  };
}

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  const { videos, close } = await openEnvironment();
  try {
    const server = createApp(videos).listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
    await once(server, 'listening');
    console.log(`Listening on http://127.0.0.1:${Object(server.address()).port}`);
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
    server.close();
    server.closeAllConnections();
  } finally {
    await close();
  }
}

main().then(
  // At once: a pending call to Temporal must not keep the process alive.
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
