import { activityInfo } from '@temporalio/activity';
import type { VideoRequest } from '../src/contract/request';
import { digestOfJob, JobRecord, recordId } from '../src/storage/job-record';
import type { VideoStorage } from '../src/storage/storage';
import { describeJob } from './attempt';
import type { FindTools } from './service-tools';
import { toFailure } from './to-failure';

/** Input of the activity findTurn. */
export interface FindTurnInput {
  request: VideoRequest;
  /** The services to try, each with the name of its job. */
  turns: { service: string; job: string }[];
  /** Whoever started the job knows that workers have the services. */
  isVouchedFor: boolean;
}

/** With which service a job begins. */
export interface FoundTurn {
  /** Why this worker has no such service. */
  problem?: string;
  /** The index of the service that may have a task of an earlier run already; 0 when none has. */
  first: number;
}

/**
 * Finds where a job with several services begins: a run before it may have got further, and what that one paid for is not paid
 * again. Its job runs, or has its record in the storage.
 */
export function createFindTurn(find: FindTools, storage: VideoStorage) {
  return async function findTurn({ request, turns, isVouchedFor }: FindTurnInput): Promise<FoundTurn> {
    for (const { service } of isVouchedFor ? [] : turns) {
      const found = find(service, 'new task');
      if ('problem' in found) return { problem: found.problem, first: 0 };
    }
    for (const [first, { job }] of [...turns.entries()].reverse())
      if ((await isRunning(job)) || (await mayHaveTask(storage, job, request))) return { first };
    return { first: 0 };
  };
}

async function mayHaveTask(storage: VideoStorage, job: string, request: VideoRequest): Promise<boolean> {
  const owner = { namespace: activityInfo().namespace, job };
  const record = new JobRecord(storage, owner, recordId(digestOfJob(owner, request)));
  const recorded = await record.read().catch((error: unknown) => {
    throw toFailure(error, 'submit');
  });
  return recorded.mayHavePaid;
}

async function isRunning(job: string): Promise<boolean> {
  return (await describeJob(job))?.status.name === 'RUNNING';
}
