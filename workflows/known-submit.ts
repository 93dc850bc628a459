import { ActivityFailure, CancellationScope, proxyActivities, TimeoutFailure } from '@temporalio/workflow';
import type { RecalledSubmit, SubmittedTask, VideoActivities } from '../activities';
import type { SubmitNote } from '../activities/submit/submit-note';
import { cleanText } from '../src/contract/clean-text';
import { RECALL_POLICY } from '../src/contract/policies';
import { describeTask } from '../src/contract/summaries';
import type { Job } from './job';
import { logJob } from './log-event';

/** What the last heartbeat of a submit that timed out says. */
export function lastNote(error: unknown): Partial<Record<keyof SubmitNote, unknown>> {
  const { cause } = error instanceof ActivityFailure ? error : {};
  return Object(cause instanceof TimeoutFailure ? cause.lastHeartbeatDetails : undefined);
}

/** Takes the task of an attempt that got its answer and could not return it. */
export async function recordNotedTask(job: Job, taskId: string): Promise<SubmittedTask> {
  const { task = { taskId, ...job.forService } } = await writeToRecord(job, taskId);
  job.recordSubmitted(task);
  return task;
}

/** Jobs that continue from no other one have none. */
export const withImage = ({ image }: Job) => (image === undefined ? {} : { image });

/** Reads the job record. */
export const recall = (job: Job) => useRecord(job);

/** Writes the task to the job record, for a later job with the same name and request. */
export const writeToRecord = (job: Job, taskId: string) => useRecord(job, taskId);

/** A storage that fails counts as one without a record. */
async function useRecord(job: Job, adopts?: string): Promise<Partial<RecalledSubmit>> {
  return CancellationScope.nonCancellable(async () => {
    try {
      const request = await job.loadRequest();
      const { recallSubmit } = proxyActivities<VideoActivities>({
        ...RECALL_POLICY,
        ...job.activityId('recall'),
        summary: job.titled(adopts === undefined ? 'read the job record' : describeTask(adopts)),
      });
      return await recallSubmit({
        ...job.named,
        ...job.forService,
        request,
        adopts,
        takesCost: true,
        ...withImage(job),
      });
    } catch (error) {
      logJob(job, 'recordNotRead', { error: cleanText(String(error)) });
      return {};
    }
  });
}
