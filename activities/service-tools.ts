import { type ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { Call } from '../src/contract/failure-table';
import type { ServiceChoice } from '../src/contract/service-choice';
import type { FoundService, ServiceDirectory } from '../src/service';
import type { VideoStorage } from '../src/storage';
import { LearnedTimes } from './learn/learned-times';
import { createPollTask, type PollTask } from './poll-task';
import { createCallFailure, withDetail } from './to-failure';

/** Which service an activity is for; the worker's default without it. */
export interface ForService {
  service?: ServiceChoice;
  /** The submit was lost at the service without a name, and stays there whatever the default is now. */
  isAtUnnamed?: boolean;
}

/** What activities use for one service. */
export interface ServiceTools extends FoundService {
  learnedTimes: LearnedTimes;
  pollTask: PollTask;
  /** The worker's setting. */
  pollsPerSecondSaved?: number;
}

/** The tools for a service, or why the worker has none. A job that has no task yet may get another default. */
export type FindTools = (
  choice: ServiceChoice | undefined,
  task?: 'new task',
) => ServiceTools | { problem: string };

export function createFindTools(
  directory: ServiceDirectory,
  storage: VideoStorage,
  pollsPerSecondSaved?: number,
): FindTools {
  const tools = new Map<FoundService, ServiceTools>();
  const create = (found: FoundService): ServiceTools => ({
    ...found,
    learnedTimes: new LearnedTimes(learnedAs(found), storage),
    pollTask: createPollTask(found, pollsPerSecondSaved),
    ...(pollsPerSecondSaved !== undefined && { pollsPerSecondSaved }),
  });
  return (choice, task) => {
    const found = task === 'new task' ? directory.findForNew(choice) : directory.find(choice);
    if ('problem' in found) return found;
    const known = tools.get(found) ?? create(found);
    tools.set(found, known);
    return known;
  };
}

/** Says why this worker has no such service: submits to one that no worker has would wait in a queue that nobody polls. */
export function createFindService(find: FindTools) {
  return async function findService({ service }: ForService): Promise<{ problem?: string }> {
    const found = find(service, 'new task');
    return 'problem' in found ? found : {};
  };
}

/** Two services at one address, such as two models, take different times. */
function learnedAs({ choice, service }: FoundService): Pick<FoundService['service'], 'address' | 'profile'> {
  if (choice === undefined) return service;
  return {
    get address() {
      return [choice.name, service.address].filter(Boolean).join(' at ');
    },
    get profile() {
      return service.profile;
    },
  };
}

/** The tools for the service of a task. Another worker may have it, so the call is tried again. */
export function toolsFor(find: FindTools, { service }: ForService, call: Call): ServiceTools {
  return orUnreachable(find(service), call);
}

/** The same for a job that may have no task yet. */
export function toolsForNew(find: FindTools, asked: ForService, call: Call): ServiceTools {
  return orUnreachable(findForNew(find, asked), call);
}

/** The tools for a job that may have no task yet. */
export function findForNew(find: FindTools, { service, isAtUnnamed }: ForService): ReturnType<FindTools> {
  return find(service, isAtUnnamed ? undefined : 'new task');
}

function orUnreachable(found: ReturnType<FindTools>, call: Call): ServiceTools {
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
  return withDetail(failure, { mayBeElsewhere: true } satisfies NotHere);
}
