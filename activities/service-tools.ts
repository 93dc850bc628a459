import type { Call } from '../src/contract/failure-table';
import type { ServiceChoice } from '../src/contract/service-choice';
import type { FoundService, ServiceDirectory } from '../src/service';
import type { VideoStorage } from '../src/storage';
import { LearnedTimes } from './learn/learned-times';
import { createPollTask, type PollTask } from './poll-task';
import { createCallFailure } from './to-failure';

/** Which service an activity is for; the worker's default without it. */
export interface ForService {
  service?: ServiceChoice;
}

/** What activities use for one service. */
export interface ServiceTools extends FoundService {
  learnedTimes: LearnedTimes;
  pollTask: PollTask;
  /** The worker's setting. */
  pollsPerSecondSaved?: number;
}

/** The tools for a service, or why the worker has none. */
export type FindTools = (choice: ServiceChoice | undefined) => ServiceTools | { problem: string };

export function createFindTools(
  directory: ServiceDirectory,
  storage: VideoStorage,
  pollsPerSecondSaved?: number,
): FindTools {
  const tools = new Map<FoundService, ServiceTools>();
  const create = (found: FoundService): ServiceTools => ({
    ...found,
    learnedTimes: new LearnedTimes(found.service, storage),
    pollTask: createPollTask(found.service, found.rateLimiter, pollsPerSecondSaved),
    ...(pollsPerSecondSaved !== undefined && { pollsPerSecondSaved }),
  });
  return (choice) => {
    const found = directory.find(choice);
    if ('problem' in found) return found;
    const known = tools.get(found) ?? create(found);
    tools.set(found, known);
    return known;
  };
}

/** The tools for the service of a task. Another worker may have it, so the call is tried again. */
export function toolsFor(find: FindTools, { service }: ForService, call: Call): ServiceTools {
  const found = find(service);
  if ('problem' in found) throw createCallFailure('ServiceUnreachable', call, { message: found.problem });
  return found;
}
