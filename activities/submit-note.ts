import { activityInfo } from '@temporalio/activity';

/** What an attempt to submit leaves for the next one, in its heartbeats. */
export interface SubmitNote {
  /** The last attempt that is known to have made no task. */
  settled?: number;
  /** The attempt whose request is under way: whoever finds this does not know how it ended. */
  sending?: number;
  /** Whether the service may have seen the idempotency key. */
  keySent?: boolean;
}

/**
 * What the attempts before this one left. An attempt that was refused, or sent nothing, notes it before it throws. One
 * that left no such note (its worker was killed, its time ran out) is `lost`: nobody knows whether it made a task. The
 * note that a request is under way may be lost with a worker that is killed, so the missing note counts as well.
 */
export function readNotes(): { lost?: string; keySent: boolean } {
  const { attempt, heartbeatDetails } = activityInfo();
  const { settled, sending, keySent }: Record<keyof SubmitNote, unknown> = Object(heartbeatDetails);
  const isSettled = attempt === 1 || settled === attempt - 1;
  if (sending === undefined && isSettled) return { keySent: keySent === true };
  return {
    lost: `attempt ${typeof sending === 'number' ? sending : attempt - 1} ended before its answer was known`,
    keySent: true,
  };
}
