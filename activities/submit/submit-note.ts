import { activityInfo, Context } from '@temporalio/activity';
import { lastAttemptThatRan } from '../../src/contract/not-decrypted';
import { readChoice, type ServiceChoice } from '../../src/contract/service-choice';
import { skippingConnection } from '../rate-limited-call';
import { decodeByWorker } from './earlier-runs';

/** What an attempt to submit leaves for the next attempt, in its heartbeats: Temporal keeps the last one after a kill. */
export interface SubmitNote {
  /** The last attempt that certainly made no task. */
  attemptWithoutTask?: number;
  /** The last POST that certainly made no task, by its id in the record of the job. */
  sendWithoutTask?: string;
  /** The task, noted as soon as the answer arrives: the attempt may end before it can return it. */
  taskId?: string;
  /** The attempt that was sending its request; how it ended is unknown. */
  sending?: number;
  /** Which service got the request, if the worker chose it or its key: the job must know, whatever the worker chooses later. */
  service?: ServiceChoice;
  /** Why a submit before `attemptWithoutTask` is lost; `resubmit` repeated it. */
  lostSubmit?: string;
  /** Whether the service may have received the idempotency key. */
  keySent?: boolean;
  /** How many submits are lost that `resubmit` repeated. */
  lostSubmits?: number;
  /** An answer of the service after which it may have a task: no other one is tried. */
  unsure?: string;
  /** How long the service was tried: attempts and the waits between them. Only for a job that has another service left. */
  triedForMs?: number;
}

/** What the earlier attempts of this activity left. */
export interface EarlierAttempts {
  taskId?: string;
  /** Why one of their submits is lost. */
  lostSubmit?: string;
  keySent: boolean;
  sendWithoutTask?: string;
  /** How many of their submits are lost. */
  lostSubmits: number;
  unsure?: string;
  triedForMs: number;
}

export async function readEarlierAttempts(): Promise<EarlierAttempts> {
  const { attempt, heartbeatDetails } = activityInfo();
  const lostSubmit =
    (await lostSubmitBefore(attempt, heartbeatDetails, readOwnLastFailure)) ?? lostSubmitBeforeReset();
  const note: Record<keyof SubmitNote, unknown> = Object(heartbeatDetails);
  const { keySent, sendWithoutTask, taskId, triedForMs, unsure } = note;
  const before = typeof note.lostSubmits === 'number' ? note.lostSubmits : 0;
  // A note that repeats a lost submit has counted it.
  const isCounted = lostSubmit === undefined || (lostSubmit === note.lostSubmit && before > 0);
  return {
    lostSubmits: isCounted ? before : before + 1,
    triedForMs: typeof triedForMs === 'number' ? triedForMs : 0,
    ...(typeof taskId === 'string' && { taskId }),
    ...(typeof unsure === 'string' && { unsure }),
    lostSubmit,
    keySent: lostSubmit !== undefined || keySent === true,
    ...(typeof sendWithoutTask === 'string' && { sendWithoutTask }),
  };
}

/**
 * Why the submit of an earlier attempt is lost, if one is. An attempt that was refused or sent nothing notes this before it
 * throws. Without such a note (its worker was killed, it timed out) its submit is lost, even without the note that it was
 * sending, because that heartbeat may have died with the worker. If it was killed right before its POST, nobody can tell.
 * Attempts on workers that could not decrypt their input ran nothing, and the failure of the last one says so.
 */
async function lostSubmitBefore(
  attempt: number,
  note: unknown,
  readLastFailure: () => Promise<string | undefined>,
): Promise<string | undefined> {
  const { attemptWithoutTask, sending, lostSubmit }: Record<keyof SubmitNote, unknown> = Object(note);
  if (sending !== undefined) return endedWithoutAnswer(typeof sending === 'number' ? sending : attempt - 1);
  if (attempt > 1 && attemptWithoutTask !== attempt - 1) {
    const lastRun = lastAttemptThatRan(await readLastFailure()) ?? attempt - 1;
    if (lastRun > 0 && attemptWithoutTask !== lastRun) return endedWithoutAnswer(lastRun);
  }
  return typeof lostSubmit === 'string' ? lostSubmit : undefined;
}

/** An attempt that asks longer could miss its first heartbeat. */
const DESCRIBED_WITHIN_MS = 5_000;

/** The type of the failure of the attempt before this one, if Temporal says it. */
async function readOwnLastFailure(): Promise<string | undefined> {
  const { workflowExecution, activityId } = activityInfo();
  if (workflowExecution === undefined) return undefined;
  try {
    const { client } = Context.current();
    const pending = await client.withDeadline(Date.now() + DESCRIBED_WITHIN_MS, () =>
      client.workflowService.describeWorkflowExecution({
        namespace: client.options.namespace,
        execution: workflowExecution,
      }),
    );
    return failureTypeOf(pending.pendingActivities?.find((activity) => activity.activityId === activityId));
  } catch {
    // The attempt before counts as lost, which is never wrong to ask about.
    return undefined;
  }
}

function failureTypeOf(
  pending: { lastFailure?: { applicationFailureInfo?: { type?: string | null } | null } | null } | undefined,
): string | undefined {
  return pending?.lastFailure?.applicationFailureInfo?.type ?? undefined;
}

function endedWithoutAnswer(attempt: number): string {
  return `attempt ${attempt} ended before its answer was known`;
}

/**
 * After an operator resets the activity, the next attempt has number 1 again, and the notes are gone or old. Temporal still
 * says when the activity was scheduled: only a real first attempt was scheduled at the same time.
 */
function lostSubmitBeforeReset(): string | undefined {
  const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
  // A server that skips time cannot reset activities, and its two timestamps of a first attempt differ.
  if (skippingConnection() !== undefined) return undefined;
  // Not `>`: different servers may have written the two.
  return attempt === 1 && currentAttemptScheduledTimestampMs !== scheduledTimestampMs
    ? 'the submit was reset or paused in Temporal, so it is unknown what was sent before'
    : undefined;
}

/** Input of the activity inspectPendingSubmit. */
export interface InspectPendingSubmitInput {
  /** The activity id of an item's submit; a job with its own workflow has only one submit. */
  activityId?: string;
}

/** How far a pending submit has come: its task, or why it is lost, or neither. */
export interface InspectedSubmit {
  taskId?: string;
  lostSubmit?: string;
  /** The named service that the worker chose for it. */
  service?: ServiceChoice;
}

/**
 * Reads the task of a pending submit, or finds out whether it is lost. It must run before the submit is cancelled, because Temporal then drops its
 * heartbeat details. An attempt that is still sending counts as well.
 */
export async function inspectPendingSubmit({
  activityId,
}: InspectPendingSubmitInput): Promise<InspectedSubmit> {
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
  const note: unknown = await decodeByWorker(submit.heartbeatDetails);
  const { taskId, service }: Record<keyof SubmitNote, unknown> = Object(note);
  if (typeof taskId === 'string') return { taskId };
  const lostSubmit = await lostSubmitBefore(Number(submit.attempt), note, async () => failureTypeOf(submit));
  const chosen = readChoice(service);
  return { lostSubmit, ...(chosen && { service: chosen }) };
}
