import { join } from 'node:path';
import { NativeConnection } from '@temporalio/worker';
import { localTaskQueue } from '../config/queues';
import { type Environment, namesAService, readServiceConfig } from '../config/service-config';
import { startEmulator } from '../emulator';
import { createVideoService, RateLimiter, type VideoServiceOptions } from '../service';
import type { VideoStorage } from '../storage';
import { createVideoWorker } from '../worker/video-worker';
import type { Closers } from './closers';
import type { StackNote } from './stack-note';

/** Emulated generations are short, so that the first minute is one. */
export const EMULATED_JOB_MS = 4_000;

/** The service that the environment names, or an emulator: the one that runs already, or one of our own. */
export async function openService(
  env: Environment,
  folder: string,
  closers: Closers,
  running?: StackNote['emulator'],
): Promise<VideoServiceOptions> {
  if (namesAService(env)) return readServiceConfig(env);
  if (running !== undefined) return { baseUrl: running.url, apiKey: () => running.key };
  const emulator = await startEmulator({
    jobTimeMs: EMULATED_JOB_MS,
    tasksFile: join(folder, 'emulated-tasks.jsonl'),
  });
  closers.add(() => emulator.close());
  return { baseUrl: emulator.url, apiKey: () => emulator.apiKey };
}

export interface LocalWorkers {
  env: Environment;
  /** Of the server. */
  address: string;
  queues: string[];
  service: VideoServiceOptions;
  /** One that was probed. */
  storage: VideoStorage;
}

export async function startWorkers(
  { env, address, queues, service: serviceOptions, storage }: LocalWorkers,
  closers: Closers,
): Promise<void> {
  const service = createVideoService(serviceOptions);
  closers.add(() => service.close());
  const connection = await NativeConnection.connect({ address });
  closers.add(() => connection.close());
  const rateLimiter = new RateLimiter();
  for (const taskQueue of queues) {
    // A queue that services share would hand the one's downloads to the other's worker.
    const downloadQueue = taskQueue === localTaskQueue(env) ? taskQueue : undefined;
    const worker = await createVideoWorker({
      env,
      connection,
      taskQueue,
      downloadQueue,
      service,
      storage: { ...storage, probe: undefined },
      rateLimiter,
      // On a server of our own nobody would make a version current, and no job would begin.
      worker: { workerDeploymentOptions: undefined },
    });
    // A worker that fails is not caught here: it ends the process.
    const running = worker.run();
    closers.add(async () => {
      worker.shutdown();
      await running;
    });
  }
}
