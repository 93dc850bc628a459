import { condition, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import type { CarriedJob } from '../src/contract/carried-over';
import { describeDuration } from '../src/contract/duration';
import type { JobInput, TaskStatus } from '../src/contract/job';
import {
  LONGEST_CARRIED_TEXT_BYTES,
  LONGEST_HISTORY_EVENTS,
  POLL_AT_LEAST_MS,
  POLL_POLICY,
} from '../src/contract/policies';
import { createFailure, readFailure, VideoFailure } from '../src/contract/video-failure';
import type { Job } from './job';
import { namesReceiver } from './notify';
import { continueWith, historyIsLong } from './runs';

/** How a job polls its task: alone in its workflow, or together with the other items of a batch. */
export interface Poller {
  /** Ends this run and starts the next when the history is long. */
  continueAsNewIfLong(job: Job): Promise<void>;
  /** Sleeps until the next poll is due, then polls. Returns undefined when the poll failed. */
  nextStatus(job: Job, taskId: string): Promise<TaskStatus | undefined>;
}

export function ownPoller(input: JobInput): Poller {
  return {
    async continueAsNewIfLong(job) {
      if (!historyIsLong(LONGEST_HISTORY_EVENTS)) return;
      await continueWith<JobInput, CarriedJob>(input, {
        ...job.carry(LONGEST_CARRIED_TEXT_BYTES),
        warnedWords: [...job.host.warnedWords],
      });
    },
    async nextStatus(job, taskId) {
      await sleepUntilNextPoll(job);
      const { pollVideo } = proxyActivities<VideoActivities>({
        ...POLL_POLICY,
        scheduleToCloseTimeout: Math.max(job.remainingMs(), POLL_AT_LEAST_MS),
        summary: `poll ${job.observed.polls + 1}`,
      });
      return recordPoll(job, () => pollVideo({ taskId }));
    },
  };
}

/** A durable timer that `pollNow` cuts short. */
async function sleepUntilNextPoll(job: Job): Promise<void> {
  const delayMs = job.planNextPoll();
  if (delayMs === 0) return;
  await condition(() => job.pollRequested, delayMs, { summary: `next poll in ${describeDuration(delayMs)}` });
  job.pollRequested = false;
}

/** Polling errors never fail a paid job: it records them and keeps polling until the deadline. */
export async function recordPoll(job: Job, poll: () => Promise<TaskStatus>): Promise<TaskStatus | undefined> {
  try {
    const status = await poll();
    job.recordStatus(status);
    return status;
  } catch (error) {
    if (isCancellation(error)) throw error;
    job.recordReceiver(namesReceiver(error));
    const failure = readFailure(error) ?? new VideoFailure('Unexpected', { message: String(error) });
    job.recordPollFailure(failure);
    if (failure.type === 'TaskUnknown' && job.taskIsGone()) throw error;
    return undefined;
  }
}

/** Whether the video can be downloaded. Throws when the task ended without one. */
export function isReady(job: Job, status: TaskStatus | undefined): boolean {
  switch (status?.state) {
    case 'succeeded':
      if (!status.hasVideo && job.observed.videoIsMissing) throw createFailure('NoVideo');
      return status.hasVideo;
    case 'failed':
      throw createFailure('GenerationFailed', { code: status.code, message: status.message ?? status.word });
    case 'cancelled':
      throw createFailure('GenerationCancelled', {
        code: status.code,
        message: status.message ?? status.word,
      });
    default:
      return false;
  }
}
