import type { WorkflowHandle } from '@temporalio/client';
import type { BatchProgress, BatchResult } from '../contract/batch';
import type { ItemDecision } from '../contract/lost-submit';
import { readFailure } from '../contract/video-failure';
import { endedByTemporal, type FollowOptions, followedWorkflow, resultOf } from './workflow-handle';

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
  /** Whether Temporal has a batch with this workflow id. */
  exists(): Promise<boolean>;
  /** The task queue on which a worker must run for the batch to continue. */
  taskQueue(): Promise<string>;
  /** Where the batch is now. Needs a running worker. */
  progress(): Promise<BatchProgress>;
  /** Yields the progress at each change until the batch ends. */
  follow(options?: FollowOptions): AsyncIterable<BatchProgress>;
  /** Has the batch poll its tasks now instead of at the next planned time. */
  pollNow(): Promise<void>;
  /** Settles the lost submit of an item, while the item's phase is `needs-decision`. */
  decideSubmit(decision: ItemDecision): Promise<void>;
  /** Starts no more items and ends the running ones. The results list what was paid for, with its task id. */
  cancel(): Promise<void>;
  /** Waits for the counts and the location of the results. Rejects with a VideoFailure if a failed item stopped the batch. */
  result(): Promise<BatchResult>;
}

export function batchOf(handle: WorkflowHandle): VideoBatch {
  return {
    ...followedWorkflow<BatchProgress, ItemDecision>(handle),
    result: () =>
      resultOf<BatchResult>(handle).catch((error: unknown) => {
        throw endedByTemporal(error) ?? readFailure(error) ?? error;
      }),
  };
}
