import { activityInfo } from '@temporalio/activity';
import { shown } from '../../src/contract/clean-text';
import {
  type JobRecord,
  type RecordedJob,
  recordedJob,
  type SendingEntry,
} from '../../src/storage/job-record';
import { jobName } from '../attempt';
import { logEvent } from '../log-event';
import { createCallFailure } from '../to-failure';
import { type EarlierRuns, readEarlierRuns } from './earlier-runs';
import { isUnknownSend, type LostSubmit, type SubmitNotes, unique } from './submit-note';

/** A task that an earlier attempt, run or job of this name has made. */
export interface KnownTask {
  taskId: string;
  /** The named service that has it. */
  service?: string | undefined;
}

/** What was sent for a job before, as far as anybody knows. */
export interface KnownSubmits {
  recorded: RecordedJob;
  task?: KnownTask;
  /** The last is the one to report. */
  lost: LostSubmit[];
  /** The last send that is lost or that somebody decided to repeat, if it is on record. */
  unconfirmed?: SendingEntry;
  /** The service may have received the idempotency key. */
  keySent: boolean;
  /** An answer after which the service may have a task. */
  unsure?: string | undefined;
}

/** What earlier attempts (by their notes), earlier jobs of this name (by the record) and earlier runs have sent. */
export async function readKnownSubmits(
  record: JobRecord,
  notes: SubmitNotes,
  { repeats = [], resetRuns }: { repeats?: readonly string[] | undefined; resetRuns?: string[] | undefined },
): Promise<KnownSubmits> {
  const recorded = await record.read().catch((error: unknown) => {
    // The task is known without the storage, and goes on without it.
    if (notes.before.taskId === undefined) throw error;
    return recordedJob([]);
  });
  if (recorded.forgotten) throw wasForgotten(recorded.forgotten.at);
  const runs = resetRuns && notes.before.taskId === undefined ? await readEarlierRuns(resetRuns) : {};
  const lost = lostSubmits(recorded, notes, runs).filter(({ id }) => !repeats.includes(id));
  const ids = [...lost.map(({ id }) => id), ...repeats];
  const unconfirmed = recorded.entries.findLast(
    (entry): entry is SendingEntry => entry.event === 'sending' && ids.includes(entry.id),
  );
  const task = taskOf(recorded, notes, runs);
  if (task && task.taskId === recorded.task?.taskId)
    logEvent('onRecord', { taskId: task.taskId, record: record.key });
  return {
    recorded,
    lost,
    keySent: recorded.keySent || notes.before.keySent === true || ids.length > 0 || resetRuns !== undefined,
    unsure: notes.before.unsure ?? recorded.unsure,
    ...(task && { task }),
    ...(unconfirmed && { unconfirmed }),
  };
}

function taskOf({ task }: RecordedJob, { before }: SubmitNotes, runs: EarlierRuns): KnownTask | undefined {
  if (before.taskId !== undefined) return { taskId: before.taskId, service: before.service };
  if (task) return { taskId: task.taskId, service: task.service };
  return runs.taskId === undefined ? undefined : { taskId: runs.taskId, service: runs.service };
}

function lostSubmits(
  { entries, openSends }: RecordedJob,
  notes: SubmitNotes,
  runs: EarlierRuns,
): LostSubmit[] {
  const { refused = [] } = notes.before;
  const isEnded = (id: string) =>
    refused.includes(id) || entries.some((entry) => 'send' in entry && entry.send === id);
  const onRecord = openSends.map(({ id, at, service }) => ({
    id,
    why: `a request was sent at ${at} and its answer is not on record`,
    ...(service !== undefined && { service }),
  }));
  const noted = [...(runs.lost ? [runs.lost] : []), ...notes.lost];
  const lost = unique([...noted, ...onRecord]).filter(({ id }) => !isEnded(id));
  // The record has the id of a send that its worker took along, also once somebody has decided to repeat it.
  const sentBefore = entries.filter(({ event, id }) => event === 'sending' && !isEnded(id));
  const isKnown = [...sentBefore, ...lost].some(({ id }) => !isUnknownSend(id));
  return isKnown ? lost.filter(({ id }) => !isUnknownSend(id)) : lost;
}

/** Longer than an answer usually takes. */
const ANSWERED_WITHIN_MS = 3_000;

/**
 * Another run of this job may be sending at this moment, such as the child of a parent that was terminated and started again.
 * The first attempt leaves it a few seconds for its answer.
 */
export function leaveOthersTime({ recorded }: KnownSubmits): void {
  const youngestMs = Math.max(...recorded.openSends.map(({ at }) => Date.parse(at)));
  if (activityInfo().attempt > 1 || Math.abs(Date.now() - youngestMs) > ANSWERED_WITHIN_MS) return;
  throw createCallFailure('ServiceUnreachable', 'submit', {
    message: 'nothing was sent, because another run of this job sent its request a moment ago',
    advice: 'The next attempt follows in a few seconds.',
    retryAfter: ANSWERED_WITHIN_MS / 1_000,
  });
}

/** Its video was paid for once. Whoever repeats the job by mistake must not pay again, nor bring back what was to be gone. */
function wasForgotten(at: string) {
  return createCallFailure('InvalidRequest', 'submit', {
    message: `${shown(jobName())} was forgotten at ${at}, and nothing is paid again under its name and request: choose another name to make the video again, which is paid again`,
  });
}
