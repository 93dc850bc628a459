import type { WorkflowHandle } from '@temporalio/client';
import type { BatchProgress, BatchResult } from '../contract/batch';
import { PROGRESS_QUERY } from '../contract/names';
import { orTellUnserved } from './missing-worker';
import { type FollowOptions, failureIn, followedWorkflow, resultOf } from './video-job';

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
  /** Where the batch is now. Needs a running worker. Its items are jobs with progress of their own. */
  progress(): Promise<BatchProgress>;
  /** Yields the progress at each change until the batch ends. */
  follow(options?: FollowOptions): AsyncIterable<BatchProgress>;
  /** Has the running items poll their tasks now instead of at the next planned time. */
  pollNow(): Promise<void>;
  /** Starts no more items and ends the running ones. The results list what was paid for, with its task id. */
  cancel(): Promise<void>;
  /** Waits for the counts and the location of the results. Rejects with a VideoFailure if a failed item stopped the batch. */
  result(): Promise<BatchResult>;
}

export function batchOf(handle: WorkflowHandle, log: (line: string) => void = () => undefined): VideoBatch {
  return {
    ...followedWorkflow(handle, () => handle.query<BatchProgress>(PROGRESS_QUERY)),
    result: () =>
      orTellUnserved(handle, resultOf<BatchResult>(handle), log).catch((error: unknown) => {
        throw failureIn(error) ?? error;
      }),
  };
}
