import type { JobCost } from '../../src/contract/job-cost';
import type { VideoRequest } from '../../src/contract/request';
import type { JobRecord, RecordedJob } from '../../src/storage/job-record';
import type { VideoStorage } from '../../src/storage/storage';
import { estimatedCost } from '../job-cost';
import { recordTask } from '../job-record';
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

/**
 * A task that the job has already. It may have ended, so it is polled at once. A worker without its service knows only where
 * it is: another worker polls it.
 */
export function taskOnRecord(
  { taskId, service }: KnownTask,
  record: JobRecord,
  { recorded, request }: { recorded: RecordedJob; request: VideoRequest | undefined },
  find: FindTools,
): SubmittedTask {
  const stored = recorded.stored?.taskId === taskId ? recorded.stored : undefined;
  const tools = find(service);
  const cost =
    stored?.cost ??
    recorded.task?.cost ??
    (request === undefined || 'problem' in tools ? undefined : estimatedCost(tools, request));
  return { taskId, service, record: record.id, nextPollMs: 0, cost, ...(stored && { isStored: true }) };
}

/** The same, for a task that the worker that made it may not have written down: it may have died before it could. */
export async function takeUpTask(
  { find, storage }: { find: FindTools; storage: VideoStorage },
  record: JobRecord,
  { task, recorded }: { task: KnownTask; recorded: RecordedJob },
  { request, caller }: { request: VideoRequest; caller?: string | undefined },
): Promise<SubmittedTask> {
  if (recorded.task?.taskId !== task.taskId) await recordTask(storage, record, task, caller);
  return taskOnRecord(task, record, { recorded, request }, find);
}
