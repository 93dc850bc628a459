import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import type { VideoRequest } from '../../src/contract/request';
import type { VideoStorage } from '../../src/storage/storage';
import { digestOf, type KnownTask, openRecord, type SubmittedTask, takeUpTask } from '../job-record';
import type { FindTools } from '../service-tools';
import { toFailure } from '../to-failure';
import { readKnownSubmits } from './known-submits';
import type { LostSubmit } from './submit-note';

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
export function createRecallSubmit(deps: RecallSubmitDeps) {
  return async function recallSubmit(input: RecallSubmitInput): Promise<RecalledSubmit> {
    const record = openRecord(deps.storage, digestOf(input.request));
    const found = deps.find(input.service, 'new task');
    const { onLostSubmit = deps.onLostSubmit } = 'problem' in found ? {} : found;
    try {
      const known = await readKnownSubmits(record, { before: input.noted ?? {}, lost: [] });
      const { task, recorded } = known;
      if (task) {
        const taken = await takeUpTask(deps, record, { task, recorded }, input);
        return { task: taken, madeNoTask: false, onLostSubmit };
      }
      const lost = known.lost.at(-1);
      return {
        madeNoTask: recorded.entries.length > 0 && lost === undefined,
        ...(recorded.mayHavePaid && { mayHavePaid: true }),
        onLostSubmit,
        lost: lost && { id: lost.id, service: lost.service },
      };
    } catch (error) {
      throw toFailure(error, 'submit');
    }
  };
}
