import { once } from 'node:events';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { createVideoClient, type VideoClient } from 'temporal-videogen';
import { createVideoTestEnvironment } from 'temporal-videogen/testing';
import { createApp } from './app';

interface Place {
  videos: VideoClient;
  close(): Promise<void>;
}

/** Temporal as the settings name it, where somebody else runs workers; without TEMPORAL_ADDRESS, everything here. */
async function openPlace(): Promise<Place> {
  if (process.env.TEMPORAL_ADDRESS) {
    return { videos: await createVideoClient(), close: async () => undefined };
  }
  console.error(
    'Using a Temporal server, a worker and an emulated video service that end with this program.',
  );
  const onProgress = (line: string) => console.error(line);
  const { videos, createWorker, teardown } = await createVideoTestEnvironment({ server: 'dev', onProgress });
  const worker = await createWorker();
  const working = worker.run();
  return {
    videos,
    async close() {
      worker.shutdown();
      await working;
      await teardown();
    },
  };
}

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  const { videos, close } = await openPlace();
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
  // At once: a question to Temporal may still be on its way, and nobody waits for its answer.
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
