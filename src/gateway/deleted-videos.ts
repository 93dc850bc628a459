import { isStored, type VideoStorage } from '../storage';
import { Refusal } from './http-errors';

/**
 * Which videos were deleted, as marks in the storage. The workflow itself stays until Temporal's retention ends, because a
 * deleted workflow would no longer count as one of the key's jobs of the day, and the job's record in the storage stays for
 * good. So a repeated Idempotency-Key is answered with 409 and pays nothing, even after the retention.
 */
export class DeletedVideos {
  constructor(private readonly storage: Pick<VideoStorage, 'read' | 'write' | 'remove'>) {}

  has(workflowId: string): Promise<boolean> {
    return isStored(this.storage, keyOf(workflowId));
  }

  /** The file goes first: a DELETE that stops in between can be repeated. */
  async remove(workflowId: string, uri: string | undefined): Promise<void> {
    if (uri !== undefined) {
      if (this.storage.remove === undefined) throw cannotRemove();
      await this.storage.remove(uri);
    }
    const content = JSON.stringify({ workflowId, deletedAt: new Date().toISOString() });
    await this.storage.write(keyOf(workflowId), content, 'application/json');
  }
}

const keyOf = (workflowId: string) => `gateway/deleted/${workflowId}.json`;

const cannotRemove = () =>
  new Refusal({
    status: 409,
    code: 'cannot_delete',
    message: 'The storage of this gateway cannot remove videos.',
  });
