import { activityInfo } from '@temporalio/activity';
import {
  type JobRecord,
  type RecordedJob,
  recordedJob,
  type SendingEntry,
} from '../../src/storage/job-record';
import { type KnownTask, refuseForgotten } from '../job-record';
import { logEvent } from '../log-event';
import { createCallFailure } from '../to-failure';
import { type EarlierRuns, readEarlierRuns } from './earlier-runs';
import { isUnknownSend, type LostSubmit, type SubmitNote, type SubmitNotes, unique } from './submit-note';

/** What was sent for a job before, as far as anybody knows. */
export interface KnownSubmits {
  recorded: RecordedJob;
  task: KnownTask | undefined;
  /** The last is the one to report. */
  lost: LostSubmit[];
  /** The service of the last send that is lost or that somebody decided to repeat: only that one knows its key. */
  sentTo: { service?: string | undefined } | undefined;
  /** The service may have received the idempotency key. */
  keySent: boolean;
  /** How many submits are lost, whoever sent them: each may have been paid for. */
  repeated: number;
}

/** What earlier attempts (by their notes), earlier jobs of this name (by the record) and earlier runs have sent. */
export async function readKnownSubmits(
  record: JobRecord,
  notes: Pick<SubmitNotes, 'before' | 'lost'>,
  { repeats = [], isReset = false }: { repeats?: readonly string[]; isReset?: boolean } = {},
): Promise<KnownSubmits> {
  const { before } = notes;
  const recorded = await record.read().catch((error: unknown) => {
    // The task is known without the storage, and goes on without it.
    if (before.taskId === undefined) throw error;
    return recordedJob([]);
  });
  refuseForgotten(recorded);
  const runs = isReset && before.taskId === undefined ? await readEarlierRuns() : {};
  const task = [before, recorded.task, runs].find(isTask);
  if (task && task.taskId === recorded.task?.taskId)
    logEvent('onRecord', { taskId: task.taskId, record: record.key });
  const lost = lostSubmits(recorded, notes, runs).filter(({ id }) => !repeats.includes(id));
  const ids = [...lost.map(({ id }) => id), ...repeats];
  const sent = recorded.entries.findLast(
    (entry): entry is SendingEntry => entry.event === 'sending' && ids.includes(entry.id),
  );
  return {
    recorded,
    task: task && { taskId: task.taskId, service: task.service },
    lost,
    sentTo: sent ?? lost.findLast(({ service }) => service !== undefined),
    keySent: recorded.keySent || hasReached(before) || ids.length > 0 || isReset,
    repeated: Math.max(ids.length, recorded.paidSends.length),
  };
}

const isTask = (known: Partial<KnownTask> | undefined): known is KnownTask => known?.taskId !== undefined;

const hasReached = ({ outcome = 'not-sent' }: SubmitNote) => outcome !== 'not-sent';

function lostSubmits(
  { entries, openSends }: RecordedJob,
  { before: { refused = [] }, lost: noted }: Pick<SubmitNotes, 'before' | 'lost'>,
  runs: EarlierRuns,
): LostSubmit[] {
  const isOpen = ({ id }: { id: string }) =>
    !refused.includes(id) && !entries.some((entry) => 'send' in entry && entry.send === id);
  const onRecord = openSends.map(({ id, at, service }) => ({
    id,
    why: `a request was sent at ${at} and its answer is not on record`,
    service,
  }));
  const lost = unique([...(runs.lost ? [runs.lost] : []), ...noted, ...onRecord]).filter(isOpen);
  // The record has the id of a send that its worker took along, also once somebody has decided to repeat it.
  const sent = entries.filter((entry) => entry.event === 'sending' && isOpen(entry));
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
