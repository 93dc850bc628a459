import { join } from 'node:path';
import { type LogLevel, NativeConnection } from '@temporalio/worker';
import { localTaskQueue } from '../config/queues';
import { type Environment, namesAService, readServiceConfig } from '../config/service-config';
import { startEmulator } from '../emulator';
import { createVideoService, RateLimiter, type VideoServiceOptions } from '../service';
import type { VideoStorage } from '../storage';
import { createVideoWorker } from '../worker/video-worker';
import type { Closers } from './closers';
import { EMULATED_JOB_MS } from './emulated-job';
import { quietRuntime } from './quiet-runtime';
import type { StackNote } from './stack-note';

/** The service that the environment names, or an emulator: the one that runs already, or one of our own. */
export async function openService(
  env: Environment,
  folder: string,
  closers: Closers,
  running?: StackNote['emulator'],
): Promise<VideoServiceOptions> {
  if (namesAService(env)) return readServiceConfig(env);
  if (running !== undefined) return { baseUrl: running.url, apiKey: () => running.key };
  let isPainting = false;
  /** Its video is painted while it is waited for; of many tasks one at a time, the rest when they are asked for. */
  const paintAhead = () => {
    const task = emulator.generations().at(-1);
    if (task === undefined || isPainting) return;
    isPainting = true;
    void emulator
      .video(task.taskId)
      .catch(() => undefined)
      .finally(() => {
        isPainting = false;
      });
  };
  const emulator = await startEmulator({
    jobTimeMs: EMULATED_JOB_MS,
    tasksFile: join(folder, 'emulated-tasks.jsonl'),
    onCall: ({ call }) => {
      if (call === 'submit') paintAhead();
    },
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
  /** What of the SDK's log is shown. */
  logLevel: LogLevel | undefined;
}

export async function startWorkers(
  { env, address, queues, service: serviceOptions, storage, logLevel }: LocalWorkers,
  closers: Closers,
): Promise<void> {
  quietRuntime(logLevel);
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
