import type { Worker, WorkerOptions } from '@temporalio/worker';
import type { JobQueues } from '../../activities';
import type { WorkerQueues } from '../config/queues';
import { serviceQueueOf } from '../contract/names';
import { type FoundService, RateLimiter } from '../service';
import { submitTuner } from './submit-slots';
import type { VideoWork } from './video-work';

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

/** Runs all workers until one ends, then shuts the others down: without one of them jobs would silently wait. */
export async function runTogether(workers: readonly Worker[]): Promise<void> {
  await untilAllEnded(workers.map((worker) => worker.run().finally(() => shutDown(workers))));
}

/**
 * Runs further workers for as long as those that run already, and shuts all down when one of them ends or cannot be created. Each
 * one that is created runs, and is added to the others: otherwise it would keep the connection.
 */
export async function runWith(
  workers: Worker[],
  running: Promise<void>,
  creating: readonly Promise<Worker>[],
): Promise<void> {
  let isOver = false;
  const end = () => {
    isOver = true;
    shutDown(workers);
  };
  const others = creating.map(async (created) => {
    const other = await created;
    workers.push(other);
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
