import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkerOptions } from '@temporalio/worker';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { jobOf, type VideoBatch } from '../../src/client/video-job';
import type { Caps } from '../../src/contract/caps';
import type { JobProgress } from '../../src/contract/job';
import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import { createVideoService, RateLimiter, type ServiceProfile, type VideoService } from '../../src/service';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import type { Emulator, EmulatorOptions, VideoTestEnvironment } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { profileFor } from './quick-profile';
import { filesIn } from './stored-files';
import { onWorker, type WorldTools } from './world-workers';

export { bundlePath, quickWorkflows } from './world-workers';

/** The emulator, service and storage of one test, on the server and workers that its file shares. */
export interface World {
  emulator: Emulator;
  service: VideoService;
  videos: VideoClient;
  taskQueue: string;
  storageFolder: string;
  storedFiles(): Promise<string[]>;
}

export interface WorldOptions extends EmulatorOptions {
  /** Wraps the service that the activities use. */
  wrapService?: (service: VideoService) => VideoService;
  /** The worker's default. */
  onLostSubmit?: LostSubmitPolicy;
  largestVideoBytes?: number;
  profile?: ServiceProfile;
  /** Those of the worker. */
  caps?: Caps;
  /** Instead of a folder. */
  storage?: VideoStorage;
  /** Options of the SDK's worker. A world that sets them gets its own worker. */
  worker?: Partial<WorkerOptions>;
}

export async function inWorld<T>(
  env: VideoTestEnvironment,
  {
    wrapService = (service) => service,
    onLostSubmit,
    largestVideoBytes,
    profile: given,
    storage,
    caps,
    worker,
    ...emulatorOptions
  }: WorldOptions,
  work: (world: World) => Promise<T>,
): Promise<T> {
  const emulator = await startEmulator({
    clock: () => env.temporal.currentTimeMs(),
    // Small, because there are hundreds of jobs and the videos are not inspected here.
    videoBytes: 64 * 1024,
    ...emulatorOptions,
  });
  const waits = !env.temporal.supportsTimeSkipping;
  const profile = given ?? (waits ? profileFor(emulatorOptions.jobTimeMs) : undefined);
  const service = createVideoService({ baseUrl: emulator.url, apiKey: () => emulator.apiKey, profile });
  const storageFolder = await mkdtemp(join(tmpdir(), 'videogen-world-'));
  const tools: WorldTools = {
    // Without an address it learns nothing, so that no test depends on those before it.
    service: wrapService({ ...service, address: undefined }),
    storage: storage ?? createFileStorage(storageFolder),
    rateLimiter: new RateLimiter(),
  };
  const storedFiles = () => filesIn(storageFolder);
  try {
    return await onWorker(
      env,
      tools,
      { onLostSubmit, largestVideoBytes, caps, worker },
      async (taskQueue) => {
        const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
        return work({ emulator, service, videos, taskQueue, storageFolder, storedFiles });
      },
    );
  } finally {
    await service.close();
    await emulator.close();
    await rm(storageFolder, { recursive: true, force: true });
  }
}

/** Queries the progress until it matches, for changes that need no skipped time. */
export async function untilProgress<Progress = JobProgress>(
  job: { progress(): Promise<Progress> },
  matches: (progress: Progress) => boolean,
): Promise<Progress> {
  for (;;) {
    const progress = await job.progress();
    if (matches(progress)) return progress;
    await pause();
  }
}

/** Waits until so many items of a batch say that they are in a phase. */
export async function untilItems(
  { temporal }: VideoTestEnvironment,
  batch: VideoBatch,
  phase: string,
  count: number,
): Promise<string[]> {
  for (;;) {
    const { running } = await batch.progress();
    const phases = running.map(async ({ name }) => {
      const job = jobOf(temporal.client.workflow.getHandle(name));
      return (await job.progress().catch(() => undefined))?.phase === phase ? name : [];
    });
    const names = (await Promise.all(phases)).flat();
    if (names.length === count) return names;
    await pause();
  }
}

/** Each query is work for the server and the worker, so more of them would slow down what a test waits for. */
const CHECK_INTERVAL_MS = 100;

/** Runs a worker until the returned function is called, which waits for its end. */
export function keepRunning(worker: { run(): Promise<void>; shutdown(): void }): () => Promise<void> {
  const running = worker.run();
  return () => {
    worker.shutdown();
    return running;
  };
}

/** Waits between two checks of something that happens by itself. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, CHECK_INTERVAL_MS));
}

/** The error a promise rejects with. Throws if it resolves. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`expected a failure, got ${JSON.stringify(value)}`);
    },
    (error: unknown) => error,
  );
}
