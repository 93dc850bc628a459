import { activityInfo } from '@temporalio/activity';
import {
  type JobRecord,
  type RecordedJob,
  recordedJob,
  type SendingEntry,
} from '../../src/storage/job-record';
import type { TaskName } from '../../src/storage/task-claims';
import { logEvent } from '../attempt';
import { refuseForgotten } from '../record-task';
import { createCallFailure } from '../to-failure';
import { type EarlierRuns, readEarlierRuns } from './earlier-runs';
import { isUnknownSend, type LostSubmit, lostIn, type SubmitNote } from './submit-note';

/** What was sent for a job before, as far as anybody knows. */
export interface KnownSubmits {
  recorded: RecordedJob;
  task: TaskName | undefined;
  /** The last is the one to report. */
  lost: LostSubmit[];
  /** The service of the last send that is lost or that somebody decided to repeat: only that one knows its key. */
  sentTo: { service?: string | undefined } | undefined;
  /** The service may have received the idempotency key. */
  keySent: boolean;
  /** How many submits are lost, in all runs: each may have been paid for. */
  repeated: number;
  /** A lost submit, repeated or not, or an unclear answer leaves a task possible: the one who repeats it may be mistaken. */
  mayHaveTask: boolean;
}

/** The job and its earlier runs, as the workflow knows them. */
interface Circumstances {
  /** The ids of lost submits that somebody decided to repeat. */
  repeats?: readonly string[];
  isReset?: boolean;
}

/** What earlier attempts (by their notes), earlier jobs of this name (by the record) and earlier runs have sent. */
export async function readKnownSubmits(
  record: JobRecord,
  note: SubmitNote,
  circumstances: Circumstances,
): Promise<KnownSubmits> {
  const recorded = await record.read().catch((error: unknown) => {
    // The task is known without the storage, and goes on without it.
    if (note.taskId === undefined) throw error;
    return recordedJob([]);
  });
  refuseForgotten(recorded);
  const runs = circumstances.isReset && note.taskId === undefined ? await readEarlierRuns() : {};
  const known = knownSubmits(recorded, note, circumstances, runs);
  if (known.task && known.task.taskId === recorded.task?.taskId)
    logEvent('onRecord', { taskId: known.task.taskId, record: record.key });
  return known;
}

/** The same from what was read. */
export function knownSubmits(
  recorded: RecordedJob,
  note: SubmitNote,
  { repeats = [], isReset = false }: Circumstances,
  runs: EarlierRuns = {},
): KnownSubmits {
  const task = [note, recorded.task, runs].find(isTask);
  const lost = lostSubmits(recorded, note, runs).filter(({ id }) => !repeats.includes(id));
  const ids = [...lost.map(({ id }) => id), ...repeats];
  const outcomes = note.sends.map(({ outcome }) => outcome);
  const sent = recorded.entries.findLast(
    (entry): entry is SendingEntry => entry.event === 'sending' && ids.includes(entry.id),
  );
  return {
    recorded,
    task: task && { taskId: task.taskId, service: task.service },
    lost,
    sentTo: sent ?? lost.findLast(({ service }) => service !== undefined),
    keySent:
      recorded.keySent || outcomes.some((outcome) => outcome !== 'not-sent') || ids.length > 0 || isReset,
    repeated: Math.max(ids.length, recorded.paidSends.length),
    mayHaveTask: recorded.mayHaveTask || outcomes.includes('unclear') || ids.length > 0,
  };
}

const isTask = (known: Partial<TaskName> | undefined): known is TaskName => known?.taskId !== undefined;

function lostSubmits({ entries, openSends }: RecordedJob, note: SubmitNote, runs: EarlierRuns): LostSubmit[] {
  const ended = new Set([
    ...note.sends.flatMap(({ id, outcome }) => (outcome === undefined ? [] : id)),
    ...entries.flatMap((entry) => ('send' in entry && entry.send !== undefined ? entry.send : [])),
  ]);
  const onRecord = openSends.map(({ id, at, service }) => ({
    id,
    why: `a request was sent at ${at} and its answer is not on record`,
    service,
  }));
  const open = [...(runs.lost ? [runs.lost] : []), ...lostIn(note), ...onRecord].filter(
    ({ id }) => !ended.has(id),
  );
  // Of the same id, the first.
  const lost = open.filter(({ id }, index) => open.findIndex((one) => one.id === id) === index);
  // The record has the id of a send that its worker took along, also once somebody has decided to repeat it.
  const sent = entries.filter(({ event, id }) => event === 'sending' && !ended.has(id));
  const isKnown = [...sent, ...lost].some(({ id }) => !isUnknownSend(id));
  return isKnown ? lost.filter(({ id }) => !isUnknownSend(id)) : lost;
}

/** Longer than an answer usually takes. */
const ANSWERED_WITHIN_MS = 3_000;

/**
 * Another run of this job may be sending at this moment, such as the child of a parent that was terminated and started again.
 * The first attempt leaves it a few seconds for its answer.
 */
export function leaveOthersTime({ openSends }: RecordedJob): void {
  const youngestMs = Math.max(...openSends.map(({ at }) => Date.parse(at)));
  if (activityInfo().attempt > 1 || Math.abs(Date.now() - youngestMs) > ANSWERED_WITHIN_MS) return;
  throw createCallFailure('ServiceUnreachable', 'submit', {
    message: 'nothing was sent, because another run of this job sent its request a moment ago',
    advice: 'The next attempt follows in a few seconds.',
    retryAfter: ANSWERED_WITHIN_MS / 1_000,
  });
}
