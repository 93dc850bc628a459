import type { Call } from '../src/contract/failure-table';
import type { FoundService, ServiceDirectory } from '../src/service/service-directory';
import type { VideoStorage } from '../src/storage/storage';
import { LearnedTimes } from './polls/learned-times';
import { PollPlan } from './polls/poll-plan';
import { createCallFailure } from './to-failure';

/** What activities use for one service. */
export interface ServiceTools extends FoundService {
  pollPlan: PollPlan;
}

/** The tools for a service, or why the worker has none. A job that has no task yet may get another default. */
export type FindTools = (name: string | undefined, task?: 'new task') => ServiceTools | { problem: string };

export function createFindTools(directory: ServiceDirectory, storage: VideoStorage): FindTools {
  const learned = new LearnedTimes(storage);
  return (name, task) => {
    const found = task === 'new task' ? directory.findForNew(name) : directory.find(name);
    return 'problem' in found ? found : { ...found, pollPlan: new PollPlan(found, learned) };
  };
}

/** Says why this worker has no such service: submits to one that no worker has would wait in a queue that nobody polls. */
export function createFindService(find: FindTools) {
  return async function findService({ service }: { service: string }): Promise<{ problem?: string }> {
    const found = find(service, 'new task');
    return 'problem' in found ? found : {};
  };
}

/** The tools for the service of a task. Another worker may have it, so the call is tried again. */
export function toolsFor(find: FindTools, service: string | undefined, call: Call): ServiceTools {
  const found = find(service);
  if ('problem' in found) throw createCallFailure('ServiceUnreachable', call, { message: found.problem });
  return found;
}
