import { removeVideo } from '../client/forget-files';
import type { JobResult } from '../contract/job';
import { canRemove, isStored, type VideoStorage } from '../storage';
import { Refusal } from './http-errors';

/**
 * Which videos were deleted, as marks in the storage. The workflow itself stays until Temporal's retention ends, because a
 * deleted workflow would no longer count as one of the key's jobs of the day, and the job's record in the storage stays for
 * good. So a repeated Idempotency-Key is answered with 409 and pays nothing, even after the retention.
 */
export class DeletedVideos {
  constructor(
    private readonly storage: VideoStorage,
    private readonly namespace: string,
  ) {}

  has(workflowId: string): Promise<boolean> {
    return isStored(this.storage, keyOf(workflowId));
  }

  /** The file goes first: a DELETE that stops in between can be repeated. */
  async remove(workflowId: string, result: Removable | undefined): Promise<void> {
    if (result !== undefined) await this.removeFile(workflowId, result);
    const content = JSON.stringify({ workflowId, deletedAt: new Date().toISOString() });
    await this.storage.write(keyOf(workflowId), content, 'application/json');
  }

  /** A file that is no longer this job's stays; the caller does not see it. */
  private async removeFile(job: string, { video: { uri, sha256 }, taskId }: Removable): Promise<void> {
    const { storage, namespace } = this;
    if (!canRemove(storage)) throw cannotRemove();
    const key = storage.keyOf(uri);
    if (key !== undefined) await removeVideo(storage, { namespace, job, taskId, key, sha256 });
  }
}

type Removable = Pick<JobResult, 'video' | 'taskId'>;

const keyOf = (workflowId: string) => `gateway/deleted/${workflowId}.json`;

const cannotRemove = () =>
  new Refusal({
    status: 409,
    code: 'cannot_delete',
    message: 'The storage of this gateway cannot remove videos.',
  });
