import { randomUUID } from 'node:crypto';
import { RateGate } from '../../src/service';
import type { VideoTestEnvironment } from '../../src/testing';
import type { VideoJob } from '../../src/video-job';
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

/** Works on a submit queue alone, with a gate that has met a limit just now: one submit at a time, after a second. */
export async function startSubmitting(
  env: VideoTestEnvironment,
  world: World,
  submitQueue: string,
): Promise<() => Promise<void>> {
  const gate = new RateGate();
  const entry = gate.enter('submit');
  if (entry.open) entry.leave({ kind: 'limited' });
  const worker = await env.createWorker({
    taskQueue: `unused-${randomUUID()}`,
    submitQueue,
    gate,
    service: world.service,
    worker: { workflowBundle: { codePath: bundlePath() } },
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
  };
}
