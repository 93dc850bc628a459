import type { Worker, WorkerOptions } from '@temporalio/worker';
import type { WorkerQueues } from '../config/queues';
import { submitTuner } from './submit-slots';
import type { VideoWork } from './video-work';

/**
 * After a shutdown signal, what runs may finish for this long. A download is then given up (another worker takes it
 * over); a submit is waited for even longer, because its answer names a paid task.
 */
const SHUTDOWN_GRACE_TIME = '20s';

/** A cancelled download learns of it with its next heartbeat; the SDK's own bound would be most of the heartbeat timeout. */
const HEARTBEAT_THROTTLE = '5s';

/** With what our activities need of any worker that does them, where it is not set. */
export function withOwnDefaults<Options extends Partial<WorkerOptions>>(options: Options): Options {
  return {
    ...options,
    shutdownGraceTime: options.shutdownGraceTime ?? SHUTDOWN_GRACE_TIME,
    maxHeartbeatThrottleInterval: options.maxHeartbeatThrottleInterval ?? HEARTBEAT_THROTTLE,
  };
}

/** A POST takes a second or so; more at once would only find a service's limit sooner. */
const MOST_SUBMITS_AT_ONCE = 8;

/** Each has its disk and its share of the line. */
const MOST_DOWNLOADS_AT_ONCE = 10;

export interface ActivityWorker {
  role: 'submits' | 'downloads';
  options: Partial<WorkerOptions> & { taskQueue: string };
}

/** The workers of one kind of activity each that the queues ask for, beside the worker of the jobs. */
export function activityWorkers(
  { activities, rateLimiter }: VideoWork,
  queues: WorkerQueues,
): ActivityWorker[] {
  const { taskQueue, submitQueue, downloadQueue, submitsPerSecond } = queues;
  const workers: ActivityWorker[] = [
    {
      role: 'submits',
      options: {
        taskQueue: submitQueue,
        activities: { submitVideo: activities.submitVideo },
        tuner: submitTuner(rateLimiter, MOST_SUBMITS_AT_ONCE),
        maxTaskQueueActivitiesPerSecond: submitsPerSecond,
      },
    },
    {
      role: 'downloads',
      options: {
        taskQueue: downloadQueue,
        activities: { downloadVideo: activities.downloadVideo },
        maxConcurrentActivityTaskExecutions: MOST_DOWNLOADS_AT_ONCE,
      },
    },
  ];
  return workers.filter(({ options }) => options.taskQueue !== taskQueue);
}

/** What was set for a worker's own workflows and activities is not for those that only submit or download. */
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

/** One that ends takes the others with it: half a worker would leave jobs waiting without a word. */
export async function runTogether(workers: readonly Worker[]): Promise<void> {
  await untilAllEnded(workers.map((worker) => worker.run().finally(() => shutDown(workers))));
}

/** Runs the others while the given one runs, which is told to end when one of them does. */
export async function runBeside(
  worker: Worker,
  running: Promise<void>,
  createOthers: () => Promise<Worker[]>,
): Promise<void> {
  let others: Worker[] = [];
  let isOver = false;
  const endOthers = () => {
    isOver = true;
    shutDown(others);
  };
  const runOthers = async () => {
    others = await createOthers();
    const ended = runTogether(others);
    if (isOver) shutDown(others);
    await ended;
  };
  await untilAllEnded([running.finally(endOthers), runOthers().finally(() => shutDown([worker]))]);
}

export function shutDown(workers: readonly Worker[]): void {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}

/** Rejects with the first failure, and not before everything has ended. */
async function untilAllEnded(running: Promise<void>[]): Promise<void> {
  try {
    await Promise.all(running);
  } finally {
    await Promise.allSettled(running);
  }
}
