import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkerOptions } from '@temporalio/worker';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { JobProgress, LostSubmitPolicy } from '../../src/contract';
import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator';
import { createVideoService, RateLimiter, type ServiceProfile, type VideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import type { VideoTestEnvironment } from '../../src/testing';
import { filesIn } from './stored-files';
import { onWorker, type WorldTools } from './world-workers';

export { bundlePath } from './world-workers';

/** One test's own emulator, service and storage on the server and the workers that its file shares. */
export interface World {
  emulator: Emulator;
  service: VideoService;
  videos: VideoClient;
  taskQueue: string;
  storageFolder: string;
  storedFiles(): Promise<string[]>;
}

export interface WorldOptions extends EmulatorOptions {
  /** Puts something between the activities and the service. */
  wrapService?: (service: VideoService) => VideoService;
  /** The worker's own. */
  onLostSubmit?: LostSubmitPolicy;
  profile?: ServiceProfile;
  /** Of the SDK's worker; a world with such options has a worker of its own. */
  worker?: Partial<WorkerOptions>;
}

export async function inWorld<T>(
  env: VideoTestEnvironment,
  { wrapService = (service) => service, onLostSubmit, profile, worker, ...emulatorOptions }: WorldOptions,
  work: (world: World) => Promise<T>,
): Promise<T> {
  const emulator = await startEmulator({
    clock: () => env.temporal.currentTimeMs(),
    // Hundreds of jobs, and none of them looks into its video.
    videoBytes: 64 * 1024,
    ...emulatorOptions,
  });
  const service = createVideoService({ baseUrl: emulator.url, apiKey: () => emulator.apiKey, profile });
  const storageFolder = await mkdtemp(join(tmpdir(), 'videogen-world-'));
  const tools: WorldTools = {
    service: wrapService(service),
    storage: createFileStorage(storageFolder),
    rateLimiter: new RateLimiter(),
  };
  const storedFiles = () => filesIn(storageFolder);
  try {
    return await onWorker(env, tools, { onLostSubmit, worker }, async (taskQueue) => {
      const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
      return work({ emulator, service, videos, taskQueue, storageFolder, storedFiles });
    });
  } finally {
    await service.close();
    await emulator.close();
    await rm(storageFolder, { recursive: true, force: true });
  }
}

/** Asks for the progress until it is as wanted: for what happens by itself and needs no time to pass. */
export async function untilProgress<Progress = JobProgress>(
  job: { progress(): Promise<Progress> },
  wanted: (progress: Progress) => boolean,
): Promise<Progress> {
  for (;;) {
    const progress = await job.progress();
    if (wanted(progress)) return progress;
    await pause();
  }
}

/** Between two questions to something that happens by itself. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}

/** The failure that a promise ends with; it is an error when it does not. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`expected a failure, got ${JSON.stringify(value)}`);
    },
    (error: unknown) => error,
  );
}
