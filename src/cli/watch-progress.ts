import type { FollowOptions } from '../client/workflow-handle';

const QUERY_EVERY_MS = 500;

/** A job or a batch whose progress is shown. */
export interface Watched<Progress> {
  workflowId: string;
  follow(options?: FollowOptions & { items?: boolean }): AsyncIterable<Progress>;
}

/** Calls back with each change until `stop` is called. Errors of Temporal are retried. */
export function watchProgress<Progress>(
  watched: Watched<Progress>,
  changed: (progress: Progress) => void,
): { stop(): void } {
  const stopped = new AbortController();
  const { signal } = stopped;
  const watch = async () => {
    for await (const progress of watched.follow({ everyMs: QUERY_EVERY_MS, signal, items: true })) {
      // A query that was sent before `stop` may be answered after it.
      if (!signal.aborted) changed(progress);
    }
    stopped.abort();
  };
  const keepWatching = async () => {
    while (!signal.aborted) await watch().catch(pause);
  };
  void keepWatching();
  return { stop: () => stopped.abort() };
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, QUERY_EVERY_MS));
}
