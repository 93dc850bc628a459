import { hostname } from 'node:os';
import { Runtime, type Worker, type WorkerOptions } from '@temporalio/worker';
import type { JobQueues } from '../../activities';
import type { WorkerQueues } from '../config/queues';
import { cleanText } from '../contract/clean-text';
import { LOG_EVENTS, type LogEvent } from '../contract/log-events';
import { serviceQueueOf } from '../contract/names';
import { type FoundService, RateLimiter } from '../service';
import { sweepParts, type VideoStorage } from '../storage';
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
  { activities: { submitVideo, downloadVideo }, directory }: VideoWork,
  { taskQueue, submitQueue, downloadQueue, submitsPerSecond }: WorkerQueues,
  roles: readonly WorkerRole[] = WORKER_ROLES,
): WorkerOptions[] {
  const submits = (queue: string, found: Partial<FoundService>): WorkerOptions => ({
    ...ownWorker('submits', MAX_CONCURRENT_SUBMITS),
    taskQueue: queue,
    activities: { submitVideo },
    tuner: submitTuner(found.rateLimiter ?? new RateLimiter(), MAX_CONCURRENT_SUBMITS),
    maxTaskQueueActivitiesPerSecond: found.submitsPerSecond ?? submitsPerSecond,
  });
  const workers: WorkerOptions[] = [];
  if (roles.includes('submits')) {
    const ownDefault = directory.find(directory.defaultService);
    // Without a default it tells jobs that name no service so.
    workers.push(submits(submitQueue, 'problem' in ownDefault ? {} : ownDefault));
    for (const found of directory.all())
      workers.push(submits(serviceQueueOf(submitQueue, found.name), found));
  }
  if (roles.includes('downloads') && downloadQueue !== taskQueue) {
    workers.push({
      ...ownWorker('downloads', MAX_CONCURRENT_DOWNLOADS),
      taskQueue: downloadQueue,
      activities: { downloadVideo },
      maxConcurrentActivityTaskExecutions: MAX_CONCURRENT_DOWNLOADS,
    });
  }
  return workers;
}

/** What Temporal's UI shows of it, and few polls while its queue is empty. */
function ownWorker(
  role: WorkerRole,
  most: number,
): Pick<WorkerOptions, 'identity' | 'activityTaskPollerBehavior'> {
  return {
    identity: `${process.pid}@${hostname()} videogen ${role}`,
    activityTaskPollerBehavior: { type: 'autoscaling', minimum: 1, initial: 2, maximum: most },
  };
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
  { workers, storage }: VideoWork,
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
    if (isOver) other.shutdown();
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

const HOUR_MS = 3_600_000;
/** No running download goes this long without writing. */
const LEFTOVER_AFTER_MS = 24 * HOUR_MS;

/** Removes unfinished downloads of killed workers from the storage, every hour. Returns a function that stops it. */
export function startJanitor(storage: VideoStorage): () => void {
  // The runtime may be the host's, with a logger of its own.
  const log = (event: LogEvent, fields: Record<string, unknown>) => {
    const { level, message } = LOG_EVENTS[event];
    Runtime.instance().logger[level](message, { event, ...fields });
  };
  const sweep = async () => {
    try {
      const removed = await sweepParts(storage, LEFTOVER_AFTER_MS);
      if (removed > 0) log('leftoversRemoved', { removed });
    } catch (error) {
      log('leftoversNotRemoved', { error: cleanText(String(error)) });
    }
  };
  void sweep();
  // The timer alone does not keep the process alive.
  const timer = setInterval(() => void sweep(), HOUR_MS).unref();
  return () => clearInterval(timer);
}
