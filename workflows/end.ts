import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  isCancellation,
  metricMeter,
  proxyActivities,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import { fromTemporalType } from '../src/contract/failure-table';
import { mergeCosts, withLostSubmits } from '../src/contract/job-cost';
import { mayHaveMadeTask } from '../src/contract/lost-submit';
import { count, type JobOutcome, observe } from '../src/contract/metrics';
import { BRIEF_POLICY } from '../src/contract/policies';
import { describeTask } from '../src/contract/summaries';
import {
  createFailure,
  describeEvent,
  lastAttemptThatRan,
  readFailure,
  VideoFailure,
} from '../src/contract/video-failure';
import type { Job } from './job';
import { logJob } from './log-event';

/** Turns what ended a job into the failure its caller gets. */
export async function explainFailure(job: Job, error: unknown): Promise<unknown> {
  if (error instanceof ContinueAsNew) return error;
  const failure = failureOf(error, job);
  // A bug in the workflow: Temporal keeps the job until a worker with the fix replays it.
  if (failure === undefined) return error;

  const atService = failure.type === 'Cancelled' ? await cancelAtService(job) : undefined;
  job.markFailed(failure, atService);
  measureEnd(job);
  const { type: failureType, details, advice } = failure;
  if (failureType === 'Cancelled') logJob(job, 'cancelled', { atService });
  else logJob(job, 'failed', { failureType, reason: describeEvent(failureType, details), advice });
  return thrown(failure, error instanceof ActivityFailure ? { cause: error } : {});
}

/** A cancelled workflow throws Temporal's own cancellation. */
export function thrown({ type, message, details }: VideoFailure, options: { cause?: Error } = {}): unknown {
  return type === 'Cancelled' ? new CancelledFailure(message) : createFailure(type, details, options);
}

/** Metrics are no commands, so histories stay as they are. The SDK's meter drops what a replay measures again. */
export function measureEnd(job: Job): void {
  const { taskId, polls, startedAtMs } = job.known;
  const outcome: JobOutcome = job.failure?.type ?? 'succeeded';
  count(metricMeter, 'videogen_jobs_total', { outcome });
  observe(metricMeter, 'videogen_job_duration_seconds', (Date.now() - startedAtMs) / 1_000, { outcome });
  if (taskId !== undefined) observe(metricMeter, 'videogen_job_polls', polls);
}

function failureOf(error: unknown, { known, hold }: Job): VideoFailure | undefined {
  const { taskId, service, cost } = known;
  if (isCancellation(error) || wasNotRetriedBecauseCancelled(error))
    return new VideoFailure('Cancelled', { taskId });
  const failure = readFailure(error) ?? activityFailure(error);
  if (failure === undefined) return undefined;
  const { type, details } = failure;
  const repeated = hold.repeats.length;
  const told = mergeCosts(details.cost, cost);
  const lostSubmits = Math.max(repeated + (type === 'SubmitUnconfirmed' ? 1 : 0), told?.lostSubmits ?? 0);
  const spent = taskId === undefined ? withLostSubmits(told, lostSubmits) : told;
  return new VideoFailure(type, {
    ...details,
    taskId,
    // However the repeated one ended, the lost one may have made a task.
    ...(taskId === undefined && repeated > 0 && { mayHaveTask: true }),
    ...(service && { service }),
    ...(spent && { cost: spent }),
  });
}

function activityFailure(error: unknown): VideoFailure | undefined {
  if (!(error instanceof ActivityFailure)) return undefined;
  switch (readTimeout(error)) {
    case 'never-started':
      return new VideoFailure('DeadlineExceeded', {
        message: `no worker started ${error.activityType}; is a worker running on its task queue?`,
      });
    case 'never-decrypted':
      return new VideoFailure('DeadlineExceeded', {
        message: `no worker could decrypt the input of ${error.activityType}; do all workers have the same keys?`,
      });
    case undefined:
      return new VideoFailure('Unexpected', { message: String(error.cause) });
    default:
      return new VideoFailure('DeadlineExceeded');
  }
}

/**
 * When an activity timed out: before any worker started it; before any worker could decrypt its input; while it waited for its
 * next attempt after one that failed by itself, and as a submit made no task; or while an attempt may have run. Undefined when
 * it did not time out.
 *
 * The SDK's TimeoutFailure does not have the failure of the last attempt, so the server's own failure is read. A running
 * attempt has a started event. An activity that was never started has neither a heartbeat nor an earlier failure; where we
 * set no limit for the start, the server uses the limit of the whole activity and reports SCHEDULE_TO_START.
 */
export function readTimeout(
  error: unknown,
): 'never-started' | 'never-decrypted' | 'between-attempts' | 'while-running' | undefined {
  if (!(error instanceof ActivityFailure)) return undefined;
  const { cause, failure, retryState } = error;
  if (!(cause instanceof TimeoutFailure)) {
    // When no further attempt fits into its time, an activity ends with the failure of the last one.
    const isOver = cause instanceof ApplicationFailure && retryState === 'TIMEOUT';
    const lastRun = isOver ? lastAttemptThatRan(cause.type) : undefined;
    return lastRun === undefined ? undefined : lastRun === 0 ? 'never-decrypted' : 'while-running';
  }
  const reported = failure?.cause?.cause;
  // The server puts a failure that it cut for its size into one of its own.
  const lastFailure = reported?.serverFailureInfo && reported.cause ? reported.cause : reported;
  const isRunning = Number(failure?.activityFailureInfo?.startedEventId ?? 0) > 0;
  const lastType = isRunning ? undefined : lastFailure?.applicationFailureInfo?.type;
  if (lastAttemptThatRan(lastType) === 0) return 'never-decrypted';
  const type = fromTemporalType(lastType);
  if (type !== undefined && !mayHaveMadeTask(type)) return 'between-attempts';
  const { timeoutType, lastHeartbeatDetails } = cause;
  const wasStarted =
    timeoutType !== 'SCHEDULE_TO_START' || lastHeartbeatDetails != null || lastFailure != null;
  return wasStarted ? 'while-running' : 'never-started';
}

/**
 * After a cancellation Temporal does not retry a failed attempt. That counts as cancelled, unless the failure would have
 * ended the job anyway: a lost submit says more than the cancellation.
 */
function wasNotRetriedBecauseCancelled(error: unknown): boolean {
  if (!(error instanceof ActivityFailure) || error.retryState !== 'CANCEL_REQUESTED') return false;
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure)) return true;
  return !cause.nonRetryable && fromTemporalType(cause.type) !== 'SubmitUnconfirmed';
}

const CANCEL_OUTCOMES = {
  asked: 'The service was asked to cancel the task.',
  refused: 'The service refused to cancel the task and may still finish it.',
  unreachable: 'The service could not be reached to cancel the task and may still finish it.',
  'not-offered': 'The service has no call to cancel a task and may still finish it.',
};

/** Asks the service to cancel the task; returns a sentence for the Temporal UI. */
async function cancelAtService(job: Job): Promise<string | undefined> {
  const { taskId, service } = job.known;
  if (taskId === undefined || job.phase !== 'waiting') return undefined;
  const { cancelVideo } = proxyActivities<VideoActivities>({
    ...BRIEF_POLICY,
    summary: describeTask(taskId),
  });
  return CancellationScope.nonCancellable(async () => {
    const answer = await cancelVideo({ taskId, service }).catch(() => 'unreachable' as const);
    return CANCEL_OUTCOMES[answer];
  });
}
