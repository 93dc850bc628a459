import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { orUnreachable } from '../client/connect';
import { monitorAddress, readEncryptionKeys } from '../config/operation-config';
import { resolveWorkerQueues, type WorkerQueues } from '../config/queues';
import { ConfigError } from '../config/service-config';
import { readTemporalConfig } from '../config/temporal-config';
import { jobQueues, shutDown, WORKER_ROLES, type WorkerRole } from './activity-workers';
import { encryptedWorker } from './encrypt-worker';
import { type OwnWorkerOptions, VideoPlugin } from './video-plugin';
import { prepareWork, type VideoWorkOptions } from './video-work';
import { installSdkMetrics, openWorkerMonitor } from './worker-monitor';
import { cachedWorkflows, deploymentOptions } from './worker-options';

export { WORKER_ROLES, type WorkerRole };

/** What createVideoWorker may be given; the environment says the rest. */
export interface VideoWorkerOptions extends VideoWorkOptions {
  /** Your own connection, which you close. Default: one with the `TEMPORAL_…` settings. */
  connection?: NativeConnection;
  /** Default: `TEMPORAL_NAMESPACE`, or `default`. */
  namespace?: string;
  /** The task queue of the jobs. Default: `VIDEOGEN_TASK_QUEUE`, or `video-generation`. */
  taskQueue?: string;
  /** What this worker does. Default: everything. A part without a queue of its own belongs to `jobs`. */
  roles?: readonly WorkerRole[];
  /** Other options of the SDK's worker, such as `workflowBundle` or `maxConcurrentActivityTaskExecutions`. */
  worker?: Partial<WorkerOptions>;
}

/** A worker for video jobs: one worker of the SDK for each queue. */
export interface VideoWorker {
  /**
   * Runs until SIGINT, SIGTERM or `shutdown()`, then drains. Rejects after a fatal error: await it at the end of the
   * program; unawaited, it ends the process with that error.
   */
  run(): Promise<void>;
  /** Runs until the given work is done, then drains. */
  runUntil<T>(work: Promise<T> | (() => Promise<T>)): Promise<T>;
  /** Lets running activities finish, then ends `run()`. */
  shutdown(): void;
}

/**
 * Creates a worker that runs jobs and batches and calls the video service. Fails before it starts if a setting is wrong or
 * the storage cannot be used.
 *
 * @example
 * ```ts
 * const worker = await createVideoWorker();
 * await worker.run();
 * ```
 */
export async function createVideoWorker(options: VideoWorkerOptions = {}): Promise<VideoWorker> {
  const { env, worker: ofCaller = {}, roles = WORKER_ROLES } = options;
  const queues = resolveWorkerQueues(options, env);
  const { taskQueue } = queues;
  checkRoles(roles, queues);
  // The same for each queue, so that the activities of a job run on the version of its workflow.
  const workerDeploymentOptions = deploymentOptions(ofCaller, env);
  const monitored = monitorAddress(options.monitor, env);
  const ring = readEncryptionKeys(env);
  const work = prepareWork(options, jobQueues(queues, roles));
  let ownConnection: NativeConnection | undefined;
  let closeMonitor: (() => Promise<void>) | undefined;
  /** The caller closes what the caller gave. */
  const close = async () => {
    await closeMonitor?.();
    await ownConnection?.close();
  };

  try {
    // First: a worker that cannot write would fail jobs that are paid for, and a server may take long to answer.
    await work.ready();
    if (monitored) await installSdkMetrics();
    let { connection, namespace } = options;
    if (!connection) {
      const { connectionOptions, namespace: ofEnvironment } = readTemporalConfig(env);
      connection = await orUnreachable(connectionOptions, NativeConnection.connect(connectionOptions));
      ownConnection = connection;
      namespace ??= ofEnvironment;
    }
    const own: OwnWorkerOptions = { ...options, monitor: false, work, roles };
    const common = { connection, namespace, taskQueue, ...ofCaller, workerDeploymentOptions };
    const maxCachedWorkflows = cachedWorkflows(ofCaller);
    const all = encryptedWorker({ ...common, maxCachedWorkflows }, { ring, connection });
    // Before a worker is created: one that never runs keeps the connection, and a taken port would be reported as that.
    closeMonitor = monitored && (await openWorkerMonitor(monitored, work, common));
    const plugins = [new VideoPlugin(own), ...(ofCaller.plugins ?? [])];
    const worker = await Worker.create({ ...all, plugins });
    return {
      run: () => worker.run().finally(close),
      runUntil: (until) => worker.runUntil(until).finally(close),
      shutdown: () => shutDown(work.workers),
    };
  } catch (error) {
    await work.close();
    await close();
    throw error;
  }
}

/** Refuses roles with which the worker would get no tasks: its jobs would silently wait. */
function checkRoles(roles: readonly WorkerRole[], { taskQueue, downloadQueue }: WorkerQueues): void {
  if (roles.length === 0 || roles.some((role) => !WORKER_ROLES.includes(role))) {
    throw new ConfigError(
      `The roles of the worker are ${JSON.stringify(roles)}: give any of ${WORKER_ROLES.join(', ')}.`,
    );
  }
  if (!roles.includes('jobs') && roles.includes('downloads') && downloadQueue === taskQueue) {
    throw new ConfigError(
      'VIDEOGEN_DOWNLOAD_QUEUE names no queue of its own, so the workers of the jobs do the downloads: set it to another task queue, for this worker and for those of the jobs.',
    );
  }
}
