import type { WorkflowHandle } from '@temporalio/client';
import type { BatchProgress, BatchResult } from '../contract/batch';
import { PROGRESS_QUERY } from '../contract/names';
import { orTellUnserved } from './missing-worker';
import { type FollowOptions, failureIn, followedWorkflow, jobProgress, resultOf } from './video-job';

/**
 * One batch of videos, from `startBatch` or `batch`. Its methods ask Temporal, so they work in any process.
 *
 * @example
 * ```ts
 * for await (const { succeeded, failed } of videos.batch('foxes').follow()) console.log(succeeded, failed);
 * ```
 */
export interface VideoBatch {
  workflowId: string;
  /** Where the batch is now. Needs a running worker. */
  progress(options?: ItemOptions): Promise<BatchProgress>;
  /** Yields the progress at each change until the batch ends. */
  follow(options?: FollowOptions & ItemOptions): AsyncIterable<BatchProgress>;
  /** Has the running items poll their tasks now instead of at the next planned time. */
  pollNow(): Promise<void>;
  /** Starts no more items and ends the running ones. The results list what was paid for, with its task id. */
  cancel(): Promise<void>;
  /** Waits for the counts and the location of the results. Rejects with a VideoFailure if a failed item stopped the batch. */
  result(): Promise<BatchResult>;
}

/** How much of the items of a batch is asked for. */
export interface ItemOptions {
  /** Also asks the first 20 running items for their own progress: a query each. */
  items?: boolean;
}

const MOST_ITEMS_ASKED = 20;

/** The progress of a batch with that of its first running items, as each of them says it. */
async function withItems(
  { client }: WorkflowHandle,
  { running, ...progress }: BatchProgress,
): Promise<BatchProgress> {
  const asked = running.slice(0, MOST_ITEMS_ASKED).map(async (item) => {
    const own = await jobProgress(client.getHandle(item.name)).catch(() => undefined);
    return own ? { ...item, progress: own } : item;
  });
  return { ...progress, running: [...(await Promise.all(asked)), ...running.slice(MOST_ITEMS_ASKED)] };
}

export function batchOf(handle: WorkflowHandle, log: (line: string) => void = () => undefined): VideoBatch {
  const progress = async ({ items }: ItemOptions = {}) => {
    const own = await handle.query<BatchProgress>(PROGRESS_QUERY);
    return items ? withItems(handle, own) : own;
  };
  return {
    ...followedWorkflow(handle, progress),
    result: () =>
      orTellUnserved(handle, resultOf<BatchResult>(handle), log).catch((error: unknown) => {
        throw failureIn(error) ?? error;
      }),
  };
}
