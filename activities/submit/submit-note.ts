import { activityInfo, Context, heartbeat } from '@temporalio/activity';
import { z } from 'zod';
import { lastAttemptThatRan } from '../../src/contract/video-failure';
import { decodeFirst } from '../../src/encryption/decode-first';
import { NO_TASK, type NoTask } from '../../src/storage/job-record';
import { isTimeSkipped } from '../call-within-limits';

/** A submit whose answer nobody knows: a paid task may exist. */
export interface LostSubmit {
  /** The id of the send. If that died with its worker, one that names the attempt or the run. */
  id: string;
  why: string;
  /** The named service that the request went to, if that is known. */
  service?: string | undefined;
}

const text = z.string().optional().catch(undefined);
const number = z.number().optional().catch(undefined);

const sendSchema = z.object({
  id: z.string(),
  attempt: z.number(),
  /** The named service that it went to. */
  service: text,
  /** How it ended without a task; unset as long as nobody knows how it ended. */
  outcome: z.enum(NO_TASK).optional().catch(undefined),
});

const noteSchema = z.object({
  /** The task, noted as soon as the answer arrives: the attempt may end before it can return it. */
  taskId: text,
  /** The named service of the task. */
  service: text,
  /** The requests of all attempts, also if the record could not be told how they ended. */
  sends: z.array(sendSchema).default([]),
  /** The last attempt that certainly made no task. */
  attemptWithoutTask: number,
  /** How long the service has been tried, up to the next attempt. Servers that skip time do not tell. */
  triedMs: number,
});

type NotedSend = z.infer<typeof sendSchema>;

/** What an attempt to submit leaves for the next attempt, in its heartbeats: Temporal keeps the last one after a kill. */
export type SubmitNote = z.infer<typeof noteSchema>;

/** A note is small: of more sends than these, the record knows. */
const MOST_NOTED = 20;

const isOpen = ({ outcome }: NotedSend) => outcome === undefined;

/** The notes of one attempt, beginning with what the attempts before it have left. */
export class SubmitNotes {
  /** What the heartbeats carry. Until this attempt knows more, they repeat the note of the one before, which they replace. */
  current: unknown = activityInfo().heartbeatDetails;
  private send: NotedSend | undefined;

  private constructor(readonly before: SubmitNote) {}

  static async read(): Promise<SubmitNotes> {
    const { attempt, heartbeatDetails } = activityInfo();
    const note = readNote(heartbeatDetails);
    const silent = (await attemptWithoutNote(attempt, note, describeThis)) ?? attemptBeforeReset();
    return new SubmitNotes(withSilent(note, silent));
  }

  sending(id: string, service: string | undefined): void {
    this.send = { id, attempt: activityInfo().attempt, service };
    this.leave({});
  }

  task(taskId: string, service: string | undefined): void {
    this.current = { taskId, service };
    heartbeat(this.current);
  }

  /** Neither this attempt nor, apart from those that are lost, one before it made a task. */
  withoutTask(outcome: NoTask, triedMs: number | undefined): void {
    if (this.send) this.send = { ...this.send, outcome };
    this.leave({ attemptWithoutTask: activityInfo().attempt, triedMs });
  }

  private leave(note: Partial<SubmitNote>): void {
    const sends = [...this.before.sends, ...(this.send ? [this.send] : [])];
    const ended = sends.filter((send) => !isOpen(send)).slice(-MOST_NOTED);
    const kept = [...ended, ...sends.filter(isOpen).slice(-MOST_NOTED)];
    this.current = { ...note, sends: kept.length > 0 ? kept : undefined };
    heartbeat(this.current);
  }
}

export function readNote(details: unknown): SubmitNote {
  return noteSchema.safeParse(Object(details)).data ?? { sends: [] };
}

/** The submits of a note whose end nobody knows. */
export function lostIn({ sends }: SubmitNote): LostSubmit[] {
  return sends.filter(isOpen).map(({ id, attempt, service }) => {
    const why =
      attempt === BEFORE_RESET
        ? 'the submit was reset or paused in Temporal, so it is unknown what was sent before'
        : `attempt ${attempt} ended before its answer was known`;
    return { id, why, service };
  });
}

/** The note with the send of an attempt that has left nothing about it. */
function withSilent(note: SubmitNote, attempt: number | undefined): SubmitNote {
  if (attempt === undefined) return note;
  const { workflowExecution, activityId } = activityInfo();
  const id = `${workflowExecution?.runId ?? ''}/${activityId}/${attempt}`;
  return { ...note, sends: [...note.sends, { id, attempt }] };
}

/** True for an id that was made up because nobody knows that of the send. */
export const isUnknownSend = (id: string) => id.includes('/');

/**
 * The last attempt before this one, if it may have sent something and left nothing about it. An attempt that was refused or
 * sent nothing notes this before it throws. Without such a note (its worker was killed, it timed out) its submit is lost, even
 * without the note that it was sending, because that heartbeat may have died with the worker. If it was killed right before
 * its POST, nobody can tell. Attempts on workers that could not decrypt their input ran nothing, and the failure of the last
 * one says so.
 */
async function attemptWithoutNote(
  attempt: number,
  { attemptWithoutTask, sends }: SubmitNote,
  describe: () => Promise<Pending | undefined>,
): Promise<number | undefined> {
  if (attempt === 1 || attemptWithoutTask === attempt - 1 || sends.some(isOpen)) return undefined;
  const { lastFailure } = (await describe()) ?? {};
  const lastRun = lastAttemptThatRan(lastFailure?.applicationFailureInfo?.type) ?? attempt - 1;
  return lastRun === 0 || attemptWithoutTask === lastRun ? undefined : lastRun;
}

const BEFORE_RESET = 0;

/**
 * After an operator resets the activity, the next attempt has number 1 again, and the notes are gone or old. Temporal still
 * says when the activity was scheduled: only a real first attempt was scheduled at the same time.
 */
function attemptBeforeReset(): number | undefined {
  const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
  // A server that skips time cannot reset activities, and its two timestamps of a first attempt differ.
  if (isTimeSkipped()) return undefined;
  // Not `>`: different servers may have written the two.
  return attempt > 1 || currentAttemptScheduledTimestampMs === scheduledTimestampMs
    ? undefined
    : BEFORE_RESET;
}

/** An attempt that asks longer could miss its first heartbeat. */
const DESCRIBED_WITHIN_MS = 5_000;

/** Calls Temporal, within the time that an attempt has for it. */
export async function askTemporal<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  return Context.current().client.withDeadline(Date.now() + DESCRIBED_WITHIN_MS, call);
}

/** What Temporal says of this activity, if it does: the failure of the attempt before this one. */
async function describeThis(): Promise<Pending | undefined> {
  const { activityId } = activityInfo();
  try {
    const pending = await askTemporal(pendingActivities);
    return pending.find((activity) => activity.activityId === activityId);
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

/**
 * The note of a pending submit that has a task, or may have sent something; undefined for any other. Only recallSubmit knows
 * what it says. It must be read before the submit is cancelled, because Temporal then drops its heartbeat details. An attempt
 * that is still sending counts as well.
 */
export async function inspectPendingSubmit(): Promise<unknown> {
  const pending = await pendingActivities();
  const submit = pending.find(({ activityType }) => activityType?.name === 'submitVideo');
  if (submit === undefined) return undefined;
  const { loadedDataConverter } = Context.current().client.options;
  const left = readNote(await decodeFirst(loadedDataConverter, submit.heartbeatDetails));
  const silent = await attemptWithoutNote(Number(submit.attempt), left, async () => submit);
  const note = withSilent(left, silent);
  return note.taskId !== undefined || note.sends.some(isOpen) ? note : undefined;
}
