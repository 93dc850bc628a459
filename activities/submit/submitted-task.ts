import type { JobOptions } from '../../src/contract/job';
import type { JobCost } from '../../src/contract/job-cost';
import type { VideoRequest } from '../../src/contract/request';
import { estimatedCost } from '../job-cost';
import type { FindTools } from '../service-tools';
import type { KnownTask } from './known-submits';

/** The task of a job. */
export interface SubmittedTask {
  taskId: string;
  /** The named service that has the task: polls and the download ask it, whatever the worker's default becomes. */
  service?: string | undefined;
  /** The id of the job's record in the storage. */
  record?: string;
  /** How long to wait before the first poll. */
  nextPollMs: number;
  /** What the worker learns from the task is filed under. Only of a task that was just made: the others began earlier. */
  kind?: string;
  /** What the job costs, if the profile has prices or the record says it. */
  cost?: JobCost;
  /** Whether the video is stored already, according to the record. */
  isStored?: boolean;
}

/** The job that has a task. */
interface TaskOfJob {
  record: string;
  request?: VideoRequest | undefined;
  cost?: JobCost | undefined;
  /** The rules of a task that was just made. Any other one may have ended: it is polled at once. */
  isNew?: { polling: JobOptions['polling'] | undefined };
}

/** A task as the workflow needs it. A worker without its service knows only where it is: another worker polls it. */
export function submittedTask(
  { taskId, service }: KnownTask,
  { record, request, cost: recorded, isNew }: TaskOfJob,
  tools: ReturnType<FindTools>,
): SubmittedTask {
  const known = { taskId, ...(service !== undefined && { service }), record };
  if ('problem' in tools) return { ...known, nextPollMs: 0, ...(recorded && { cost: recorded }) };
  const kind = isNew && request && tools.pollPlan.kindOf(request);
  const cost = recorded ?? (request && estimatedCost(tools, request));
  return {
    ...known,
    nextPollMs: isNew ? tools.pollPlan.nextPollMs({ kind, waitedMs: 0, polling: isNew.polling }) : 0,
    ...(kind !== undefined && { kind }),
    ...(cost && { cost }),
  };
}
