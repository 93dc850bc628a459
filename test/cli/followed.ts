import type { FollowOptions } from '../../src/client/workflow-handle';

/** A job or a batch that runs for ever and tells what a test has it tell; a question that fails is asked again. */
export function followed<Progress>(workflowId: string, progress: () => Promise<Progress>) {
  return {
    workflowId,
    async *follow({ everyMs, signal }: FollowOptions = {}) {
      while (!signal?.aborted) {
        const told = await progress().catch(() => undefined);
        if (told !== undefined) yield told;
        await new Promise((resolve) => setTimeout(resolve, everyMs));
      }
    },
  };
}
