import { readServerOptions } from '../../src/config/temporal-config';
import { findDevServer, startDevServer } from '../../src/temporal-server';
import { startEmulator } from '../../src/testing/emulator';
import { QUICK_PROFILE } from '../support/quick-profile';

export interface ServiceWorld {
  /** The environment of a program. */
  settings(storage: string): Record<string, string>;
  stop(): Promise<void>;
}

/** A Temporal server and a video service for programs that are configured by their environment. */
export async function startServiceWorld(): Promise<ServiceWorld> {
  const executable = await findDevServer(readServerOptions(process.env));
  const server = await startDevServer({ executable, headless: true });
  const emulator = await startEmulator({ jobTimeMs: 0 });
  return {
    settings: (storage) => ({
      TEMPORAL_ADDRESS: server.address,
      VIDEO_API_BASE_URL: emulator.url,
      VIDEO_API_KEY: emulator.apiKey,
      ...QUICK_PROFILE,
      VIDEOGEN_STORAGE: storage,
    }),
    async stop() {
      await emulator.close();
      await server.stop();
    },
  };
}
