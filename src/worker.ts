import { type NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { createVideoActivities } from '../activities';
import { type Environment, readServiceConfig, readStorageFolder, readTaskQueue } from './config';
import { connectWorker } from './connect';
import { createVideoService, type VideoService } from './service';
import { createFileStorage, type VideoStorage } from './storage';

/**
 * After a shutdown signal, what runs may finish for this long. A download is then given up (another worker takes it
 * over); a submit is waited for even longer, because its answer names a paid task.
 */
const SHUTDOWN_GRACE_TIME = '20s';

/** A cancelled download learns of it with its next heartbeat; the SDK's own bound would be most of the heartbeat timeout. */
const HEARTBEAT_THROTTLE = '5s';

export interface VideoWorkerOptions {
  /** Read for whatever is not given here; the process's own unless set. */
  env?: Environment;
  connection?: NativeConnection;
  namespace?: string;
  taskQueue?: string;
  service?: VideoService;
  storage?: VideoStorage;
  /** Anything else of the SDK's worker, such as `workflowBundle` or `maxConcurrentActivityTaskExecutions`. */
  worker?: Partial<WorkerOptions>;
}

export interface VideoWorker {
  /**
   * Works until SIGINT, SIGTERM or `shutdown()`, then drains. Rejects when the worker meets a fatal error: await it at
   * the end of the program, or leave it unawaited, and the process ends with the error.
   */
  run(): Promise<void>;
  /** Works while the given work lasts, then drains. */
  runUntil<T>(work: Promise<T> | (() => Promise<T>)): Promise<T>;
  shutdown(): void;
}

export async function createVideoWorker(options: VideoWorkerOptions = {}): Promise<VideoWorker> {
  const { env } = options;
  const taskQueue = options.taskQueue ?? readTaskQueue(env);
  const storage = options.storage ?? createFileStorage(readStorageFolder(env));
  const service = options.service ?? createVideoService(readServiceConfig(env));
  const { connection, namespace } = options.connection ? options : await connectWorker(env);

  /** What came from the caller is the caller's to close. */
  const closeOwn = async () => {
    if (!options.service) await service.close();
    if (!options.connection) await connection?.close();
  };

  try {
    const worker = await Worker.create({
      connection,
      namespace: options.namespace ?? namespace,
      taskQueue,
      ...(options.worker?.workflowBundle ? {} : { workflowsPath: require.resolve('../workflows') }),
      activities: createVideoActivities({ service, storage }),
      shutdownGraceTime: SHUTDOWN_GRACE_TIME,
      maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
      ...options.worker,
    });
    return {
      run: () => worker.run().finally(closeOwn),
      runUntil: <T>(work: Promise<T> | (() => Promise<T>)) => worker.runUntil<T>(work).finally(closeOwn),
      shutdown: () => worker.shutdown(),
    };
  } catch (error) {
    await closeOwn();
    throw error;
  }
}
