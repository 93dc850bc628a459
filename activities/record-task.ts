import { randomUUID } from 'node:crypto';
import { activityInfo } from '@temporalio/activity';
import { shown } from '../src/contract/clean-text';
import type { JobCost } from '../src/contract/job-cost';
import type { VideoRequest } from '../src/contract/request';
import { estimateJob } from '../src/service/prices';
import { digestOfJob, type JobEntry, JobRecord, type RecordedJob } from '../src/storage/job-record';
import type { VideoStorage } from '../src/storage/storage';
import { claimTask, type TaskName } from '../src/storage/task-claims';
import { jobName, logEvent } from './attempt';
import type { FindTools } from './service-tools';
import { createCallFailure } from './to-failure';

/** Identifies the job of this activity by its namespace, its name and its request, or the task that it adopts. */
export function digestOf(requestOrTask: object): string {
  return digestOfJob(ownName(), requestOrTask);
}

/** The job of this activity, in a storage that several namespaces may share. */
export const ownName = () => ({ namespace: activityInfo().namespace, job: jobName() });

/** The record of the job of this activity, by its id or its digest. */
export const openRecord = (storage: VideoStorage, idOrDigest: string) =>
  new JobRecord(storage, ownName(), idOrDigest);

/** Its video was paid for once. A job that is repeated by mistake must not pay again, nor bring back what was to be gone. */
export function refuseForgotten({ forgotten }: RecordedJob): void {
  if (forgotten === undefined) return;
  throw createCallFailure('InvalidRequest', 'submit', {
    message: `${shown(jobName())} was forgotten at ${forgotten.at}, and nothing is paid again under its name and request: choose another name to make the video again, which is paid again`,
  });
}

/** A task as it is written down. */
type TaskToRecord = Omit<Extract<JobEntry, { event: 'task' }>, 'event' | 'id' | 'at' | 'namespace' | 'job'>;

/**
 * Writes down that the job has a task, for a later job of its name and for one that wants to adopt the task. Temporal has the
 * task too: if it cannot be written, the record stays at `sending`, which is held and never repeated.
 */
export async function recordTask(
  storage: VideoStorage,
  record: JobRecord,
  task: TaskToRecord,
  caller: string | undefined,
): Promise<void> {
  const { taskId, service } = task;
  const owner = { ...ownName(), record: record.id, caller };
  const id = randomUUID();
  const write = () => record.add({ event: 'task', id, ...task });
  const claim = async () => {
    const other = await claimTask(storage, { taskId, service }, owner);
    if (other) logEvent('taskOfAnotherJob', { taskId, other: other.job });
  };
  const warn = (fault: unknown) => warnNotRecorded(record, fault, taskId);
  // Worth a second try: without them, the task is lost once Temporal deletes the history, or another job may take it.
  await Promise.all([write().catch(write).catch(warn), claim().catch(claim).catch(warn)]);
}

export function warnNotRecorded(record: JobRecord, error: unknown, taskId?: string): void {
  logEvent('recordNotWritten', { taskId, record: record.key, error: String(error) });
}

/** The task of a job. */
export interface SubmittedTask extends TaskName {
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

/**
 * A task that the job has already. It may have ended, so it is polled at once. A worker without its service knows only where
 * it is: another worker polls it.
 */
export function taskOnRecord(
  { taskId, service }: TaskName,
  record: JobRecord,
  { recorded, request }: { recorded: RecordedJob; request: VideoRequest | undefined },
  find: FindTools,
): SubmittedTask {
  const tools = find(service);
  const isKnown = recorded.task?.taskId === taskId;
  const cost =
    (isKnown ? (recorded.stored?.cost ?? recorded.task?.cost) : undefined) ??
    (request === undefined || 'problem' in tools ? undefined : estimateJob(tools, request));
  const isStored = isKnown && recorded.stored !== undefined;
  return { taskId, service, record: record.id, nextPollMs: 0, cost, ...(isStored && { isStored }) };
}

/** The same, for a task that the worker that made it may not have written down: it may have died before it could. */
export async function takeUpTask(
  { find, storage }: { find: FindTools; storage: VideoStorage },
  record: JobRecord,
  { recorded }: { recorded: RecordedJob },
  task: TaskName,
  { request, caller }: { request: VideoRequest; caller?: string | undefined },
): Promise<SubmittedTask> {
  if (recorded.task?.taskId !== task.taskId) await recordTask(storage, record, task, caller);
  return taskOnRecord(task, record, { recorded, request }, find);
}
