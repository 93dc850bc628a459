import type { PollBounds } from '../../src/contract/job';
import type { VideoService } from '../../src/service';
import type { JobRecord, JobRecordFile } from '../job-record';
import { servicePollingOf } from '../poll-video';

/** The task of a job. */
export interface SubmittedTask {
  taskId: string;
  /** How often the service wants to be polled. */
  servicePolling?: PollBounds;
  /** The id of the job's record in the storage. */
  record?: string;
  /** The worker has a default receiver of webhooks. */
  hasReceiver?: true;
  /** Whether the video is stored already, according to the record. */
  isStored?: boolean;
}

export function submittedTask(
  taskId: string,
  record: JobRecordFile,
  { profile }: VideoService,
): SubmittedTask {
  return { taskId, record: record.id, ...servicePollingOf(profile) };
}

/** The task that a record names; undefined when it names none. */
export function recordedTask(
  found: JobRecord | undefined,
  record: JobRecordFile,
  service: VideoService,
): SubmittedTask | undefined {
  if (found === undefined || !('taskId' in found)) return undefined;
  const task = submittedTask(found.taskId, record, service);
  return found.state === 'stored' ? { ...task, isStored: true } : task;
}
