import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import type { VideoRequest } from '../../src/contract/request';
import { type SentTo, sentTo } from '../../src/contract/service-choice';
import type { VideoStorage } from '../../src/storage';
import { jobId, type NamedJob } from '../attempt';
import { estimatedCost, serviceNameOf } from '../job-cost';
import { JobRecordFile, jobDigest } from '../job-record';
import { type FindTools, type ForService, findForNew } from '../service-tools';
import { toFailure } from '../to-failure';
import {
  asTaken,
  recordedTask,
  type SubmittedTask,
  submittedTask,
  toolsOnRecord,
  toolsWithout,
} from './submitted-task';

/** Input of the activity recallSubmit. */
export interface RecallSubmitInput extends NamedJob, ForService {
  request: VideoRequest;
  /** The task that an operator adopted: it is written to the record. */
  adopts?: string;
  /** As for submitVideo. */
  takesCost?: true;
  image?: string;
}

/** What the record says about the submits of a job. */
export interface RecalledSubmit {
  task?: SubmittedTask;
  /** True when neither the last POST nor an earlier one may have made a task. */
  madeNoTask: boolean;
  /** Which service got the request that may have made one. */
  lostAt?: SentTo;
  /** The worker has a default receiver of webhooks. */
  hasReceiver?: true;
  /** The worker's setting. */
  onLostSubmit: LostSubmitPolicy;
}

export interface RecallSubmitDeps {
  find: FindTools;
  storage: VideoStorage;
  onLostSubmit: LostSubmitPolicy;
}

/**
 * Reads the record after a submit that timed out, or writes the task that an operator adopted. The record is there whether or
 * not this worker has the service: a service that no worker has any more must not keep its jobs from going on.
 */
export function createRecallSubmit({ find, storage, onLostSubmit: ofWorker }: RecallSubmitDeps) {
  return async function recallSubmit(input: RecallSubmitInput): Promise<RecalledSubmit> {
    const { request, adopts, image } = input;
    const found = findForNew(find, input);
    const tools = 'problem' in found ? toolsWithout(input.service) : found;
    const { onLostSubmit = ofWorker } = 'problem' in found ? {} : found;
    const job = jobId(input);
    const record = JobRecordFile.of(storage, { job, request, digest: jobDigest(job, request), image });
    if (!('problem' in found)) void found.learnedTimes.refresh();
    if (adopts !== undefined) {
      // The lost request may have gone to another service than the one that the job names now.
      const at = await toolsOnRecord(record, { find, tools });
      record.facts = { cost: estimatedCost(at, request), service: serviceNameOf(at), choice: at.choice };
      await record.writeTask(adopts);
      const adopted = submittedTask(adopts, { record, request }, at);
      return { task: asTaken(adopted, input), madeNoTask: false, onLostSubmit };
    }
    try {
      const recorded = await record.read();
      const task = recordedTask(recorded, { record, request }, { find, tools });
      if (task) return { task: asTaken(task, input), madeNoTask: false, onLostSubmit };
      const madeNoTask = recorded?.state === 'refused' && recorded.lostSubmit === undefined;
      const isLost = recorded?.state === 'sending' || (recorded?.state === 'refused' && !madeNoTask);
      return { madeNoTask, onLostSubmit, ...(isLost && { lostAt: sentTo(record.facts.choice) }) };
    } catch (error) {
      throw toFailure(error, 'submit');
    }
  };
}
