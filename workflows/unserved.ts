import { CancellationScope, proxyLocalActivities, sleep } from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import { ASK_WORKER_POLICY } from '../src/contract/policies';
import type { Job } from './job';

/** When a job asks whether anybody serves the queue on which it waits. */
const ASK_AFTER_MS = 45_000;

/**
 * Shows that nobody serves a queue on which work of the job waits. It asks only if the process of this workflow does not serve it
 * itself: all others would pay for the timer.
 */
export async function noticeUnserved<T>(
  job: Job,
  queue: string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (queue === undefined || job.known.route?.servedHere) return work();
  const watching = new CancellationScope();
  // Once: a server that does not tell is not asked again.
  const retry = { maximumAttempts: 1 };
  const { isServed } = proxyLocalActivities<VideoActivities>({ ...ASK_WORKER_POLICY, retry, summary: queue });
  const watch = async () => {
    await sleep(ASK_AFTER_MS);
    if (!(await isServed({ queue }))) job.showUnserved(queue);
  };
  // Only told: it changes nothing about the work.
  watching.run(watch).catch(() => undefined);
  try {
    return await work();
  } finally {
    watching.cancel();
    job.showUnserved(undefined);
  }
}
