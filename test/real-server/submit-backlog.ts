import { temporal } from '@temporalio/proto';
import type { VideoJob } from '../../src/client/video-job';
import { RateLimiter } from '../../src/service';
import type { VideoTestEnvironment } from '../../src/testing';
import { pause, quickWorkflows, type World } from '../support/world';

/** A queue is ordered only within a partition. */
export const ONE_PARTITION = {
  'matching.numTaskqueueReadPartitions': '1',
  'matching.numTaskqueueWritePartitions': '1',
};

export async function pendingSubmit(env: VideoTestEnvironment, { workflowId }: VideoJob) {
  const { raw } = await env.temporal.client.workflow.getHandle(workflowId).describe();
  return raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'submitVideo');
}

/** Waits until the submits of all these jobs are pending. */
export async function untilWaiting(env: VideoTestEnvironment, jobs: readonly VideoJob[]): Promise<void> {
  for (const job of jobs) while ((await pendingSubmit(env, job)) === undefined) await pause();
}

/** Waits until all submits are in the queue, which has no worker yet: a pending one may not be there yet. */
export async function untilQueued(
  env: VideoTestEnvironment,
  submitQueue: string,
  jobs: readonly VideoJob[],
): Promise<void> {
  // The server updates its count only every few seconds, so ask once it is likely right.
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

/** Two concurrent submits could reach the service in either order. */
class OneAtATime extends RateLimiter {
  override submitAllowance(): number {
    return Math.min(1, super.submitAllowance());
  }
}

/** Runs a worker for a submit queue only. Its rate limiter has just met a limit: one submit at a time, after a second. */
export async function startSubmitting(
  env: VideoTestEnvironment,
  world: World,
  submitQueue: string,
): Promise<() => Promise<void>> {
  const rateLimiter = new OneAtATime();
  const permit = rateLimiter.acquire('submit');
  if (permit.granted) permit.release({ kind: 'limited' });
  const worker = await env.createWorker({
    taskQueue: submitQueue.replace(/-submit$/, ''),
    roles: ['submits'],
    rateLimiters: { of: () => rateLimiter },
    service: world.service,
    worker: quickWorkflows(),
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
  };
}
