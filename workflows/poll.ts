import {
  CancellationScope,
  condition,
  isCancellation,
  metricMeter,
  proxyActivities,
  proxyLocalActivities,
  TemporalFailure,
} from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import { describeDuration, durationMs } from '../src/contract/duration';
import type { JobInput, TaskStatus } from '../src/contract/job';
import { observe } from '../src/contract/metrics';
import {
  FAILED_POLL_LEAST_MS,
  FAILED_POLL_MOST_MS,
  LOCAL_POLL_POLICY,
  LONGEST_HISTORY_EVENTS,
  POLL_AT_LEAST_MS,
  POLL_POLICY,
  POLLS_WITHOUT_VIDEO,
  RETRY_AFTER_MAX_MS,
} from '../src/contract/policies';
import { createFailure, describeEvent, readFailure, VideoFailure } from '../src/contract/video-failure';
import type { Job } from './job';
import { logJob } from './log-event';
import { type CarriedJob, continueWith, historyIsLong } from './runs';

/** Polls the task until its video can be downloaded. */
export async function pollUntilReady(job: Job): Promise<void> {
  const taskId = job.ownTaskId;
  job.enter('waiting');
  for (;;) {
    if (historyIsLong(LONGEST_HISTORY_EVENTS))
      await continueWith<JobInput, CarriedJob>(job.input, job.carry(), { taskId, polls: job.known.polls });
    await sleepUntilNextPoll(job);
    const status = await pollOnce(job, taskId);
    if (status !== undefined && isReady(job, status)) {
      // We don't know when an adopted task started.
      if (!job.known.isAdopted) {
        observe(metricMeter, 'videogen_generation_seconds', job.waitedMs() / 1_000);
        observe(metricMeter, 'videogen_ready_lag_seconds', job.lagMs / 1_000);
      }
      logJob(job, 'ready', { polls: job.known.polls, waitedMs: job.waitedMs() });
      return;
    }
    if (job.remainingMs() === 0) throw createFailure('DeadlineExceeded', { message: lastSeen(job) });
  }
}

/** Explains a passed deadline. */
function lastSeen({ known: { problem, task } }: Job): string {
  if (problem) return problem.message;
  return task ? `the task was last seen ${task.word || task.state}` : 'the task was never seen';
}

/** A durable timer that `pollNow` cuts short. The last poll is at the deadline. */
async function sleepUntilNextPoll(job: Job): Promise<void> {
  const { problem, retryAfterMs = 0, nextPollMs } = job.known;
  const wantedMs = problem ? backoffMs(job, problem.count) : nextPollMs;
  const askedMs = Math.min(retryAfterMs, RETRY_AFTER_MAX_MS);
  const delayMs = Math.min(Math.max(wantedMs, askedMs), job.remainingMs());
  job.planPoll(delayMs);
  if (delayMs === 0) return;
  await condition(() => job.known.pollRequested, delayMs, {
    summary: `next poll in ${describeDuration(delayMs)}`,
  });
  job.known.pollRequested = false;
}

/** Longer after each failure in a row: soon after the first, which says nothing about the task, and as seldom as the job wants. */
function backoffMs({ input: { polling } }: Job, failures: number): number {
  const leastMs = Math.max(durationMs(polling?.min ?? undefined) ?? 0, FAILED_POLL_LEAST_MS);
  return Math.max(leastMs, Math.min(leastMs * 2 ** Math.min(failures, 16), FAILED_POLL_MOST_MS));
}

/**
 * Polling errors never fail a paid job: it records them and keeps polling until the deadline.
 *
 * A local activity costs half the events. Its workflow task is open meanwhile, so it has little time; if the service did not
 * answer, the same poll is made by a regular one. So is the last poll, with more attempts: a fault of a second must not end a
 * paid job.
 */
async function pollOnce(job: Job, taskId: string): Promise<TaskStatus | undefined> {
  const { service, record, kind, polls, polledMs, progress } = job.known;
  const { sharedCap, caller, polling } = job.input;
  const waiting = { kind, waitedMs: job.waitedMs(), polledMs, progress, polling };
  const asked = { taskId, service, record, sharedCap, caller, ...waiting };
  const summary = `poll ${polls + 1}`;
  const local = proxyLocalActivities<VideoActivities>({ ...LOCAL_POLL_POLICY, summary });
  const pollRegularly = () => {
    const scheduleToCloseTimeout = Math.max(job.remainingMs(), POLL_AT_LEAST_MS);
    const regular = proxyActivities<VideoActivities>({ ...POLL_POLICY, scheduleToCloseTimeout, summary });
    return regular.pollVideo(asked);
  };
  const pollAgain = (error: unknown) => {
    if (isFinal(error)) throw error;
    return pollRegularly();
  };
  try {
    const isLast = job.remainingMs() === 0;
    const status = await (isLast ? pollRegularly() : local.pollVideo(asked).catch(pollAgain));
    job.recordStatus(status);
    return status;
  } catch (error) {
    if (isCancellation(error) || isBug(error)) throw error;
    const failure = readFailure(error) ?? new VideoFailure('Unexpected', { message: String(error) });
    const { type: failureType, details, advice } = failure;
    if (job.known.problem?.type !== failureType)
      logJob(job, 'pollsFailing', { failureType, reason: describeEvent(failureType, details), advice });
    job.recordPollFailure(failure);
    // An adopted task that was never seen does not exist. The job's own does, whatever the service says of it for a while.
    if (failureType === 'TaskUnknown' && job.known.isAdopted && job.known.task === undefined) throw error;
    return undefined;
  }
}

/**
 * Whether a local poll need not be made again by another worker: the service answered, somebody cancelled the job, or it is a
 * bug. A worker without a cache, or one that ends, gives a local activity up as cancelled although nobody cancelled the job;
 * one that lacks the service does not reach it.
 */
function isFinal(error: unknown): boolean {
  if (isCancellation(error)) return CancellationScope.current().consideredCancelled;
  const { type = 'ServiceUnreachable' } = readFailure(error) ?? {};
  return isBug(error) || type !== 'ServiceUnreachable';
}

/**
 * Not the failure of an activity: a worker that lacks the activity, for one. Temporal then tries the workflow task again until
 * a better worker takes it. A job that recorded it would not replay, because the SDK throws it only the first time.
 */
function isBug(error: unknown): boolean {
  return !(error instanceof TemporalFailure);
}

/** Whether the video can be downloaded. Throws when the task ended without one. */
function isReady({ known: { problem } }: Job, status: TaskStatus): boolean {
  switch (status.state) {
    case 'succeeded':
      if (problem && problem.count >= POLLS_WITHOUT_VIDEO) throw createFailure('NoVideo');
      return status.hasVideo;
    case 'failed':
      throw createFailure(status.refused ? 'ContentRefused' : 'GenerationFailed', {
        ...status.refused,
        code: status.code,
        message: status.message ?? status.word,
      });
    case 'cancelled':
      throw createFailure('GenerationCancelled', {
        code: status.code,
        message: status.message ?? status.word,
      });
    default:
      return false;
  }
}
