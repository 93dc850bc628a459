import { activityInfo, Context } from '@temporalio/activity';
import { skippingConnection } from '../rate-limited-call';
import { decodeByWorker } from './earlier-runs';

/** Stands for the attempts before a reset, whose numbers are used again. */
const BEFORE_RESET = 0;

/** What an attempt to submit leaves for the next attempt, in its heartbeats. */
export interface SubmitNote {
  /** The last attempt that certainly made no task. */
  attemptWithoutTask?: number;
  /** The last POST that certainly made no task, by its id in the record of the job. */
  sendWithoutTask?: string;
  /** The task, noted as soon as the answer arrives: the attempt may end before it can return it. */
  taskId?: string;
  /** The attempt that was sending its request; how it ended is unknown. */
  sending?: number;
  /** A lost attempt before `attemptWithoutTask`, which `resubmit` repeated. */
  lost?: number;
  /** Whether the service may have received the idempotency key. */
  keySent?: boolean;
}

/** What the earlier attempts of this activity left. */
export interface EarlierAttempts {
  taskId?: string;
  lostAttempt?: number;
  keySent: boolean;
  sendWithoutTask?: string;
}

export function readEarlierAttempts(): EarlierAttempts {
  const { attempt, heartbeatDetails } = activityInfo();
  const lostAttempt = lostAttemptBefore(attempt, heartbeatDetails) ?? resetAttempt();
  const { keySent, sendWithoutTask, taskId }: Record<keyof SubmitNote, unknown> = Object(heartbeatDetails);
  return {
    ...(typeof taskId === 'string' && { taskId }),
    lostAttempt,
    keySent: lostAttempt !== undefined || keySent === true,
    ...(typeof sendWithoutTask === 'string' && { sendWithoutTask }),
  };
}

/**
 * The earlier attempt that may have made a task without knowing it, if there is one. An attempt that was refused or sent
 * nothing notes this before it throws. An attempt without such a note (its worker was killed, it timed out) is lost, even
 * without the note that it was sending, because that heartbeat may be lost with the worker.
 */
export function lostAttemptBefore(attempt: number, note: unknown): number | undefined {
  const { attemptWithoutTask, sending, lost }: Record<keyof SubmitNote, unknown> = Object(note);
  if (sending !== undefined) return typeof sending === 'number' ? sending : attempt - 1;
  if (attempt > 1 && attemptWithoutTask !== attempt - 1) return attempt - 1;
  return typeof lost === 'number' ? lost : undefined;
}

/**
 * After an operator resets the activity, the next attempt has number 1 again, and the notes are gone or old. Temporal still
 * says when the activity was scheduled: only a real first attempt was scheduled at the same time.
 */
function resetAttempt(): number | undefined {
  const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
  // A server that skips time cannot reset activities, and its two timestamps of a first attempt differ.
  if (skippingConnection() !== undefined) return undefined;
  // Not `>`: different servers may have written the two.
  return attempt === 1 && currentAttemptScheduledTimestampMs !== scheduledTimestampMs
    ? BEFORE_RESET
    : undefined;
}

export function describeLostAttempt(attempt: number): string {
  return attempt === BEFORE_RESET
    ? 'the submit was reset or paused in Temporal, so it is unknown what was sent before'
    : `attempt ${attempt} ended before its answer was known`;
}

/** Input of the activity inspectPendingSubmit. */
export interface InspectPendingSubmitInput {
  /** The activity id of an item's submit; a job with its own workflow has only one submit. */
  activityId?: string;
}

/**
 * Finds out whether a pending submit may have made a task. It must run before the submit is cancelled, because Temporal
 * then drops its heartbeat details. An attempt that is still sending counts as well.
 */
export async function inspectPendingSubmit({
  activityId,
}: InspectPendingSubmitInput): Promise<{ lost?: string }> {
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
  const lost = lostAttemptBefore(Number(submit.attempt), await decodeByWorker(submit.heartbeatDetails));
  return lost === undefined ? {} : { lost: describeLostAttempt(lost) };
}
