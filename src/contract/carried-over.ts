import type { FailedItem, OpenedBatch } from './batch';
import type { JobProgress, ServicePolling } from './job';
import type { JobCost } from './job-cost';
import type { MoneySum } from './money';
import type { ServiceAttempt } from './service-attempts';
import type { ServiceChoice } from './service-choice';
import type { UsualTimes } from './usual-times';
import type { ExpectedVideo } from './video-facts';
import type { FailureDetails } from './video-failure';

/**
 * What a batch carries over when it continues as new: the workflow's second argument, which callers never set. Its input is
 * passed on beside it, with its requests if it has them. Not carried over: results, which are in the storage before the run
 * ends, and what the next run finds out again, such as whether the batch stops: `firstFailed` and the input say so.
 */
export interface CarriedBatch {
  opened?: OpenedBatch;
  /** The next item to start. */
  next: number;
  succeeded: number;
  failed: number;
  /** What the items cost that have ended. */
  spent?: MoneySum;
  /** With `onFailure: 'stop'` no item is started after it. */
  firstFailed?: FailedItem;
  /** The runs of this batch that began with a reset or a workflow retry: an earlier run may have submitted items. */
  resetRuns?: string[];
  /** Items that were started and have not ended, held ones too. */
  running: CarriedItem[];
  /** Unknown task states that were logged already: each is logged once. */
  warnedWords: string[];
  /** A `pollNow` signal has not been answered yet. */
  pollRequested?: boolean;
  /** How long tasks usually take, once for all items that expect such a video. */
  usualTimes?: CarriedTimes[];
}

/** The usual times of items with the same resolution and duration. */
export interface CarriedTimes {
  expected: ExpectedVideo;
  times: UsualTimes;
}

/** An item that waits for its task or for a decision. Its request is not carried over: a resubmit reads it from its source. */
export interface CarriedItem {
  item: number;
  job: CarriedJob;
}

/**
 * What a job carries over when it continues as new, alone or as an item of a batch. A job alone has it as the workflow's
 * second argument, which callers never set. Hundreds of items are carried over together, so defaults are left out and texts
 * are cut. Also left out: the phase and the next poll, which the next run sets itself; whether the video is stored and how
 * its download goes, because no run ends then; a decision, because no run ends while one is being taken; and the reply to the
 * last decision by signal; the highest percentage, which the next poll brings; and when the task was last unfinished, so that
 * the worker learns nothing from this task.
 */
export interface CarriedJob {
  taskId?: string;
  /** What the video is compared with, instead of the request. */
  expected?: ExpectedVideo;
  /** The stored last frame that the request was sent with, for the next one to be the same. */
  image?: string;
  /** The lost submit that waits for a decision. */
  hold?: { sinceMs: number; lostSubmit: FailureDetails };
  /** How long earlier holds paused the deadline. */
  pastHoldsMs?: number;
  isAdopted?: boolean;
  /** The id of the job's record in the storage. */
  record?: string;
  /** The named service that the task belongs to. */
  service?: ServiceChoice;
  /** Its submit was lost at the service without a name, whichever one it names. */
  isAtUnnamed?: boolean;
  /** What became of the submits to its `services`. */
  attempts?: ServiceAttempt[];
  startedAtMs: number;
  submittedAtMs: number;
  /** What is known about what the job costs; of an item only the estimate. */
  cost?: JobCost;
  polls: number;
  /** Only of a job alone: a `pollNow` signal has not been answered yet. */
  pollRequested?: boolean;
  /** The task at the last poll. */
  task?: JobProgress['task'];
  problem?: JobProgress['problem'];
  /** How long the service asked to wait in its last answer. */
  retryAfterMs?: number;
  /** Polls in a row that found no task, and polls in total that found a success without a video. */
  misses?: { task: number; video: number };
  /** How the service wants to be polled. */
  servicePolling?: ServicePolling;
  /** How long such tasks usually take, if the worker has learned it. Only of a job alone. */
  usualTimes?: UsualTimes;
  /** The worker has a default receiver of webhooks. */
  hasReceiver?: boolean;
  /** Only of a job alone: a batch carries those of its items once. */
  warnedWords?: string[];
}
