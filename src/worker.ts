import { type NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { createVideoActivities, type DownloadOptions } from '../activities';
import {
  ConfigError,
  type Environment,
  readLostSubmitPolicy,
  readServiceConfig,
  readSubmitsPerSecond,
  readTaskQueue,
} from './config';
import { connectWorker } from './connect';
import type { LostSubmitPolicy } from './contract/lost-submit';
import { submitQueueOf } from './contract/names';
import { startJanitor } from './janitor';
import { createVideoService, RateGate, type VideoService } from './service';
import { createStorage, type VideoStorage } from './storage';
import { readDownloadOptions, readDownloadQueue, readStorageConfig } from './storage-config';
import { submitTuner } from './submit-slots';

/**
 * After a shutdown signal, what runs may finish for this long. A download is then given up (another worker takes it
 * over); a submit is waited for even longer, because its answer names a paid task.
 */
const SHUTDOWN_GRACE_TIME = '20s';

/** A cancelled download learns of it with its next heartbeat; the SDK's own bound would be most of the heartbeat timeout. */
const HEARTBEAT_THROTTLE = '5s';

/** A POST takes a second or so; more at once would only find a service's limit sooner. */
const MOST_SUBMITS_AT_ONCE = 8;

/** Each has its disk and its share of the line. */
const MOST_DOWNLOADS_AT_ONCE = 10;

/** What one worker may do: the workflows and looks, the submits, the downloads where they have a queue of their own. */
export const WORKER_ROLES = ['jobs', 'submits', 'downloads'] as const;

export type WorkerRole = (typeof WORKER_ROLES)[number];

export interface VideoWorkerOptions extends DownloadOptions {
  /** Read for whatever is not given here; the process's own unless set. */
  env?: Environment;
  connection?: NativeConnection;
  namespace?: string;
  taskQueue?: string;
  /** Where jobs' submits wait; `<taskQueue>-submit` unless set, as a client has it. The task queue itself for one. */
  submitQueue?: string;
  /** Where jobs' downloads wait, when not on the task queue; what VIDEOGEN_DOWNLOAD_QUEUE names unless set. */
  downloadQueue?: string;
  /** What this worker does; everything unless set. What has no queue of its own is done with the jobs. */
  roles?: readonly WorkerRole[];
  /** How many submits a second all workers of the submit queue together may begin; no bound unless set. */
  submitsPerSecond?: number;
  /** For jobs that do not say it themselves; `hold` unless set. */
  onLostSubmit?: LostSubmitPolicy;
  service?: VideoService;
  storage?: VideoStorage;
  /** Shared by workers of one process that call the same service. */
  gate?: RateGate;
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
  const { env, gate = new RateGate() } = options;
  const taskQueue = options.taskQueue ?? readTaskQueue(env);
  const submitQueue = options.submitQueue ?? submitQueueOf(taskQueue);
  const downloadQueue = options.downloadQueue ?? readDownloadQueue(env) ?? taskQueue;
  const roles = checkRoles(options.roles ?? WORKER_ROLES, { taskQueue, submitQueue, downloadQueue });
  const submitsPerSecond = options.submitsPerSecond ?? readSubmitsPerSecond(env);
  if (submitsPerSecond !== undefined && submitQueue === taskQueue) {
    throw new ConfigError(
      'submitsPerSecond (VIDEOGEN_SUBMITS_PER_SECOND) bounds a task queue: give submits one of their own.',
    );
  }
  const onLostSubmit = options.onLostSubmit ?? readLostSubmitPolicy(env);
  const storage = options.storage ?? createStorage(readStorageConfig(env));
  const service = options.service ?? createVideoService(readServiceConfig(env));
  const { connection, namespace } = options.connection ? options : await connectWorker(env);
  const activities = createVideoActivities({
    ...downloadOptions(options),
    service,
    storage,
    onLostSubmit,
    gate,
  });
  const shared = {
    connection,
    namespace: options.namespace ?? namespace,
    shutdownGraceTime: SHUTDOWN_GRACE_TIME,
    maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
  };

  const whileTidying = async <T>(work: () => Promise<T>): Promise<T> => {
    // Who only submits may not even have the storage.
    const stopTidying = roles.some((role) => role !== 'submits') ? startJanitor(storage) : () => undefined;
    return work().finally(stopTidying);
  };

  /** What came from the caller is the caller's to close. */
  const closeOwn = async () => {
    if (!options.service) await service.close();
    if (!options.connection) await connection?.close();
  };

  /** For one kind of activity, on a queue of its own. */
  const createActivityWorker = (own: Partial<WorkerOptions> & { taskQueue: string }) =>
    Worker.create({ ...shared, ...withoutOwnTasks(options.worker), ...own });

  try {
    const workers: Worker[] = [];
    if (roles.includes('jobs')) {
      workers.push(
        await Worker.create({
          ...shared,
          taskQueue,
          ...(options.worker?.workflowBundle ? {} : { workflowsPath: require.resolve('../workflows') }),
          activities,
          ...options.worker,
        }),
      );
    }
    if (roles.includes('submits') && submitQueue !== taskQueue) {
      workers.push(
        await createActivityWorker({
          taskQueue: submitQueue,
          activities: { submitVideo: activities.submitVideo },
          tuner: submitTuner(gate, MOST_SUBMITS_AT_ONCE),
          maxTaskQueueActivitiesPerSecond: submitsPerSecond,
        }),
      );
    }
    if (roles.includes('downloads') && downloadQueue !== taskQueue) {
      workers.push(
        await createActivityWorker({
          taskQueue: downloadQueue,
          activities: { downloadVideo: activities.downloadVideo },
          maxConcurrentActivityTaskExecutions: MOST_DOWNLOADS_AT_ONCE,
        }),
      );
    }
    return {
      run: () => whileTidying(() => runAll(workers)).finally(closeOwn),
      runUntil: (work) => whileTidying(() => runAllUntil(workers, work)).finally(closeOwn),
      shutdown: () => shutDown(workers),
    };
  } catch (error) {
    await closeOwn();
    throw error;
  }
}

interface Queues {
  taskQueue: string;
  submitQueue: string;
  downloadQueue: string;
}

/** A worker that would do nothing, or get tasks it does not know, is told so: its jobs would wait without a word. */
function checkRoles(roles: readonly WorkerRole[], queues: Queues): readonly WorkerRole[] {
  const { taskQueue, submitQueue, downloadQueue } = queues;
  const choices = WORKER_ROLES.join(', ');
  const unknown = roles.find((role) => !WORKER_ROLES.includes(role));
  if (unknown !== undefined) {
    throw new ConfigError(`A worker has no role ${JSON.stringify(unknown)}: give any of ${choices}.`);
  }
  if (roles.length === 0) {
    throw new ConfigError(
      `A worker without a role does nothing: give any of ${choices}, or leave roles out.`,
    );
  }
  if (submitQueue === downloadQueue && submitQueue !== taskQueue) {
    throw new ConfigError(
      `VIDEOGEN_DOWNLOAD_QUEUE is ${JSON.stringify(downloadQueue)}, where the submits wait: name another task queue for the downloads.`,
    );
  }
  if (roles.includes('jobs')) return roles;
  if (roles.includes('downloads') && downloadQueue === taskQueue) {
    throw new ConfigError(
      'VIDEOGEN_DOWNLOAD_QUEUE names no task queue beside that of the jobs, whose workers do the downloads: set it to one for this worker and for whoever starts jobs.',
    );
  }
  if (roles.includes('submits') && submitQueue === taskQueue) {
    throw new ConfigError(
      'Submits wait on the task queue of the jobs, whose workers do them: give submits a queue of their own, or this worker the role jobs.',
    );
  }
  return roles;
}

/** What is not given is read. */
function downloadOptions({ env, keyTemplate, largestVideoBytes, sidecar, pace }: VideoWorkerOptions) {
  const read = readDownloadOptions(env);
  return {
    keyTemplate: keyTemplate ?? read.keyTemplate,
    largestVideoBytes: largestVideoBytes ?? read.largestVideoBytes,
    sidecar: sidecar ?? read.sidecar,
    pace,
  };
}

/** What a caller set for the worker's own workflows and activities is not for those that only submit or download. */
function withoutOwnTasks({
  workflowBundle,
  workflowsPath,
  activities,
  tuner,
  nexusServices,
  maxConcurrentActivityTaskExecutions,
  maxConcurrentLocalActivityExecutions,
  maxConcurrentNexusTaskExecutions,
  maxConcurrentWorkflowTaskExecutions,
  ...rest
}: Partial<WorkerOptions> = {}): Partial<WorkerOptions> {
  return rest;
}

/** One that fails takes the others with it: half a worker would leave jobs waiting without a word. */
async function runAll(workers: Worker[]): Promise<void> {
  const running = workers.map((worker) => worker.run());
  try {
    await Promise.all(running);
  } catch (error) {
    shutDown(workers);
    await Promise.allSettled(running);
    throw error;
  }
}

async function runAllUntil<T>(
  [worker, ...others]: Worker[],
  work: Promise<T> | (() => Promise<T>),
): Promise<T> {
  if (worker === undefined) return typeof work === 'function' ? work() : work;
  return worker.runUntil(() => runAllUntil(others, work));
}

function shutDown(workers: Worker[]): void {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}
