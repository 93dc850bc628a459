import { createHash } from 'node:crypto';
import { submitQueueOf } from '../contract/names';
import { storageAddress } from '../storage';
import { ConfigError, type Environment } from './read-setting';
import { servicesInUse } from './service-config';
import { readSetting } from './settings';
import { readStorageConfig } from './storage-config';

/** The task queues of a worker, and how many submits per second all workers of a queue together may start. */
export interface WorkerQueues {
  taskQueue: string;
  submitQueue: string;
  /** That of the jobs if downloads have none of their own. */
  downloadQueue: string;
  submitsPerSecond: number | undefined;
}

export type WorkerQueueOptions = Partial<Omit<WorkerQueues, 'submitQueue'>>;

/** The queues as the options say, and as the environment says for what they leave open. */
export function resolveWorkerQueues(options: WorkerQueueOptions = {}, env?: Environment): WorkerQueues {
  const taskQueue = options.taskQueue ?? readSetting('VIDEOGEN_TASK_QUEUE', env);
  const submitQueue = submitQueueOf(taskQueue);
  const downloadQueue = options.downloadQueue ?? readSetting('VIDEOGEN_DOWNLOAD_QUEUE', env) ?? taskQueue;
  const submitsPerSecond = options.submitsPerSecond ?? readSetting('VIDEOGEN_SUBMITS_PER_SECOND', env);
  // Its worker would get tasks that it does not know.
  if (submitQueue === downloadQueue) {
    throw new ConfigError(
      `VIDEOGEN_DOWNLOAD_QUEUE is ${JSON.stringify(downloadQueue)}, the queue of the submits: name another queue.`,
    );
  }
  return { taskQueue, submitQueue, downloadQueue, submitsPerSecond };
}

/**
 * The task queue of `generate`, `batch` and `dev` on this machine's own server. Each pair of service and storage has its
 * own, so that a job never reaches a worker that calls another service or stores its video elsewhere.
 */
export function localTaskQueue(env?: Environment): string {
  const services = servicesInUse(env);
  const service = services === undefined ? 'emulator' : digestOf(services);
  const storage = digestOf(storageAddress(readStorageConfig(env)));
  return `${readSetting('VIDEOGEN_TASK_QUEUE', env)}-${service}-${storage}`;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
