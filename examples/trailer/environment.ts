import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection } from '@temporalio/worker';
import { createVideoTestEnvironment } from 'temporal-videogen/testing';
import { createVideoService, type VideoService } from 'temporal-videogen/worker';

/** The Temporal connection, and the service that generates the shots. */
export interface Environment {
  connection: NativeConnection;
  namespace?: string;
  /** Without it, the plugin reads the service from the settings. */
  service?: VideoService;
  close(): Promise<void>;
}

/** Uses TEMPORAL_ADDRESS and the other settings, or starts a Temporal server and an emulated service for this run. */
export async function openEnvironment(): Promise<Environment> {
  if (process.env.TEMPORAL_ADDRESS) {
    const { connectionOptions, namespace } = loadClientConnectConfig();
    const connection = await NativeConnection.connect(connectionOptions);
    return { connection, namespace, close: () => connection.close() };
  }
  console.error('Using a Temporal server and an emulated video service that end with this program.');
  const { temporal, emulator, teardown } = await createVideoTestEnvironment({
    server: 'dev',
    onProgress: (line) => console.error(line),
  });
  // The emulator takes five seconds for a shot.
  const polling = { usually: { median: '5s', slow: '5s' } };
  const service = createVideoService({
    baseUrl: emulator.url,
    apiKey: () => emulator.apiKey,
    profile: { polling },
  });
  return {
    connection: temporal.nativeConnection,
    service,
    async close() {
      await service.close();
      await teardown();
    },
  };
}
