import { condition, proxyActivities } from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import { describeDuration } from '../src/contract/duration';
import type { CarriedJob, JobInput, Look } from '../src/contract/job';
import * as policy from '../src/contract/policies';
import { continueLater } from './continue-later';
import { historyIsLong } from './history-length';
import type { JobState } from './job-state';
import { noted } from './noted-look';

/** The looks of a job that is alone in its workflow: a durable timer, then an activity. */
export function ownLooks(input: JobInput) {
  return async (job: JobState, taskId: string): Promise<Look | undefined> => {
    if (historyIsLong(policy.LONGEST_HISTORY_EVENTS))
      await continueLater<JobInput, CarriedJob>(input, carriedOf(job));
    await untilNextLook(job);
    const { checkVideo } = proxyActivities<VideoActivities>({
      ...policy.CHECK_POLICY,
      scheduleToCloseTimeout: Math.max(job.remainingMs(), policy.CHECK_AT_LEAST_MS),
      summary: `look ${job.seen.polls + 1}`,
    });
    return noted(job, () => checkVideo({ taskId }));
  };
}

function carriedOf(job: JobState): CarriedJob {
  return { ...job.carry(policy.LONGEST_CARRIED_TEXT_BYTES), warnedWords: [...job.place.warnedWords] };
}

/** A durable timer, cut short by `lookNow`. */
async function untilNextLook(job: JobState): Promise<void> {
  const waitMs = job.planNextLook();
  if (waitMs === 0) return;
  await condition(() => job.lookRequested, waitMs, { summary: `next look in ${describeDuration(waitMs)}` });
  job.lookRequested = false;
}
