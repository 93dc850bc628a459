import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  TemporalFailure,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import type { NotHere } from '../activities/service-tools';
import type { CarriedJob } from '../src/contract/carried-over';
import { describeDuration } from '../src/contract/duration';
import type { JobInput, TaskStatus } from '../src/contract/job';
import {
  LOCAL_POLL_POLICY,
  LONGEST_CARRIED_TEXT_BYTES,
  LONGEST_HISTORY_EVENTS,
  POLL_AT_LEAST_MS,
  POLL_POLICY,
  QUICK_POLL_MS,
} from '../src/contract/policies';
import { createFailure, describeEvent, readFailure, VideoFailure } from '../src/contract/video-failure';
import type { Job } from './job';
import { logJob } from './log-event';
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
  const pace = new PollPace();
  return {
    async continueAsNewIfLong(job) {
      if (!historyIsLong(LONGEST_HISTORY_EVENTS)) return;
      const carried = {
        ...job.carry(LONGEST_CARRIED_TEXT_BYTES),
        warnedWords: [...job.host.warnedWords],
      };
      await continueWith<JobInput, CarriedJob>(input, carried, {
        taskId: job.taskId,
        polls: job.observed.polls,
      });
    },
    async nextStatus(job, taskId) {
      await sleepUntilNextPoll(job);
      const summary = `poll ${job.observed.polls + 1}`;
      const asked = { taskId, takesCost: true, ...job.forService } as const;
      const local = proxyLocalActivities<VideoActivities>({ ...LOCAL_POLL_POLICY, summary });
      // Made when it is needed: a local poll before it takes time.
      const regular = () =>
        proxyActivities<VideoActivities>({
          ...POLL_POLICY,
          scheduleToCloseTimeout: Math.max(job.remainingMs(), POLL_AT_LEAST_MS),
          summary,
        });
      return recordPoll(job, () =>
        pace.poll({
          // The last poll gets more attempts: a fault of a second must not end a paid job.
          mayBeLocal: job.remainingMs() > 0,
          locally: () => local.pollVideo(asked).catch(undefinedIfUnanswered),
          regularly: () => regular().pollVideo(asked),
        }),
      );
    },
  };
}

/** Two ways to poll. `locally` returns undefined if it got no answer in time. */
interface PollWays<Answer> {
  mayBeLocal: boolean;
  locally(): Promise<Answer | undefined>;
  regularly(): Promise<Answer>;
}

/**
 * Whether the next poll is a local or a regular activity, by how long the last one took. It is not carried over: the next run
 * finds it out with its first poll.
 */
export class PollPace {
  private isQuick = true;

  async poll<Answer>({ mayBeLocal, locally, regularly }: PollWays<Answer>): Promise<Answer> {
    const answer = this.isQuick && mayBeLocal ? await this.measure(locally) : undefined;
    return answer ?? this.measure(regularly);
  }

  private async measure<T>(poll: () => Promise<T>): Promise<T> {
    const startedAtMs = Date.now();
    try {
      return await poll();
    } finally {
      this.isQuick = Date.now() - startedAtMs <= QUICK_POLL_MS;
    }
  }
}

/**
 * For a local activity: its timeout says nothing about the task. The SDK wraps the timeout, except in a replay. A worker
 * without a cache, or one that ends, may give a local activity up as cancelled although nobody cancelled the job. The worker
 * that has the job in memory may lack its service, and would be the only one that is ever asked.
 */
export function undefinedIfUnanswered(error: unknown): undefined {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const isGivenUp = isCancellation(error) && !CancellationScope.current().consideredCancelled;
  if (!(cause instanceof TimeoutFailure || isGivenUp || mayBeElsewhere(cause))) throw error;
}

function mayBeElsewhere(cause: unknown): boolean {
  const [, note] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  const { mayBeElsewhere }: Partial<NotHere> = Object(note);
  return mayBeElsewhere === true;
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
    if (job.observed.problem) logJob(job, 'pollsRecovered', { failedPolls: job.observed.problem.count });
    job.recordStatus(status);
    return status;
  } catch (error) {
    if (isCancellation(error) || isBug(error)) throw error;
    job.recordReceiver(namesReceiver(error));
    const failure = readFailure(error) ?? new VideoFailure('Unexpected', { message: String(error) });
    if (job.observed.problem?.type !== failure.type) logPollFailure(job, failure);
    job.recordPollFailure(failure);
    if (failure.type === 'TaskUnknown' && job.taskIsGone()) throw error;
    return undefined;
  }
}

function logPollFailure(job: Job, { type: failureType, details, advice }: VideoFailure): void {
  logJob(job, 'pollsFailing', { failureType, reason: describeEvent(failureType, details), advice });
}

/**
 * Not the failure of an activity: a worker that lacks the activity, for one. Temporal then tries the workflow task again until
 * a better worker takes it. A job that recorded it would not replay, because the SDK throws it only the first time.
 */
export function isBug(error: unknown): boolean {
  return !(error instanceof TemporalFailure);
}

/** Whether the video can be downloaded. Throws when the task ended without one. */
export function isReady(job: Job, status: TaskStatus | undefined): boolean {
  switch (status?.state) {
    case 'succeeded':
      if (!status.hasVideo && job.observed.videoIsMissing) throw createFailure('NoVideo');
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
