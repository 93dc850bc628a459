import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { orUnreachable } from '../client/connect';
import { createTraced } from '../client/export-traces';
import { type MonitorAddress, monitorAddress, readEncryptionKeys } from '../config/operation-config';
import { resolveWorkerQueues, type WorkerQueues } from '../config/queues';
import { ConfigError } from '../config/service-config';
import { readTemporalConfig } from '../config/temporal-config';
import {
  activityWorkers,
  jobQueues,
  runTogether,
  shutDown,
  WORKER_ROLES,
  type WorkerRole,
} from './activity-workers';
import { encryptedWorker } from './encrypt-worker';
import { startJanitor } from './janitor';
import type { Monitor } from './monitor';
import { withOwnWorkflows } from './own-workflows';
import { installSdkMetrics } from './sdk-metrics';
import { prepareWork, refuseUnversionedCaps, type VideoWork, type VideoWorkOptions } from './video-work';
import { openWorkerMonitor } from './worker-monitor';
import { cachedWorkflows, deploymentOptions, withOwnDefaults, withoutOwnTasks } from './worker-options';

export { WORKER_ROLES, type WorkerRole };

/** What createVideoWorker may be given; the environment says the rest. */
export interface VideoWorkerOptions extends VideoWorkOptions {
  /** Your own connection, which you close. Default: one with the `TEMPORAL_…` settings. */
  connection?: NativeConnection;
  /** Default: `TEMPORAL_NAMESPACE`, or `default`. */
  namespace?: string;
  /** The task queue of the jobs. Default: `VIDEOGEN_TASK_QUEUE`, or `video-generation`. */
  taskQueue?: string;
  /** The task queue of their downloads. Default: `VIDEOGEN_DOWNLOAD_QUEUE`, or the task queue of the jobs. */
  downloadQueue?: string;
  /** What this worker does. Default: everything. A part without a queue of its own belongs to `jobs`. */
  roles?: readonly WorkerRole[];
  /** How many submits per second all workers of the submit queue together may start. Default: no limit. */
  submitsPerSecond?: number;
  /**
   * Where /metrics, /livez and /readyz are served; `false` for nowhere. Default: `VIDEOGEN_MONITOR_PORT`. The
   * SDK measures only if this starts before anything else of it.
   */
  monitor?: MonitorAddress | false;
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
  refuseUnversionedCaps(options, workerDeploymentOptions);
  const ring = readEncryptionKeys(env);
  const work = prepareWork(options, jobQueues(queues, roles));
  if (monitored) await installSdkMetrics();
  const { connection, namespace } = await connectAndProbe(options, work);
  const shared = withOwnDefaults({ connection, namespace, workerDeploymentOptions }, env);
  const { plugins = [] } = ofCaller;

  /** `complete` sees the plugins too. */
  const create = (own: WorkerOptions, complete = (all: WorkerOptions) => all) =>
    createTraced((traces) =>
      Worker.create(complete({ ...shared, ...own, plugins: [...plugins, ...traces] })),
    );

  let workers: Worker[] = [];
  let monitor: Monitor | undefined;
  /** The caller closes what the caller gave. */
  const close = async () => {
    await monitor?.close();
    await work.close();
    if (!options.connection) await connection.close();
  };
  const attended = async <T>(run: () => Promise<T>): Promise<T> => {
    // A worker that only submits leaves no unfinished downloads.
    const stopJanitor = roles.some((role) => role !== 'submits') ? startJanitor(work.storage) : undefined;
    return run().finally(async () => {
      stopJanitor?.();
      await close();
    });
  };

  try {
    // First: a worker that was created and never runs keeps the connection, and a taken port would be reported as that.
    monitor =
      monitored &&
      (await openWorkerMonitor(monitored, {
        workers: () => workers,
        work,
        namespace: ofCaller.namespace ?? namespace,
        taskQueue,
      }));
    const ofHost = encryptedWorker(withoutOwnTasks(ofCaller), { ring, connection });
    const jobs = {
      taskQueue,
      activities: work.activities,
      ...encryptedWorker(ofCaller, { ring, connection }),
      maxCachedWorkflows: cachedWorkflows(ofCaller),
    };
    workers = await Promise.all([
      ...(roles.includes('jobs') ? [create(jobs, withOwnWorkflows)] : []),
      ...activityWorkers(work, queues)
        .filter(({ role }) => roles.includes(role))
        .map(({ options: own }) => create({ ...ofHost, ...own })),
    ]);
    return {
      run: () => attended(() => runTogether(workers)),
      runUntil: (until) => attended(() => runAllUntil(workers, until)),
      shutdown: () => shutDown(workers),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Connected {
  connection: NativeConnection;
  namespace: string | undefined;
}

/** Connects with the settings of the environment, or takes the caller's connection. */
async function connect({ env, connection, namespace }: VideoWorkerOptions): Promise<Connected> {
  if (connection) return { connection, namespace };
  const { connectionOptions, namespace: ofEnvironment } = readTemporalConfig(env);
  const own = await orUnreachable(connectionOptions, NativeConnection.connect(connectionOptions));
  return { connection: own, namespace: namespace ?? ofEnvironment };
}

/**
 * Connects to Temporal and meanwhile checks the storage: a worker that cannot write to it would fail jobs that are paid for, so
 * it does not start.
 */
async function connectAndProbe(
  options: VideoWorkerOptions,
  { storage, ready, close }: VideoWork,
): Promise<Connected> {
  const connecting = connect(options);
  try {
    // What is wrong with the storage comes first: a server that does not answer would hold it back.
    await Promise.all([storage.probe?.().then(ready) ?? ready(), connecting.catch(() => undefined)]);
    return await connecting;
  } catch (error) {
    await close();
    if (!options.connection) connecting.then(({ connection }) => connection.close()).catch(() => undefined);
    throw error;
  }
}

/** Refuses roles with which the worker would get no tasks: its jobs would silently wait. */
function checkRoles(roles: readonly WorkerRole[], { taskQueue, downloadQueue }: WorkerQueues): void {
  if (roles.length === 0 || roles.some((role) => !WORKER_ROLES.includes(role))) {
    throw new ConfigError(
      `A worker has the roles ${JSON.stringify(roles)}: give any of ${WORKER_ROLES.join(', ')}.`,
    );
  }
  if (!roles.includes('jobs') && roles.includes('downloads') && downloadQueue === taskQueue) {
    throw new ConfigError(
      'VIDEOGEN_DOWNLOAD_QUEUE names no queue of its own, so the workers of the jobs do the downloads: set it to another task queue, for this worker and for those of the jobs.',
    );
  }
}

async function runAllUntil<T>(
  [worker, ...others]: Worker[],
  work: Promise<T> | (() => Promise<T>),
): Promise<T> {
  if (worker === undefined) return typeof work === 'function' ? work() : work;
  return worker.runUntil(() => runAllUntil(others, work));
}
