import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClientOptions } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { createVideoClient, type VideoClient } from '../client/video-client';
import { readEncryptionKeys } from '../config/operation-config';
import type { Environment } from '../config/service-config';
import { readServerOptions } from '../config/temporal-config';
import { DEFAULT_TASK_QUEUE } from '../contract/names';
import { withEncryption } from '../encryption/data-converter';
import { createVideoService, type OpenedVideoService } from '../service';
import { createFileStorage } from '../storage';
import { findDevServer, findTestServer, startDevServer } from '../temporal-server';
import { startTestServer, type TestServer } from '../temporal-server/test-server';
import { VideoPlugin, type VideoPluginOptions } from '../worker/video-plugin';
import { createVideoWorker, type VideoWorker, type VideoWorkerOptions } from '../worker/video-worker';
import { type Emulator, emulatedTimes, startEmulator } from './emulator';
import type { EmulatorOptions } from './emulator-options';

/** Options of createVideoTestEnvironment. */
export interface VideoTestEnvironmentOptions {
  /** `time-skipping` for waits, retries and deadlines; `dev` for kills, heartbeats and visibility. Default: `time-skipping`. */
  server?: 'time-skipping' | 'dev';
  /** Dynamic config of a `dev` server, by name, such as `matching.enableFairness`. */
  dynamicConfig?: Record<string, string>;
  /** How the emulated video service behaves. */
  emulator?: EmulatorOptions;
  /** The settings with which Temporal's servers are found, and the keys that encrypt. Default: `process.env`. */
  env?: Environment;
  /** Called with a line of text while a server is fetched or built. */
  onProgress?: (line: string) => void;
}

/** A real Temporal server, the emulated video service, and what connects them. */
export interface VideoTestEnvironment {
  /** The SDK's own test environment, with its client and connection. */
  temporal: TestWorkflowEnvironment;
  /** The emulated video service. */
  emulator: Emulator;
  /** A client for jobs and batches on this server. */
  videos: VideoClient;
  /** The folder with the videos of its workers; `teardown()` removes it. */
  storageFolder: string;
  /** Creates a worker that calls the emulator. */
  createWorker(options?: VideoWorkerOptions): Promise<VideoWorker>;
  /** Creates a plugin that calls the emulator and reads no settings, for your own worker on `temporal.nativeConnection`. */
  createPlugin(options?: VideoPluginOptions): VideoPlugin;
  /** Stops the server and the emulator and removes the videos. */
  teardown(): Promise<void>;
}

/**
 * Starts a Temporal server and an emulated video service for tests.
 *
 * @example
 * ```ts
 * const env = await createVideoTestEnvironment();
 * const worker = await env.createWorker();
 * const { video } = await worker.runUntil(env.videos.execute({ request: { prompt: 'A red fox in the snow' } }));
 * await env.teardown();
 * ```
 */
export async function createVideoTestEnvironment(
  options: VideoTestEnvironmentOptions = {},
): Promise<VideoTestEnvironment> {
  const { env } = options;
  const ring = readEncryptionKeys(env);
  const dataConverter = withEncryption(undefined, { ring });
  const { environment: temporal, stop } = await startTemporal(options, { dataConverter });
  // The emulator uses Temporal's clock, so that a skipped hour is an hour for its tasks too.
  const emulator = await startEmulator({ clock: () => temporal.currentTimeMs(), ...options.emulator });
  const storageFolder = await mkdtemp(join(tmpdir(), 'videogen-test-'));
  const service = createEmulatedService(emulator, options.emulator?.jobTimeMs);
  const storage = createFileStorage(storageFolder);

  return {
    temporal,
    emulator,
    storageFolder,
    videos: await createVideoClient({
      client: temporal.client,
      taskQueue: DEFAULT_TASK_QUEUE,
      // A new server has none registered, whatever the environment says.
      searchAttributes: false,
    }),
    createWorker: (workerOptions) =>
      createVideoWorker({
        connection: temporal.nativeConnection,
        taskQueue: DEFAULT_TASK_QUEUE,
        service,
        storage,
        ...(env && { env }),
        ...workerOptions,
      }),
    createPlugin: (pluginOptions) =>
      new VideoPlugin({
        env: keysIn(env ?? process.env),
        encryption: ring !== undefined,
        service,
        storage,
        ...pluginOptions,
      }),
    async teardown() {
      await service.close();
      await emulator.close();
      await stop();
      await rm(storageFolder, { recursive: true, force: true });
    },
  };
}

/** Jobs are polled when the emulator has made their videos, and no test depends on what an earlier one taught the worker. */
function createEmulatedService({ url, apiKey }: Emulator, jobTimeMs?: number): OpenedVideoService {
  const profile = { polling: { usually: emulatedTimes(jobTimeMs) } };
  return { ...createVideoService({ baseUrl: url, apiKey: () => apiKey, profile }), address: undefined };
}

/** The settings of encryption alone: the plugin of a test reads no others. */
function keysIn({ VIDEOGEN_ENCRYPTION_KEYS, VIDEOGEN_ENCRYPTION_KEYS_FILE }: Environment): Environment {
  return { VIDEOGEN_ENCRYPTION_KEYS, VIDEOGEN_ENCRYPTION_KEYS_FILE };
}

async function startTemporal(
  { server = 'time-skipping', dynamicConfig, env, onProgress }: VideoTestEnvironmentOptions,
  client: Pick<ClientOptions, 'dataConverter'>,
): Promise<TestServer> {
  const options = { ...readServerOptions(env), onProgress };
  if (server === 'time-skipping')
    return startTestServer(await findTestServer(options), { client, searchPath: options.searchPath });
  const dev = await startDevServer({
    executable: await findDevServer(options),
    headless: true,
    dynamicConfig,
  });
  const { address, namespace } = dev;
  const environment = await TestWorkflowEnvironment.createFromExistingServer({ address, namespace, client });
  return { environment, stop: () => environment.teardown().finally(() => dev.stop()) };
}
