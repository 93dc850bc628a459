import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { createVideoClient, type VideoClient } from './client/video-client';
import type { Environment } from './config/service-config';
import { readServerOptions } from './config/temporal-config';
import { DEFAULT_TASK_QUEUE } from './contract/names';
import { checkName, type Emulator, type EmulatorOptions, startEmulator } from './emulator';
import { VideoPlugin, type VideoPluginOptions } from './plugin/video-plugin';
import { createVideoService } from './service';
import { createFileStorage } from './storage';
import { findDevServer, findTestServer, type ServerOptions, startDevServer } from './temporal-server';
import { startTestServer } from './temporal-server/start-test-server';
import { createVideoWorker, type VideoWorker, type VideoWorkerOptions } from './worker/video-worker';

export {
  type AnswerFault,
  CHAOS_FAULTS,
  type ChaosOptions,
  DIALECT_NAMES,
  type DialectName,
  type EmulatedCall,
  type EmulatedTask,
  type Emulator,
  type EmulatorOptions,
  type FailedTask,
  type FaultName,
  type Faults,
  type FileFault,
  type LateAnswer,
  type LateReset,
  type LostAnswer,
  type OperationsOptions,
  type RecordedCall,
  type Refusal,
  type StatusFault,
  startEmulator,
  type TaskFailure,
} from './emulator';

export interface VideoTestEnvironmentOptions {
  /** `time-skipping` for waits, retries and deadlines; `dev` for kills, heartbeats and visibility. */
  server?: 'time-skipping' | 'dev';
  /** Settings of a `dev` server by their names, such as `matching.enableFairness`. */
  dynamicConfig?: Record<string, string>;
  emulator?: EmulatorOptions;
  /** Read to find Temporal's programs; the process's own unless set. */
  env?: Environment;
  onProgress?: (line: string) => void;
}

/** A real Temporal server, the emulated video service, and everything between them. */
export interface VideoTestEnvironment {
  temporal: TestWorkflowEnvironment;
  emulator: Emulator;
  videos: VideoClient;
  /** Where the videos of its workers go; removed at the end. */
  storageFolder: string;
  createWorker(options?: VideoWorkerOptions): Promise<VideoWorker>;
  /** For a worker of your own, made with `temporal.nativeConnection`; it calls the emulator and reads no settings. */
  createPlugin(options?: VideoPluginOptions): VideoPlugin;
  teardown(): Promise<void>;
}

/** The one place where test environments are made: the time-skipping server is to be replaced upstream one day. */
export async function createVideoTestEnvironment(
  options: VideoTestEnvironmentOptions = {},
): Promise<VideoTestEnvironment> {
  const { server = 'time-skipping', env, onProgress, dynamicConfig } = options;
  checkName('createVideoTestEnvironment: server', server, Object.keys(STARTERS));
  const { environment: temporal, stop } = await STARTERS[server](
    { ...readServerOptions(env), onProgress },
    dynamicConfig,
  );
  // Tasks of the emulator age with Temporal's clock, so that a skipped hour is an hour for them too.
  const emulator = await startEmulator({ clock: () => temporal.currentTimeMs(), ...options.emulator });
  const storageFolder = await mkdtemp(join(tmpdir(), 'videogen-test-'));
  const service = createVideoService({ baseUrl: emulator.url, apiKey: () => emulator.apiKey });
  const storage = createFileStorage(storageFolder);

  return {
    temporal,
    emulator,
    storageFolder,
    videos: await createVideoClient({
      client: temporal.client,
      taskQueue: DEFAULT_TASK_QUEUE,
      // A fresh server has none registered, whatever the settings of the process say.
      searchAttributes: false,
    }),
    createWorker: (workerOptions) =>
      createVideoWorker({
        connection: temporal.nativeConnection,
        taskQueue: DEFAULT_TASK_QUEUE,
        service,
        storage,
        ...workerOptions,
      }),
    createPlugin: (pluginOptions) => new VideoPlugin({ env: {}, service, storage, ...pluginOptions }),
    async teardown() {
      await service.close();
      await emulator.close();
      await stop();
      await rm(storageFolder, { recursive: true, force: true });
    },
  };
}

interface Temporal {
  environment: TestWorkflowEnvironment;
  stop(): Promise<void>;
}

type Starter = (options: ServerOptions, dynamicConfig?: Record<string, string>) => Promise<Temporal>;

const STARTERS: Record<'time-skipping' | 'dev', Starter> = {
  async 'time-skipping'(options) {
    return startTestServer(await findTestServer(options), options.searchPath);
  },
  async dev(options, dynamicConfig) {
    const executable = await findDevServer(options);
    const server = await startDevServer({ executable, headless: true, dynamicConfig });
    const { address, namespace } = server;
    const environment = await TestWorkflowEnvironment.createFromExistingServer({ address, namespace });
    return { environment, stop: () => environment.teardown().finally(() => server.stop()) };
  },
};
