import { activityInfo } from '@temporalio/activity';
import { createFailure } from '../../src/contract/video-failure';
import { digestOf, openRecord, type SubmittedTask, takeUpTask } from '../record-task';
import { failingAs } from '../to-failure';
import { readKnownSubmits } from './known-submits';
import { type LostSubmit, readNote } from './submit-note';
import type { SubmitVideoDeps, SubmitVideoInput } from './submit-video';

/** Input of the activity recallSubmit. */
export interface RecallSubmitInput
  extends Pick<SubmitVideoInput, 'request' | 'service' | 'onLostSubmit' | 'repeats' | 'caller'> {
  /** The last heartbeat of the submit. */
  note?: unknown;
  /** An attempt may have sent the request and left no note of it. */
  mayHaveSent?: boolean;
}

/** What became of a submit that did not say it itself, if it is not lost. */
export interface RecalledSubmit {
  task?: SubmittedTask;
  /** An unclear answer, or a lost submit that somebody repeated, leaves a task possible. */
  mayHaveTask: boolean;
}

/**
 * Finds out what became of a submit that timed out or was cancelled, by its last note and the record; fails like it if it is
 * lost. The record is there whether or not this worker has the service: a service that no worker has any more must not keep its
 * jobs from going on.
 */
export function createRecallSubmit(deps: Pick<SubmitVideoDeps, 'find' | 'storage' | 'onLostSubmit'>) {
  return failingAs('submit', async (input: RecallSubmitInput): Promise<RecalledSubmit> => {
    const record = openRecord(deps.storage, digestOf(input.request));
    const known = await readKnownSubmits(record, readNote(input.note), input);
    const { task, recorded, mayHaveTask } = known;
    if (task) return { task: await takeUpTask(deps, record, known, task, input), mayHaveTask };
    // Once the record has entries, it has every send.
    const isUnknown = input.mayHaveSent && recorded.entries.length === 0;
    const lost = known.lost.at(-1) ?? (isUnknown ? unknownSend() : undefined);
    if (lost === undefined) return { mayHaveTask: mayHaveTask || recorded.mayHavePaid };
    const { id: lostSubmit, why: message, service } = lost;
    const found = deps.find(input.service, 'new task');
    const { onLostSubmit: policy = deps.onLostSubmit } = 'problem' in found ? {} : found;
    const { onLostSubmit = policy } = input;
    throw createFailure('SubmitUnconfirmed', { message, lostSubmit, service, onLostSubmit });
  });
}

function unknownSend(): LostSubmit {
  const { workflowExecution, activityId } = activityInfo();
  const id = `${workflowExecution?.runId ?? ''}/${activityId}`;
  return { id, why: 'it timed out before its result was known' };
}
