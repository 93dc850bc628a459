import { type ApplicationFailure, activityInfo } from '@temporalio/activity';
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
  if ('problem' in found) throw notHere(found.problem, call);
  return found;
}

/** What a failure tells the workflow beside itself: this worker lacks the service, and another one may have it. */
export interface NotHere {
  mayBeElsewhere: true;
}

/** Enough for several workers to get their turn. Then the polling loop shows the problem, and polls again later. */
const MOST_POLLS_ELSEWHERE = 3;

function notHere(problem: string, call: Call): ApplicationFailure {
  const { isLocal, attempt } = activityInfo();
  // A local activity would be tried again by this same worker.
  const isFinal = isLocal || (call === 'poll' && attempt >= MOST_POLLS_ELSEWHERE);
  const failure = createCallFailure('ServiceUnreachable', call, { message: problem }, { isFinal });
  // A second detail is for the workflow alone: readers of failures know the first one.
  failure.details?.push({ mayBeElsewhere: true } satisfies NotHere);
  return failure;
}
