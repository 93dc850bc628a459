import type { FollowOptions } from '../../src/client/workflow-handle';

/** A job or a batch that never ends and reports the progress of a test. Failed queries are repeated. */
export function followed<Progress>(workflowId: string, progress: () => Promise<Progress>) {
  return {
    workflowId,
    async *follow({ everyMs, signal }: FollowOptions = {}) {
      while (!signal?.aborted) {
        const latest = await progress().catch(() => undefined);
        if (latest !== undefined) yield latest;
        await new Promise((resolve) => setTimeout(resolve, everyMs));
      }
    },
  };
}
