import { randomUUID } from 'node:crypto';
import { temporal } from '@temporalio/proto';
import type { VideoJob } from '../../src/client/video-job';
import { RateLimiter } from '../../src/service';
import type { VideoTestEnvironment } from '../../src/testing';
import { bundlePath, pause, type World } from './world';

/** On a server of several partitions the order of a queue holds within each. */
export const ONE_PARTITION = {
  'matching.numTaskqueueReadPartitions': '1',
  'matching.numTaskqueueWritePartitions': '1',
};

export async function pendingSubmit(env: VideoTestEnvironment, { workflowId }: VideoJob) {
  const { raw } = await env.temporal.client.workflow.getHandle(workflowId).describe();
  return raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'submitVideo');
}

/** Until the submits of all these jobs wait in Temporal. */
export async function untilWaiting(env: VideoTestEnvironment, jobs: readonly VideoJob[]): Promise<void> {
  for (const job of jobs) while ((await pendingSubmit(env, job)) === undefined) await pause();
}

/** Until their submits are all in the queue, which has no worker yet: one that is pending may still be on its way there. */
export async function untilQueued(
  env: VideoTestEnvironment,
  submitQueue: string,
  jobs: readonly VideoJob[],
): Promise<void> {
  // The server counts anew only every few seconds, so it is asked when the count is likely right.
  await untilWaiting(env, jobs);
  const { connection, options } = env.temporal.client;
  for (;;) {
    const { stats } = await connection.workflowService.describeTaskQueue({
      namespace: options.namespace,
      taskQueue: { name: submitQueue },
      taskQueueType: temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
      reportStats: true,
    });
    if (Number(stats?.approximateBacklogCount ?? 0) === jobs.length) return;
    await pause();
  }
}

/** Two submits at once would reach the service in either order. */
class OneAtATime extends RateLimiter {
  override submitAllowance(): number {
    return Math.min(1, super.submitAllowance());
  }
}

/** Works on a submit queue alone, with a rate limiter that has met a limit just now: one submit at a time, after a second. */
export async function startSubmitting(
  env: VideoTestEnvironment,
  world: World,
  submitQueue: string,
): Promise<() => Promise<void>> {
  const rateLimiter = new OneAtATime();
  const permit = rateLimiter.acquire('submit');
  if (permit.granted) permit.release({ kind: 'limited' });
  const worker = await env.createWorker({
    taskQueue: `unused-${randomUUID()}`,
    submitQueue,
    rateLimiter,
    service: world.service,
    worker: { workflowBundle: { codePath: bundlePath() } },
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
  };
}
