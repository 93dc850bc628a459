import { activityInfo, Context } from '@temporalio/activity';
import { skippingConnection } from '../rate-limited-call';
import { decodeFirst } from './earlier-runs';

/** Stands for the attempts before a reset, whose numbers are used again. */
const BEFORE_RESET = 0;

/** What an attempt to submit leaves for the next one, in its heartbeats. */
export interface SubmitNote {
  /** The last attempt that is known to have made no task. */
  settled?: number;
  /** The last POST that is known to have made no task, as the record of the job names it. */
  send?: string;
  /** The task, from its answer on: the attempt may end before it can report it. */
  taskId?: string;
  /** The attempt whose request is under way: whoever finds this does not know how it ended. */
  sending?: number;
  /** An attempt that was lost before the settled one, and followed by others because `resubmit` was chosen. */
  lost?: number;
  /** Whether the service may have seen the idempotency key. */
  keySent?: boolean;
}

/** What the attempts before this one left. */
export function readNotes(): { taskId?: string; lost?: number; keySent: boolean; settledSend?: string } {
  const { attempt, heartbeatDetails } = activityInfo();
  const lost = lostBefore(attempt, heartbeatDetails) ?? resetAttempt();
  const { keySent, send, taskId }: Record<keyof SubmitNote, unknown> = Object(heartbeatDetails);
  return {
    ...(typeof taskId === 'string' && { taskId }),
    lost,
    keySent: lost !== undefined || keySent === true,
    ...(typeof send === 'string' && { settledSend: send }),
  };
}

/**
 * The attempt of which nobody knows whether it made a task, if there is one before this. An attempt that was refused, or
 * sent nothing, notes it before it throws. One that left no such note (its worker was killed, its time ran out) is lost.
 * The note that a request is under way may be lost with a worker that is killed, so the missing note counts as well.
 */
export function lostBefore(attempt: number, note: unknown): number | undefined {
  const { settled, sending, lost }: Record<keyof SubmitNote, unknown> = Object(note);
  if (sending !== undefined) return typeof sending === 'number' ? sending : attempt - 1;
  if (attempt > 1 && settled !== attempt - 1) return attempt - 1;
  return typeof lost === 'number' ? lost : undefined;
}

/**
 * An operator's reset makes the next attempt the first again; it can take the notes away, or leave those of an attempt
 * before the last. Temporal still tells when the activity was scheduled: an untouched first attempt was scheduled then.
 */
function resetAttempt(): number | undefined {
  const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
  // A server that skips time has none of these commands, and reads its clock twice for one first attempt.
  if (skippingConnection() !== undefined) return undefined;
  // Not "later": the servers that wrote the two have clocks of their own.
  return attempt === 1 && currentAttemptScheduledTimestampMs !== scheduledTimestampMs
    ? BEFORE_RESET
    : undefined;
}

export function describeLost(attempt: number): string {
  return attempt === BEFORE_RESET
    ? 'the submit was reset or paused in Temporal, and nobody knows what was sent before that'
    : `attempt ${attempt} ended before its answer was known`;
}

export interface FindLostSubmitInput {
  /** Of one submit of many; a workflow's only one has none that the workflow could name. */
  activityId?: string;
}

/**
 * The attempt of a submit that may have made a task, told as long as Temporal has the submit: it forgets what the
 * attempts of a cancelled one left. One whose request is under way counts too: its own end tells more, unless the
 * cancellation comes between that end and the next attempt.
 */
export async function findLostSubmit({ activityId }: FindLostSubmitInput): Promise<{ lost?: string }> {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) return {};
  const { workflowId, runId } = workflowExecution;
  const { raw } = await Context.current().client.workflow.getHandle(workflowId, runId).describe();
  const submit = raw.pendingActivities?.find((pending) =>
    activityId === undefined
      ? pending.activityType?.name === 'submitVideo'
      : pending.activityId === activityId,
  );
  if (submit === undefined) return {};
  const lost = lostBefore(Number(submit.attempt), await decodeFirst(submit.heartbeatDetails));
  return lost === undefined ? {} : { lost: describeLost(lost) };
}
