import type { Worker, WorkerOptions } from '@temporalio/worker';
import type { JobQueues } from '../../activities';
import type { WorkerQueues } from '../config/queues';
import { serviceQueueOf } from '../contract/names';
import { type FoundService, RateLimiter } from '../service';
import { startJanitor } from './janitor';
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

/** The workers next to that of the jobs: for submits, one for each service, and for downloads, if they have a queue of their own. */
export function activityWorkers(
  { activities, directory }: VideoWork,
  { taskQueue, submitQueue, downloadQueue, submitsPerSecond }: WorkerQueues,
  roles: readonly WorkerRole[] = WORKER_ROLES,
): WorkerOptions[] {
  const submits = (queue: string, found: Partial<FoundService>): WorkerOptions => ({
    taskQueue: queue,
    activities: { submitVideo: activities.submitVideo },
    tuner: submitTuner(found.rateLimiter ?? new RateLimiter(), MAX_CONCURRENT_SUBMITS),
    maxTaskQueueActivitiesPerSecond: found.submitsPerSecond ?? submitsPerSecond,
  });
  const ownDefault = directory.findForNew();
  const ofSubmits = () => [
    // Without a default it tells jobs that name no service so.
    submits(submitQueue, 'problem' in ownDefault ? {} : ownDefault),
    ...directory.all().map((found) => submits(serviceQueueOf(submitQueue, found.name), found)),
  ];
  const ofDownloads: WorkerOptions = {
    taskQueue: downloadQueue,
    activities: { downloadVideo: activities.downloadVideo },
    maxConcurrentActivityTaskExecutions: MAX_CONCURRENT_DOWNLOADS,
  };
  return [
    ...(roles.includes('submits') ? ofSubmits() : []),
    ...(roles.includes('downloads') && downloadQueue !== taskQueue ? [ofDownloads] : []),
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

/**
 * Runs the janitor and further workers for as long as those that run already, and shuts all down when one of them ends or cannot
 * be created: without one of them jobs would silently wait. Each one that is created runs: otherwise it would keep the
 * connection. Rejects with the first failure when all have ended.
 */
export async function runWith(
  workers: Worker[],
  running: Promise<unknown>,
  creating: readonly Promise<Worker>[],
  { storage }: VideoWork,
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
  const all = [running, ...others].map((one) => one.finally(end));
  const stopJanitor = startJanitor(storage);
  try {
    await Promise.all(all);
  } finally {
    await Promise.allSettled(all);
    stopJanitor();
  }
}

export function shutDown(workers: readonly Worker[]): void {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}
