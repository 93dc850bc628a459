import { activityInfo } from '@temporalio/activity';
import { childName } from '../src/contract/names';
import type { VideoRequest } from '../src/contract/request';
import { createFailure } from '../src/contract/video-failure';
import { digestOfJob, JobRecord } from '../src/storage/job-record';
import type { VideoStorage } from '../src/storage/storage';
import { describeWorkflow, jobName } from './attempt';
import type { FindTools } from './service-tools';
import { failingAs } from './to-failure';

/** Input of the activity findTurn. */
export interface FindTurnInput {
  request: VideoRequest;
  /** The services to try. */
  services: string[];
  /** The caller knows that workers have the services. */
  isVouchedFor: boolean;
}

/**
 * Finds the index of the service with which a job begins: a run before it may have got further, and what that one paid for is
 * not paid again. Its job there runs, or has its record in the storage.
 */
export function createFindTurn(find: FindTools, storage: VideoStorage) {
  return failingAs('submit', async (input: FindTurnInput): Promise<number> => {
    const { request, services, isVouchedFor } = input;
    for (const service of isVouchedFor ? [] : services) {
      const found = find(service, 'new task');
      if ('problem' in found) throw createFailure('InvalidRequest', { message: found.problem });
    }
    const jobs = services.map((service) => childName(jobName(), service));
    for (const [turn, job] of [...jobs.entries()].slice(1).reverse()) {
      const found = await describeWorkflow(job);
      if (found && found.closeTime === undefined) return turn;
      const owner = { namespace: activityInfo().namespace, job };
      const record = new JobRecord(storage, owner, digestOfJob(owner, request));
      if ((await record.read()).mayHavePaid) return turn;
    }
    return 0;
  });
}
