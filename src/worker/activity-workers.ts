import type { Worker, WorkerOptions } from '@temporalio/worker';
import type { JobQueues } from '../../activities';
import { readShutdownGraceMs } from '../config/monitor-config';
import type { WorkerQueues } from '../config/queues';
import type { Environment } from '../config/read-setting';
import { serviceQueueOf } from '../contract/names';
import { type FoundService, RateLimiter } from '../service';
import { submitTuner } from './submit-slots';
import type { VideoWork } from './video-work';

/** A cancelled download learns of it from its next heartbeat; by default the SDK sends them too rarely for that. */
const HEARTBEAT_THROTTLE = '5s';

/**
 * How long a workflow may compute at a time, as the SDK calls it; it has no type for it. When its 5 s are over, Node ends the
 * whole process with "async hook stack has become corrupted". A batch on a machine that is busy with other work can take
 * longer, and Temporal gives its task to another worker after 10 s anyway.
 */
const LONGEST_COMPUTING = { isolateExecutionTimeout: '60s' };

/**
 * Adds what our activities and workflows need of a worker, where it is not set. After the grace a download is cancelled, and
 * another worker resumes it; a submit still finishes, because its answer names a paid task.
 */
export function withOwnDefaults<Options extends Partial<WorkerOptions>>(
  options: Options,
  env: Environment | undefined,
): Options {
  return {
    ...LONGEST_COMPUTING,
    ...options,
    shutdownGraceTime: options.shutdownGraceTime ?? readShutdownGraceMs(env),
    maxHeartbeatThrottleInterval: options.maxHeartbeatThrottleInterval ?? HEARTBEAT_THROTTLE,
  };
}

/** A POST takes about a second; more at once would only meet the service's rate limit sooner. */
const MAX_CONCURRENT_SUBMITS = 8;

/** Downloads share the disk and the network. */
const MAX_CONCURRENT_DOWNLOADS = 10;

/** What a worker may do: run jobs and poll their tasks, submit, and download if downloads have a queue of their own. */
export const WORKER_ROLES = ['jobs', 'submits', 'downloads'] as const;

/** One of WORKER_ROLES. */
export type WorkerRole = (typeof WORKER_ROLES)[number];

export interface ActivityWorker {
  role: 'submits' | 'downloads';
  options: Partial<WorkerOptions> & { taskQueue: string };
}

/** The workers next to that of the jobs: for submits, one for each service, and for downloads, if they have a queue of their own. */
export function activityWorkers(
  { activities, directory }: VideoWork,
  queues: WorkerQueues,
): ActivityWorker[] {
  const { taskQueue, submitQueue, downloadQueue, submitsPerSecond } = queues;
  const submits = (queue: string, found: Partial<FoundService>): ActivityWorker => ({
    role: 'submits',
    options: {
      taskQueue: queue,
      activities: { submitVideo: activities.submitVideo },
      tuner: submitTuner(found.rateLimiter ?? new RateLimiter(), MAX_CONCURRENT_SUBMITS),
      maxTaskQueueActivitiesPerSecond: found.submitsPerSecond ?? submitsPerSecond,
    },
  });
  const ownDefault = directory.findForNew();
  const downloads: ActivityWorker = {
    role: 'downloads',
    options: {
      taskQueue: downloadQueue,
      activities: { downloadVideo: activities.downloadVideo },
      maxConcurrentActivityTaskExecutions: MAX_CONCURRENT_DOWNLOADS,
    },
  };
  return [
    // Without a default it tells jobs that name no service so.
    submits(submitQueue, 'problem' in ownDefault ? {} : ownDefault),
    ...directory.all().map((found) => submits(serviceQueueOf(submitQueue, found.name), found)),
    ...(downloadQueue === taskQueue ? [] : [downloads]),
  ];
}

/** What the activities of a worker tell jobs. `roles`: what this process does. */
export function jobQueues(
  { taskQueue, submitQueue, downloadQueue }: WorkerQueues,
  roles: readonly WorkerRole[] = WORKER_ROLES,
): JobQueues {
  return {
    submit: submitQueue,
    download: downloadQueue === taskQueue ? undefined : downloadQueue,
    servedHere: WORKER_ROLES.every((role) => roles.includes(role)),
  };
}

/** Drops the options for workflows and other activities, which a worker that only submits or downloads does not run. */
export function withoutOwnTasks({
  workflowBundle,
  workflowsPath,
  bundlerOptions,
  activities,
  tuner,
  nexusServices,
  maxActivitiesPerSecond,
  maxTaskQueueActivitiesPerSecond,
  maxConcurrentActivityTaskExecutions,
  maxConcurrentLocalActivityExecutions,
  maxConcurrentNexusTaskExecutions,
  maxConcurrentWorkflowTaskExecutions,
  ...rest
}: Partial<WorkerOptions> = {}): Partial<WorkerOptions> {
  return rest;
}

/** Runs all workers until one ends, then shuts the others down: without one of them jobs would silently wait. */
export async function runTogether(workers: readonly Worker[]): Promise<void> {
  await untilAllEnded(workers.map((worker) => worker.run().finally(() => shutDown(workers))));
}

/**
 * Runs other workers for as long as the given one runs, and shuts all down when one of them ends or cannot be created. Each one
 * that is created runs: otherwise it would keep the connection.
 */
export async function runWith(
  worker: Worker,
  running: Promise<void>,
  creating: readonly Promise<Worker>[],
): Promise<void> {
  const all = [worker];
  let isOver = false;
  const end = () => {
    isOver = true;
    shutDown(all);
  };
  const others = creating.map(async (created) => {
    const other = await created;
    all.push(other);
    const ended = other.run();
    if (isOver) shutDown([other]);
    await ended;
  });
  await untilAllEnded([running, ...others].map((one) => one.finally(end)));
}

export function shutDown(workers: readonly Worker[]): void {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}

/** Waits for everything to end, then rejects with the first failure. */
async function untilAllEnded(running: Promise<void>[]): Promise<void> {
  try {
    await Promise.all(running);
  } finally {
    await Promise.allSettled(running);
  }
}
