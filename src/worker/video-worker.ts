import { type NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { connectWorker } from '../client/connect';
import { type Queues, resolveWorkerQueues } from '../config/queues';
import { ConfigError } from '../config/service-config';
import { activityWorkers, runTogether, shutDown, withOwnDefaults, withoutOwnTasks } from './activity-workers';
import { deploymentOptions } from './deployment';
import { startJanitor } from './janitor';
import { QUIET_BUNDLER } from './quiet-bundler';
import { prepareWork, type VideoWork, type VideoWorkOptions } from './video-work';

/** What one worker may do: the workflows and looks, the submits, the downloads where they have a queue of their own. */
export const WORKER_ROLES = ['jobs', 'submits', 'downloads'] as const;

export type WorkerRole = (typeof WORKER_ROLES)[number];

export interface VideoWorkerOptions extends VideoWorkOptions {
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
  const queues = resolveWorkerQueues(options, env);
  const roles = checkRoles(options.roles ?? WORKER_ROLES, queues);
  const workerDeploymentOptions = deploymentOptions(options.worker, env);
  const work = prepareWork(options);
  await probeStorage(work);
  const { connection, namespace } = options.connection ? options : await connectWorker(env);
  const shared = withOwnDefaults({
    connection,
    namespace: options.namespace ?? namespace,
    // The same for each queue: what a job of one version has to do, only workers of that version get.
    workerDeploymentOptions,
  });

  const whileTidying = async <T>(run: () => Promise<T>): Promise<T> => {
    const stopTidying = roles.some(storesVideos) ? startJanitor(work.storage) : () => undefined;
    return run().finally(stopTidying);
  };

  /** What came from the caller is the caller's to close. */
  const closeOwn = async () => {
    await work.close();
    if (!options.connection) await connection?.close();
  };

  try {
    const workers: Worker[] = [];
    if (roles.includes('jobs')) {
      workers.push(
        await Worker.create({
          ...shared,
          taskQueue: queues.taskQueue,
          ...(options.worker?.workflowBundle ? {} : { workflowsPath: require.resolve('../../workflows') }),
          activities: work.activities,
          ...options.worker,
          plugins: [...(options.worker?.plugins ?? []), QUIET_BUNDLER],
        }),
      );
    }
    for (const { role, options: own } of activityWorkers(work, queues)) {
      if (!roles.includes(role)) continue;
      workers.push(await Worker.create({ ...shared, ...withoutOwnTasks(options.worker), ...own }));
    }
    return {
      run: () => whileTidying(() => runTogether(workers)).finally(closeOwn),
      runUntil: (work) => whileTidying(() => runAllUntil(workers, work)).finally(closeOwn),
      shutdown: () => shutDown(workers),
    };
  } catch (error) {
    await closeOwn();
    throw error;
  }
}

/** Who only submits leaves nothing half written. */
const storesVideos = (role: WorkerRole) => role !== 'submits';

/** A worker that cannot store could only fail jobs that are paid for, or submit none: it does not begin. */
async function probeStorage({ storage, close }: VideoWork): Promise<void> {
  try {
    await storage.probe?.();
  } catch (error) {
    await close();
    throw error;
  }
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

async function runAllUntil<T>(
  [worker, ...others]: Worker[],
  work: Promise<T> | (() => Promise<T>),
): Promise<T> {
  if (worker === undefined) return typeof work === 'function' ? work() : work;
  return worker.runUntil(() => runAllUntil(others, work));
}
