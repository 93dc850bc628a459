import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { type FailureType, fromTemporalType } from '../src/contract/failure-table';
import { lastAttemptThatRan } from '../src/contract/video-failure';

/** How an activity timed out; `last` is how its last attempt failed by itself, if it did. */
export interface ActivityTimeout {
  during: 'never-started' | 'never-decrypted' | 'between-attempts' | 'while-running';
  last?: FailureType;
}

/**
 * When an activity timed out: before any worker started it; before any worker could decrypt its input; while it waited for its
 * next attempt after one that failed by itself; or while an attempt may have run. Undefined when it did not time out.
 *
 * The SDK's TimeoutFailure does not have the failure of the last attempt, so the server's own failure is read. A running
 * attempt has a started event. An activity that was never started has neither a heartbeat nor an earlier failure; where we
 * set no limit for the start, the server uses the limit of the whole activity and reports SCHEDULE_TO_START.
 */
export function readTimeout(error: unknown): ActivityTimeout | undefined {
  if (!(error instanceof ActivityFailure)) return undefined;
  if (!(error.cause instanceof TimeoutFailure)) return readUndecrypted(error);
  const { timeoutType, lastHeartbeatDetails } = error.cause;
  const reported = error.failure?.cause?.cause;
  // The server puts a failure that it cut for its size into one of its own.
  const lastFailure = reported?.serverFailureInfo && reported.cause ? reported.cause : reported;
  const isRunning = Number(error.failure?.activityFailureInfo?.startedEventId ?? 0) > 0;
  if (lastFailure?.applicationFailureInfo && !isRunning) {
    if (lastAttemptThatRan(lastFailure.applicationFailureInfo.type) === 0)
      return { during: 'never-decrypted' };
    return { during: 'between-attempts', last: fromTemporalType(lastFailure.applicationFailureInfo.type) };
  }
  const wasStarted =
    timeoutType !== 'SCHEDULE_TO_START' || lastHeartbeatDetails != null || lastFailure != null;
  return { during: wasStarted ? 'while-running' : 'never-started' };
}

/** When no further attempt fits into its time, an activity ends with the failure of the last one. */
function readUndecrypted({ cause, retryState }: ActivityFailure): ActivityTimeout | undefined {
  if (!(cause instanceof ApplicationFailure && retryState === 'TIMEOUT')) return undefined;
  const lastRun = lastAttemptThatRan(cause.type);
  if (lastRun === undefined) return undefined;
  return { during: lastRun === 0 ? 'never-decrypted' : 'between-attempts' };
}
