import type { FailedItem, OpenedBatch } from '../src/contract/batch';
import type { JobProgress } from '../src/contract/job';
import type { JobCost } from '../src/contract/job-cost';
import type { MoneySum } from '../src/contract/money';

/**
 * What a batch carries over when it continues as new: the workflow's second argument, which callers never set. Its input is
 * passed on beside it. Results are not: they are in the storage before the run ends.
 */
export interface CarriedBatch {
  opened: OpenedBatch;
  /** The next item to start. */
  next: number;
  succeeded: number;
  failed: number;
  /** What the items cost that have ended. */
  spent: MoneySum;
  /** With `onFailure: 'stop'` no item is started after it. */
  firstFailed?: FailedItem;
  /** Items that wait for a decision. All others have ended. */
  held: number[];
}

/**
 * What a job carries over when it continues as new, as the workflow's second argument, which callers never set. A job does so only
 * while it waits for its task. Left out: the phase and the next poll, which the next run sets itself; whether the video is stored
 * and how its download goes, because no run ends then; and the highest percentage, which the next poll brings.
 */
export interface CarriedJob {
  taskId?: string;
  /** The named service that the task belongs to. */
  service?: string;
  /** The id of the job's record in the storage. */
  record?: string;
  /** What the worker learns from the task is filed under. */
  kind?: string;
  /** How long the worker wants to wait before the next poll. */
  nextPollMs?: number;
  isAdopted?: boolean;
  /** What is known about what the job costs. */
  cost?: JobCost;
  startedAtMs: number;
  submittedAtMs: number;
  /** How long holds paused the deadline. */
  pastHoldsMs?: number;
  /** A `pollNow` signal has not been answered yet. */
  pollRequested?: boolean;
  /** The worker has a default receiver of webhooks. */
  hasReceiver?: boolean;
  polls: number;
  /** The task at the last poll. */
  task?: JobProgress['task'];
  problem?: JobProgress['problem'];
  /** How long the service asked to wait when the last poll failed. */
  retryAfterMs?: number;
  /** Polls in a row that found no task, and polls in total that found a success without a video. */
  misses?: { task: number; video: number };
  /** When the last poll was answered, in milliseconds since the submit. */
  polledMs?: number;
  /** Unknown task states that were logged already: each is logged once. */
  warnedWords?: string[];
}
