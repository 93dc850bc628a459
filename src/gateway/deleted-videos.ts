import type { JobResult } from '../contract/job';
import { canRemove, ForgetStopped, forgetVideo } from '../retention';
import { isStored, type VideoStorage } from '../storage';
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

  /** A file that another job uses too stays; this caller sees it no more. */
  private async removeFile(job: string, { video, extras, taskId }: Removable): Promise<void> {
    const { storage, namespace } = this;
    if (canRemove(storage)) {
      // A storage that fails is a 503, whatever it was asked for.
      return forgetVideo(storage, { namespace, job, video, extras, taskId }).catch((error: unknown) => {
        throw error instanceof ForgetStopped ? error.cause : error;
      });
    }
    if (storage.remove === undefined) throw cannotRemove();
    for (const { uri } of [video, ...Object.values(extras ?? {})]) await storage.remove(uri);
  }
}

type Removable = Pick<JobResult, 'video' | 'taskId' | 'extras'>;

const keyOf = (workflowId: string) => `gateway/deleted/${workflowId}.json`;

const cannotRemove = () =>
  new Refusal({
    status: 409,
    code: 'cannot_delete',
    message: 'The storage of this gateway cannot remove videos.',
  });
