import type { ServicePolling } from '../../src/contract/job';
import type { JobCost } from '../../src/contract/job-cost';
import type { VideoRequest } from '../../src/contract/request';
import type { UsualTimes } from '../../src/contract/usual-times';
import type { VideoService } from '../../src/service';
import { estimatedCost } from '../job-cost';
import type { JobRecord, JobRecordFile } from '../job-record';
import type { LearnedTimes } from '../learn/learned-times';
import { servicePollingOf } from '../service-polling';

/** The task of a job. */
export interface SubmittedTask {
  taskId: string;
  /** How the service wants to be polled. */
  servicePolling?: ServicePolling;
  /** How long such tasks usually take, if the worker has learned it. */
  usualTimes?: UsualTimes;
  /** What the worker learns from the task is filed under. Only of a task that was just made: the others began earlier. */
  kind?: string;
  /** The id of the job's record in the storage. */
  record?: string;
  /** The worker has a default receiver of webhooks. */
  hasReceiver?: true;
  /** Whether the video is stored already, according to the record. */
  isStored?: boolean;
  /** What the job costs, if the profile has prices or the record says it. */
  cost?: JobCost;
}

/** What describes tasks to the workflow. */
export interface TaskDescriptionDeps {
  service: VideoService;
  learnedTimes: LearnedTimes;
  pollsPerSecondSaved?: number;
}

/** A task as the workflow needs it. */
export function submittedTask(
  taskId: string,
  { record, request }: { record: JobRecordFile; request: VideoRequest },
  { service, learnedTimes, pollsPerSecondSaved }: TaskDescriptionDeps,
): SubmittedTask {
  const cost = record.facts.cost ?? estimatedCost(service, request);
  return {
    taskId,
    record: record.id,
    ...(cost && { cost }),
    ...servicePollingOf(service.profile, pollsPerSecondSaved),
    ...learnedTimes.usualTimesFor(request),
  };
}

/** The task that a record names; undefined when it names none. */
export function recordedTask(
  found: JobRecord | undefined,
  job: { record: JobRecordFile; request: VideoRequest },
  deps: TaskDescriptionDeps,
): SubmittedTask | undefined {
  if (found === undefined || !('taskId' in found)) return undefined;
  const task = submittedTask(found.taskId, job, deps);
  return found.state === 'stored' ? { ...task, isStored: true } : task;
}

/** The task as the workflow can take it. */
export function asTaken(
  { cost, ...task }: SubmittedTask,
  { takesCost }: { takesCost?: true },
): SubmittedTask {
  return takesCost && cost ? { ...task, cost } : task;
}
