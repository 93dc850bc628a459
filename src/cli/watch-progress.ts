import type { FollowOptions } from '../client/workflow-handle';

const ASK_EVERY_MS = 500;

/** A job or a batch, as far as its progress is shown. */
export interface Watched<Progress> {
  workflowId: string;
  follow(options?: FollowOptions): AsyncIterable<Progress>;
}

/** Calls back with each change until `stop` is called. A Temporal that cannot be asked for a while is asked again. */
export function watchProgress<Progress>(
  watched: Watched<Progress>,
  changed: (progress: Progress) => void,
): { stop(): void } {
  const left = new AbortController();
  const { signal } = left;
  const watch = async () => {
    for await (const progress of watched.follow({ everyMs: ASK_EVERY_MS, signal })) {
      // What was asked before the end may be answered behind it.
      if (!signal.aborted) changed(progress);
    }
    left.abort();
  };
  const keepWatching = async () => {
    while (!signal.aborted) await watch().catch(pause);
  };
  void keepWatching();
  return { stop: () => left.abort() };
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
}
