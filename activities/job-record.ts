import { randomUUID } from 'node:crypto';
import { activityInfo } from '@temporalio/activity';
import { shown } from '../src/contract/clean-text';
import type { JobCost } from '../src/contract/job-cost';
import { digestOfJob, JobRecord, type RecordedJob, recordId } from '../src/storage/job-record';
import type { VideoStorage } from '../src/storage/storage';
import { claimTask } from '../src/storage/task-claims';
import { jobName } from './attempt';
import { logEvent } from './log-event';
import { createCallFailure } from './to-failure';

/** Identifies the job of this activity by its namespace, its name and its request, or the task that it adopts. */
export function digestOf(requestOrTask: object): string {
  return digestOfJob(ownName(), requestOrTask);
}

/** The job of this activity, in a storage that several namespaces may share. */
export const ownName = () => ({ namespace: activityInfo().namespace, job: jobName() });

/** The record of the job of this activity, by its id or its digest. */
export const openRecord = (storage: VideoStorage, idOrDigest: string) =>
  new JobRecord(storage, ownName(), recordId(idOrDigest));

/** Its video was paid for once. Whoever repeats the job by mistake must not pay again, nor bring back what was to be gone. */
export function refuseForgotten({ forgotten }: RecordedJob): void {
  if (forgotten === undefined) return;
  throw createCallFailure('InvalidRequest', 'submit', {
    message: `${shown(jobName())} was forgotten at ${forgotten.at}, and nothing is paid again under its name and request: choose another name to make the video again, which is paid again`,
  });
}

/** A task as it is written down. */
export interface TaskToRecord {
  /** The send that made it, if that is known. */
  send?: string;
  taskId: string;
  service?: string | undefined;
  cost?: JobCost | undefined;
  warnings?: string[] | undefined;
}

/** A task id is worth a second try: without it, the task is lost once Temporal deletes the history. */
const WRITE_TASK_ATTEMPTS = 2;

/**
 * Writes down that the job has a task, for a later job of its name and for whoever wants to adopt the task. Temporal has the
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
  const claim = async () => {
    const claimed = await claimTask(storage, { taskId, service }, owner);
    if (!claimed.claimed) logEvent('taskOfAnotherJob', { taskId, other: claimed.by.job });
  };
  await Promise.all([
    twice(() => record.add({ event: 'task', id, ...task })).catch((fault) =>
      warnNotRecorded(record, fault, taskId),
    ),
    claim().catch((fault: unknown) => warnNotRecorded(record, fault, taskId)),
  ]);
}

async function twice(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if (attempt === WRITE_TASK_ATTEMPTS) throw error;
    }
  }
}

export function warnNotRecorded(record: JobRecord, error: unknown, taskId?: string): void {
  logEvent('recordNotWritten', { taskId, record: record.key, error: String(error) });
}
