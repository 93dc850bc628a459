import { createHash } from 'node:crypto';
import type { JobInput } from '../contract/job';
import { DEFAULT_TASK_QUEUE, submitQueueOf } from '../contract/names';
import { storageAddress } from '../storage';
import {
  ConfigError,
  type Environment,
  namesAService,
  readServiceConfig,
  withoutBlanks,
} from './service-config';
import { readStorageConfig } from './storage-config';

/** The task queues of jobs, their submits and their downloads; a part without a queue of its own has that of the jobs. */
export interface Queues {
  taskQueue: string;
  submitQueue: string;
  downloadQueue: string;
}

/** The queues for workers, with the limit on how many submits per second all of them together may start. */
export interface WorkerQueues extends Queues {
  submitsPerSecond: number | undefined;
}

/** The queues as the options say, and as the environment says for what they leave open. */
export function resolveQueues(options: Partial<Queues> = {}, env?: Environment): Queues {
  const taskQueue = options.taskQueue ?? readTaskQueue(env);
  return {
    taskQueue,
    submitQueue: options.submitQueue ?? submitQueueOf(taskQueue),
    downloadQueue: options.downloadQueue ?? readDownloadQueue(env) ?? taskQueue,
  };
}

/** The same for a worker. Refuses queues on which a worker would get tasks that it does not know. */
export function resolveWorkerQueues(options: Partial<WorkerQueues> = {}, env?: Environment): WorkerQueues {
  const queues = resolveQueues(options, env);
  const { taskQueue, submitQueue, downloadQueue } = queues;
  const submitsPerSecond = options.submitsPerSecond ?? readSubmitsPerSecond(env);
  if (submitQueue === downloadQueue && submitQueue !== taskQueue) {
    throw new ConfigError(
      `VIDEOGEN_DOWNLOAD_QUEUE (or queues.download of the plugin) is ${JSON.stringify(downloadQueue)}, the queue of the submits: name another queue.`,
    );
  }
  if (submitsPerSecond !== undefined && submitQueue === taskQueue) {
    throw new ConfigError(
      'VIDEOGEN_SUBMITS_PER_SECOND (or submitsPerSecond) limits a whole task queue: give submits a queue of their own.',
    );
  }
  return { ...queues, submitsPerSecond };
}

/** What a job or batch carries in its input: the queues that differ from its own task queue. */
export function queuesInInput({
  taskQueue,
  submitQueue,
  downloadQueue,
}: Queues): NonNullable<JobInput['queues']> {
  return {
    ...(submitQueue !== taskQueue && { submit: submitQueue }),
    ...(downloadQueue !== taskQueue && { download: downloadQueue }),
  };
}

/**
 * The task queue of `generate`, `batch` and `dev` on this machine's own server. Each pair of service and storage has its
 * own, so that a job never reaches a worker that calls another service or stores its video elsewhere.
 */
export function localTaskQueue(env?: Environment): string {
  return `${localQueuePrefix(env)}${digestOf(storageAddress(readStorageConfig(env)))}`;
}

/** The start of the local queues of one service, whatever the storage is. */
export function localQueuePrefix(env?: Environment): string {
  const service = namesAService(env) ? digestOf(readServiceConfig(env).baseUrl) : 'emulator';
  return `${readTaskQueue(env)}-${service}-`;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

export function readTaskQueue(env: Environment = process.env): string {
  const queue = (env.VIDEOGEN_TASK_QUEUE ?? DEFAULT_TASK_QUEUE).trim();
  if (queue !== '') return queue;
  throw new ConfigError(
    `VIDEOGEN_TASK_QUEUE is empty: name a task queue, or unset it for ${DEFAULT_TASK_QUEUE}.`,
  );
}

/** The task queue of downloads, when they have one of their own. */
export function readDownloadQueue(env: Environment = process.env): string | undefined {
  return withoutBlanks(env).VIDEOGEN_DOWNLOAD_QUEUE?.trim();
}

/** The bound on submits, for all workers of the submit queue together; undefined for none. */
export function readSubmitsPerSecond(env: Environment = process.env): number | undefined {
  const { VIDEOGEN_SUBMITS_PER_SECOND: given } = withoutBlanks(env);
  if (given === undefined) return undefined;
  const perSecond = Number(given);
  if (perSecond > 0 && perSecond < Number.POSITIVE_INFINITY) return perSecond;
  throw new ConfigError(
    `VIDEOGEN_SUBMITS_PER_SECOND is ${JSON.stringify(given)}: give a number above 0, such as 2 or 0.5, or unset it.`,
  );
}
