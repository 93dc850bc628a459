import { Context } from '@temporalio/activity';
import type { Call } from '../src/contract/failure-table';
import { TASK_QUEUE_TYPES } from '../src/contract/names';
import type { FoundService, ServiceDirectory } from '../src/service/service-directory';
import { LearnedTimes, PollPlan } from './polls/poll-plan';
import { createCallFailure } from './to-failure';

/** What activities use for one service. */
export interface ServiceTools extends FoundService {
  pollPlan: PollPlan;
}

/** The tools for a service, or why the worker has none. A job that has no task yet may get another default. */
export type FindTools = (name: string | undefined, task?: 'new task') => ServiceTools | { problem: string };

export function createFindTools(directory: ServiceDirectory): FindTools {
  const learned = new LearnedTimes();
  return (name, task) => {
    const found = directory.find(task === 'new task' ? (name ?? directory.defaultService) : name);
    return 'problem' in found ? found : { ...found, pollPlan: new PollPlan(found, learned) };
  };
}

/** The task queues of submits and downloads; the queue of the job by default. */
export interface JobQueues {
  submit?: string | undefined;
  download?: string | undefined;
  /** Whether this process serves them too. If not, a job that waits long asks whether anybody does. */
  servedHere?: boolean | undefined;
}

/** What the worker of a job says about it. */
export interface JobRoute extends JobQueues {
  /** It has a receiver of webhooks for jobs that name none. */
  hasReceiver?: true;
  /** Why there is no such service. */
  problem?: string;
}

/**
 * The worker names the queues, and not the client: it knows what is served around it, so that every client and every kind of
 * worker agree.
 */
export function createRouteJob(find: FindTools, route: Omit<JobRoute, 'problem'>) {
  return async function routeJob({ service }: { service?: string | undefined }): Promise<JobRoute> {
    if (service === undefined) return route;
    const found = find(service, 'new task');
    return 'problem' in found ? { ...route, problem: found.problem } : route;
  };
}

/** Whether any worker has polled a queue for activities in the last minutes. */
export async function isServed({ queue }: { queue: string }): Promise<boolean> {
  const { client, info } = Context.current();
  const { pollers } = await client.connection.workflowService.describeTaskQueue({
    namespace: info.namespace,
    taskQueue: { name: queue },
    taskQueueType: TASK_QUEUE_TYPES.activities,
  });
  return (pollers ?? []).length > 0;
}

/** The tools for the service of a task. Another worker may have it, so the call is tried again. */
export function toolsFor(find: FindTools, service: string | undefined, call: Call): ServiceTools {
  const found = find(service);
  if ('problem' in found) throw createCallFailure('ServiceUnreachable', call, { message: found.problem });
  return found;
}
