import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import type { VideoRequest } from '../../src/contract/request';
import type { VideoService } from '../../src/service';
import type { VideoStorage } from '../../src/storage';
import { jobId, type NamedJob } from '../attempt';
import { JobRecordFile } from '../job-record';
import { pollBounds } from '../poll-video';
import { toFailure } from '../to-failure';
import type { SubmittedTask } from './submit-video';

export interface RecallSubmitInput extends NamedJob {
  request: VideoRequest;
  /** The task that somebody found: it is put on record. */
  adopts?: string;
}

/** What the record says of the submits of a job. */
export interface RecalledSubmit {
  task?: SubmittedTask;
  /** True when the last POST is known to have made no task, and none before it may have. */
  madeNoTask: boolean;
  /** The worker's own. */
  onLostSubmit: LostSubmitPolicy;
}

export interface RecallSubmitDeps {
  service: VideoService;
  storage: VideoStorage;
  onLostSubmit: LostSubmitPolicy;
}

/** For a submit whose activity could not tell its end, or was settled by somebody: the record knows more, or is to. */
export function createRecallSubmit({ service, storage, onLostSubmit }: RecallSubmitDeps) {
  return async function recallSubmit(input: RecallSubmitInput): Promise<RecalledSubmit> {
    const record = JobRecordFile.of(storage, { job: jobId(input), request: input.request });
    const task = (taskId: string) => ({ taskId, record: record.id, ...pollBounds(service.profile) });
    if (input.adopts !== undefined) {
      await record.writeTask(input.adopts);
      return { task: task(input.adopts), madeNoTask: false, onLostSubmit };
    }
    try {
      const found = await record.read();
      if (found && 'taskId' in found) {
        const isStored = found.state === 'stored' && { isStored: true };
        return { task: { ...task(found.taskId), ...isStored }, madeNoTask: false, onLostSubmit };
      }
      const madeNoTask = found?.state === 'refused' && found.lostBefore === undefined;
      return { madeNoTask, onLostSubmit };
    } catch (error) {
      throw toFailure(error, 'submit');
    }
  };
}
