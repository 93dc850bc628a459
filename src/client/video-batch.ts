import type { WorkflowHandle } from '@temporalio/client';
import type { BatchProgress, BatchResult } from '../contract/batch';
import { readFailure } from '../contract/failures';
import type { ItemDecision } from '../contract/lost-submit';
import { endedByTemporal, type FollowOptions, followedWorkflow, resultOf } from './workflow-handle';

/**
 * One batch of videos, wherever it runs: what `startBatch` answers with, and `batch` for one that is there already.
 *
 * @example
 * ```ts
 * for await (const { succeeded, failed } of videos.batch('foxes').follow()) console.log(succeeded, failed);
 * ```
 */
export interface VideoBatch {
  workflowId: string;
  exists(): Promise<boolean>;
  taskQueue(): Promise<string>;
  progress(): Promise<BatchProgress>;
  /** Where the batch is, each time that has changed, until it has ended. */
  follow(options?: FollowOptions): AsyncIterable<BatchProgress>;
  pollNow(): Promise<void>;
  /** Settles the lost submit of an item, while the item's phase is `needs-decision`. */
  decideSubmit(decision: ItemDecision): Promise<void>;
  /** Begins no more items and ends those that run. What was paid for is in the results, with its task id. */
  cancel(): Promise<void>;
  /** How many were stored, and where the results of all are. A VideoFailure when the batch stopped for a failed item. */
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
