import { activityInfo, Context, heartbeat } from '@temporalio/activity';
import { z } from 'zod';
import { lastAttemptThatRan } from '../../src/contract/video-failure';
import { NO_TASK, type NoTask } from '../../src/storage/job-record';
import { decodeByWorker } from '../attempt';
import { isTimeSkipped } from '../rate-limited-call';

/** A submit whose answer nobody knows: a paid task may exist. */
export interface LostSubmit {
  /** The id of the send. If that died with its worker, one that names the attempt or the run. */
  id: string;
  why: string;
  /** The named service that the request went to, if that is known. */
  service?: string | undefined;
}

const lostSchema: z.ZodType<LostSubmit> = z.object({
  id: z.string(),
  why: z.string(),
  service: z.string().optional(),
});
const text = z.string().optional().catch(undefined);
const noteSchema = z.object({
  /** The task, noted as soon as the answer arrives: the attempt may end before it can return it. */
  taskId: text,
  /** The request that is being sent; how that ended is unknown. */
  sending: z.object({ id: z.coerce.string(), attempt: z.coerce.number() }).optional(),
  /** The named service of the task or of that request. */
  service: text,
  /** The last attempt that certainly made no task. */
  attemptWithoutTask: z.number().optional().catch(undefined),
  /** The sends that certainly made no task, also if the record could not be told. */
  refused: z.array(z.string()).optional().catch(undefined),
  /** The worst of how they ended. */
  outcome: z.enum(NO_TASK).optional().catch(undefined),
  /** How long the service has been tried, up to the next attempt. */
  triedMs: z.number().optional().catch(undefined),
  /** Lost submits that `resubmit` repeated. */
  lost: z.array(lostSchema).optional().catch(undefined),
});

/** What an attempt to submit leaves for the next attempt, in its heartbeats: Temporal keeps the last one after a kill. */
export type SubmitNote = z.infer<typeof noteSchema>;

/** A note is small: of more sends than these, the record knows. */
const MOST_NOTED = 20;

/** The notes of one attempt, beginning with what the attempts before it have left. */
export class SubmitNotes {
  /** What the heartbeats carry. Until this attempt knows more, they repeat the note of the one before, which they replace. */
  current: unknown = activityInfo().heartbeatDetails;

  private constructor(
    readonly before: SubmitNote,
    /** Lost submits of earlier attempts, according to their notes. */
    readonly lost: LostSubmit[],
  ) {}

  static async read(): Promise<SubmitNotes> {
    const { attempt, heartbeatDetails } = activityInfo();
    const note = readNote(heartbeatDetails);
    const lost = (await lostBefore(attempt, note, readOwnLastFailure)) ?? lostBeforeReset();
    return new SubmitNotes(note, unique([...(note.lost ?? []), ...(lost ? [lost] : [])]));
  }

  sending(id: string, service: string | undefined): void {
    const { refused, outcome } = this.before;
    this.leave({ sending: { id, attempt: activityInfo().attempt }, service, refused, outcome });
  }

  task(taskId: string, service: string | undefined): void {
    this.current = { taskId, service };
    heartbeat(this.current);
  }

  /** Neither this attempt nor, apart from those that are lost, one before it made a task. */
  withoutTask(send: string | undefined, outcome: NoTask, triedMs: number | undefined): void {
    const refused = [...(this.before.refused ?? []), ...(send === undefined ? [] : [send])];
    this.leave({
      attemptWithoutTask: activityInfo().attempt,
      refused: refused.length > 0 ? refused.slice(-MOST_NOTED) : undefined,
      outcome: worstOf(this.before.outcome, outcome),
      triedMs,
    });
  }

  private leave(note: SubmitNote): void {
    this.current = { ...note, lost: this.lost.length > 0 ? this.lost.slice(-MOST_NOTED) : undefined };
    heartbeat(this.current);
  }
}

function worstOf(...outcomes: (NoTask | undefined)[]): NoTask | undefined {
  return NO_TASK.findLast((outcome) => outcomes.includes(outcome));
}

/** Lost submits with different ids; of the same id, the first. */
export function unique(lost: LostSubmit[]): LostSubmit[] {
  return lost.filter(({ id }, index) => lost.findIndex((one) => one.id === id) === index);
}

function readNote(details: unknown): SubmitNote {
  return noteSchema.safeParse(Object(details)).data ?? {};
}

/**
 * The lost submit of an earlier attempt, if there is one. An attempt that was refused or sent nothing notes this before it
 * throws. Without such a note (its worker was killed, it timed out) its submit is lost, even without the note that it was
 * sending, because that heartbeat may have died with the worker. If it was killed right before its POST, nobody can tell.
 * Attempts on workers that could not decrypt their input ran nothing, and the failure of the last one says so.
 */
async function lostBefore(
  attempt: number,
  { attemptWithoutTask, sending, service }: SubmitNote,
  readLastFailure: () => Promise<string | undefined>,
): Promise<LostSubmit | undefined> {
  if (sending) return { id: sending.id, why: endedWithoutAnswer(sending.attempt), service };
  if (attempt === 1 || attemptWithoutTask === attempt - 1) return undefined;
  const lastRun = lastAttemptThatRan(await readLastFailure()) ?? attempt - 1;
  if (lastRun === 0 || attemptWithoutTask === lastRun) return undefined;
  return { id: idOfAttempt(lastRun), why: endedWithoutAnswer(lastRun) };
}

/** For the send of an attempt whose note and record are both missing. */
function idOfAttempt(attempt: number): string {
  const { workflowExecution, activityId } = activityInfo();
  return `${workflowExecution?.runId ?? ''}/${activityId}/${attempt}`;
}

/** True for an id that was made up because nobody knows that of the send. */
export const isUnknownSend = (id: string) => id.includes('/');

/** An attempt that asks longer could miss its first heartbeat. */
const DESCRIBED_WITHIN_MS = 5_000;

/** The type of the failure of the attempt before this one, if Temporal says it. */
async function readOwnLastFailure(): Promise<string | undefined> {
  const { activityId } = activityInfo();
  try {
    const { client } = Context.current();
    const pending = await client.withDeadline(Date.now() + DESCRIBED_WITHIN_MS, pendingActivities);
    return failureTypeOf(pending.find((activity) => activity.activityId === activityId));
  } catch {
    // The attempt before counts as lost, which is never wrong to ask about.
    return undefined;
  }
}

/** Those of the workflow, as Temporal describes them. */
async function pendingActivities() {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) return [];
  const { workflowId, runId } = workflowExecution;
  const { raw } = await Context.current().client.workflow.getHandle(workflowId, runId).describe();
  return raw.pendingActivities ?? [];
}

type Pending = Awaited<ReturnType<typeof pendingActivities>>[number];

function failureTypeOf(pending: Pending | undefined): string | undefined {
  return pending?.lastFailure?.applicationFailureInfo?.type ?? undefined;
}

function endedWithoutAnswer(attempt: number): string {
  return `attempt ${attempt} ended before its answer was known`;
}

/**
 * After an operator resets the activity, the next attempt has number 1 again, and the notes are gone or old. Temporal still
 * says when the activity was scheduled: only a real first attempt was scheduled at the same time.
 */
function lostBeforeReset(): LostSubmit | undefined {
  const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
  // A server that skips time cannot reset activities, and its two timestamps of a first attempt differ.
  if (isTimeSkipped()) return undefined;
  // Not `>`: different servers may have written the two.
  if (attempt > 1 || currentAttemptScheduledTimestampMs === scheduledTimestampMs) return undefined;
  return {
    id: idOfAttempt(0),
    why: 'the submit was reset or paused in Temporal, so it is unknown what was sent before',
  };
}

/** How far a pending submit has come: its task, or that it is lost, or neither. */
export interface InspectedSubmit {
  taskId?: string;
  lost?: LostSubmit;
  /** The named service of the task. */
  service?: string;
}

/**
 * Reads the task of a pending submit, or finds out whether it is lost. It must run before the submit is cancelled, because
 * Temporal then drops its heartbeat details. An attempt that is still sending counts as well.
 */
export async function inspectPendingSubmit(): Promise<InspectedSubmit> {
  const pending = await pendingActivities();
  const submit = pending.find(({ activityType }) => activityType?.name === 'submitVideo');
  if (submit === undefined) return {};
  const note = readNote(await decodeByWorker(submit.heartbeatDetails));
  const { taskId, service } = note;
  if (taskId !== undefined) return { taskId, service };
  const lost = await lostBefore(Number(submit.attempt), note, async () => failureTypeOf(submit));
  return { lost: lost ?? note.lost?.at(-1) };
}
