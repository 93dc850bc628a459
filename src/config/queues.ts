import { createHash } from 'node:crypto';
import { DEFAULT_TASK_QUEUE, submitQueueOf } from '../contract/names';
import { storageAddress } from '../storage';
import { ConfigError, type Environment, quoted, readerOf, type SettingGroup, text } from './read-setting';
import { servicesInUse } from './services-config';
import { readStorageConfig } from './storage-config';

export const QUEUE_SETTINGS = {
  VIDEOGEN_TASK_QUEUE: {
    type: text.min(1, 'is empty').default(DEFAULT_TASK_QUEUE),
    meaning: 'Task queue of worker and client.',
    fix: `name a task queue, or unset it for ${DEFAULT_TASK_QUEUE}`,
    refusesBlank: true,
  },
  VIDEOGEN_DOWNLOAD_QUEUE: {
    type: text.optional(),
    meaning:
      'Task queue of the downloads, for workers. [More](deployment.md#workers-for-one-part-of-the-work)',
    unset: "the jobs' own",
  },
  VIDEOGEN_SUBMITS_PER_SECOND: {
    type: text
      .refine((given) => isPositive(Number(given)), quoted)
      .transform(Number)
      .optional(),
    meaning: 'How many submits per second all workers of a queue together may start. [More](rate-limits.md)',
    unset: 'no limit',
    fix: 'give a number above 0, such as 2 or 0.5, or unset it',
  },
} satisfies SettingGroup;

const read = readerOf(QUEUE_SETTINGS);

const isPositive = (value: number) => value > 0 && value < Number.POSITIVE_INFINITY;

/** The task queue of jobs, as the environment says. */
export function readTaskQueue(env?: Environment): string {
  return read('VIDEOGEN_TASK_QUEUE', env);
}

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
  const taskQueue = options.taskQueue ?? readTaskQueue(env);
  const submitQueue = submitQueueOf(taskQueue);
  const downloadQueue = options.downloadQueue ?? read('VIDEOGEN_DOWNLOAD_QUEUE', env) ?? taskQueue;
  const submitsPerSecond = options.submitsPerSecond ?? read('VIDEOGEN_SUBMITS_PER_SECOND', env);
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
  return `${localQueuePrefix(env)}${digestOf(storageAddress(readStorageConfig(env)))}`;
}

/** The start of the local queues of the services in use, whatever the storage is. */
export function localQueuePrefix(env?: Environment): string {
  const services = servicesInUse(env);
  const service = services === undefined ? 'emulator' : digestOf(services);
  return `${read('VIDEOGEN_TASK_QUEUE', env)}-${service}-`;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
