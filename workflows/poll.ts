import { condition, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import { describeDuration } from '../src/contract/duration';
import { readFailure, VideoFailure } from '../src/contract/failures';
import type { CarriedJob, JobInput, TaskStatus } from '../src/contract/job';
import * as policy from '../src/contract/policies';
import type { Job } from './job';
import { continueWith, historyIsLong } from './runs';

/** The looks of a job that is alone in its workflow: a durable timer, then an activity. */
export function pollInOwnWorkflow(input: JobInput) {
  return async (job: Job, taskId: string): Promise<TaskStatus | undefined> => {
    if (historyIsLong(policy.LONGEST_HISTORY_EVENTS))
      await continueWith<JobInput, CarriedJob>(input, carriedOf(job));
    await sleepUntilNextPoll(job);
    const { pollVideo } = proxyActivities<VideoActivities>({
      ...policy.POLL_POLICY,
      scheduleToCloseTimeout: Math.max(job.remainingMs(), policy.POLL_AT_LEAST_MS),
      summary: `look ${job.observed.polls + 1}`,
    });
    return recordPoll(job, () => pollVideo({ taskId }));
  };
}

function carriedOf(job: Job): CarriedJob {
  return { ...job.carry(policy.LONGEST_CARRIED_TEXT_BYTES), warnedWords: [...job.host.warnedWords] };
}

/** A durable timer, cut short by `pollNow`. */
async function sleepUntilNextPoll(job: Job): Promise<void> {
  const waitMs = job.planNextPoll();
  if (waitMs === 0) return;
  await condition(() => job.pollRequested, waitMs, { summary: `next look in ${describeDuration(waitMs)}` });
  job.pollRequested = false;
}

/** One look. A fault while looking never ends a paid job: it is noted, shown, and looked past until the deadline. */
export async function recordPoll(job: Job, look: () => Promise<TaskStatus>): Promise<TaskStatus | undefined> {
  try {
    const seen = await look();
    job.recordStatus(seen);
    return seen;
  } catch (error) {
    if (isCancellation(error)) throw error;
    const failure = readFailure(error) ?? new VideoFailure('Unexpected', { message: String(error) });
    job.recordPollFailure(failure);
    if (failure.type === 'TaskUnknown' && job.taskIsGone()) throw error;
    return undefined;
  }
}
