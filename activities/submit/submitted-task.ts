import type { ServicePolling } from '../../src/contract/job';
import type { JobCost } from '../../src/contract/job-cost';
import type { VideoRequest } from '../../src/contract/request';
import type { ServiceChoice } from '../../src/contract/service-choice';
import type { UsualTimes } from '../../src/contract/usual-times';
import { estimatedCost } from '../job-cost';
import type { JobRecord, JobRecordFile } from '../job-record';
import { servicePollingOf } from '../service-polling';
import type { FindTools, ServiceTools } from '../service-tools';

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
  /** The named service that has the task: polls and the download ask it, whatever the worker's default becomes. */
  service?: ServiceChoice;
}

/** What describes tasks to the workflow. */
export interface TaskDescriptionDeps extends Pick<ServiceTools, 'choice' | 'pollsPerSecondSaved'> {
  service: Pick<ServiceTools['service'], 'address' | 'profile'>;
  learnedTimes: Pick<ServiceTools['learnedTimes'], 'usualTimesFor'>;
}

/** For a service that this worker does not have: the name alone is known. */
export function toolsWithout(choice: ServiceChoice | undefined): TaskDescriptionDeps {
  return { ...(choice && { choice }), service: {}, learnedTimes: { usualTimesFor: () => ({}) } };
}

/** A task as the workflow needs it. */
export function submittedTask(
  taskId: string,
  { record, request }: { record: JobRecordFile; request: VideoRequest },
  { choice, service, learnedTimes, pollsPerSecondSaved }: TaskDescriptionDeps,
): SubmittedTask {
  const cost = record.facts.cost ?? estimatedCost({ service, ...(choice && { choice }) }, request);
  return {
    taskId,
    record: record.id,
    ...(choice && { service: choice }),
    ...(cost && { cost }),
    ...servicePollingOf(service.profile, pollsPerSecondSaved),
    ...learnedTimes.usualTimesFor(request),
  };
}

/** The task that a record names, at the service that the record names; undefined when it names none. */
export function recordedTask(
  found: JobRecord | undefined,
  job: { record: JobRecordFile; request: VideoRequest },
  { find, tools }: { find: FindTools; tools: TaskDescriptionDeps },
): SubmittedTask | undefined {
  if (found === undefined || !('taskId' in found)) return undefined;
  const task = submittedTask(found.taskId, job, toolsAt(job.record.facts.choice, { find, tools }));
  return found.state === 'stored' ? { ...task, isStored: true } : task;
}

/** A task at a service that is known from elsewhere; at the service without a name if there is none. */
export function taskAt(
  choice: ServiceChoice | undefined,
  taskId: string,
  job: { record: JobRecordFile; request: VideoRequest },
  known: { find: FindTools; tools: TaskDescriptionDeps },
): SubmittedTask {
  const isUnnamedGone = choice === undefined && 'problem' in known.find(undefined);
  const at = isUnnamedGone ? known.tools : toolsAt(choice, known);
  // The record may be about a request to another service, with another price.
  if (job.record.facts.choice?.name !== at.choice?.name) job.record.facts = {};
  return submittedTask(taskId, job, at);
}

/** The tools for the service that got the last request of a job, whichever one the job names now. */
export async function toolsOnRecord(
  record: JobRecordFile,
  { find, tools }: { find: FindTools; tools: TaskDescriptionDeps },
): Promise<TaskDescriptionDeps> {
  const found = await record.read().catch(() => undefined);
  // A request that was certainly refused leaves nothing behind where it went.
  const isAnywhere =
    found === undefined ||
    (found.state === 'refused' && found.lostSubmit === undefined && found.unsure === undefined);
  return isAnywhere ? tools : toolsAt(record.facts.choice, { find, tools });
}

function toolsAt(
  choice: ServiceChoice | undefined,
  { find, tools }: { find: FindTools; tools: TaskDescriptionDeps },
): TaskDescriptionDeps {
  const known = find(choice);
  if (!('problem' in known)) return known;
  const { choice: _, ...rest } = tools;
  // Without its service here, another worker polls the task.
  return { ...rest, ...(choice && { choice }) };
}

/** The task as the workflow can take it. */
export function asTaken(
  { cost, ...task }: SubmittedTask,
  { takesCost }: { takesCost?: true },
): SubmittedTask {
  return takesCost && cost ? { ...task, cost } : task;
}
