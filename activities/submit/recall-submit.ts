import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import type { VideoRequest } from '../../src/contract/request';
import { mayHavePaid } from '../../src/storage/job-record';
import type { VideoStorage } from '../../src/storage/storage';
import { digestOf, openRecord, recordTask } from '../job-record';
import type { FindTools } from '../service-tools';
import { toFailure } from '../to-failure';
import type { KnownTask } from './known-submits';
import type { LostSubmit } from './submit-note';
import { type SubmittedTask, submittedTask } from './submitted-task';

/** Input of the activity recallSubmit. */
export interface RecallSubmitInput {
  request: VideoRequest;
  service?: string;
  /** A task that the notes of a submit name: it is written to the record. */
  noted?: KnownTask;
  /** Whose job it is. */
  caller?: string;
}

/** What the record says about the submits of a job. */
export interface RecalledSubmit {
  task?: SubmittedTask;
  /** True when neither the last POST nor an earlier one may have made a task. */
  madeNoTask: boolean;
  /** An earlier POST may have made a task, although each was refused or repeated. */
  mayHavePaid?: true;
  /** The last send without an end on record. */
  lost?: Pick<LostSubmit, 'id' | 'service'>;
  /** The worker's setting. */
  onLostSubmit: LostSubmitPolicy;
}

export interface RecallSubmitDeps {
  find: FindTools;
  storage: VideoStorage;
  onLostSubmit: LostSubmitPolicy;
}

/**
 * Reads the record after a submit that timed out. The record is there whether or not this worker has the service: a service
 * that no worker has any more must not keep its jobs from going on.
 */
export function createRecallSubmit({ find, storage, onLostSubmit: ofWorker }: RecallSubmitDeps) {
  return async function recallSubmit(input: RecallSubmitInput): Promise<RecalledSubmit> {
    const { request, noted, caller, service } = input;
    const record = openRecord(storage, digestOf(request));
    const found = find(service, 'new task');
    const { onLostSubmit = ofWorker } = 'problem' in found ? {} : found;
    const job = { record: record.id, request };
    try {
      if (noted) {
        await record.read();
        await recordTask(storage, record, noted, caller);
        return { task: submittedTask(noted, job, find(noted.service)), madeNoTask: false, onLostSubmit };
      }
      const recorded = await record.read();
      const { task, openSends, entries } = recorded;
      if (task) {
        const { cost } = task;
        return {
          task: submittedTask(task, { ...job, cost }, find(task.service)),
          madeNoTask: false,
          onLostSubmit,
        };
      }
      const lost = openSends.at(-1);
      const madeNoTask = entries.length > 0 && lost === undefined;
      return {
        madeNoTask,
        ...(mayHavePaid(recorded) && { mayHavePaid: true }),
        onLostSubmit,
        ...(lost && { lost: { id: lost.id, service: lost.service } }),
      };
    } catch (error) {
      throw toFailure(error, 'submit');
    }
  };
}
