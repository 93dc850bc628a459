import {
  CancellationScope,
  CancelledFailure,
  makeContinueAsNewFunc,
  workflowInfo,
} from '@temporalio/workflow';
import type { JobRoute, SubmittedTask } from '../activities';
import type { FailedItem, OpenedBatch } from '../src/contract/batch';
import type { JobProgress, ReportedProgress } from '../src/contract/job';
import type { MoneySum } from '../src/contract/money';
import { SHORTEST_HISTORY_EVENTS } from '../src/contract/policies';
import { logEvent } from './log-event';

/**
 * What a job carries over when it continues as new, as the workflow's second argument, which callers never set. A job does so
 * only while it waits for its task.
 */
export interface CarriedJob extends Partial<Omit<SubmittedTask, 'isStored' | 'nextPollMs'>> {
  /** How long the activities want to wait before the next poll. */
  nextPollMs: number;
  /** What the worker of the job said about it. */
  route?: Omit<JobRoute, 'problem'>;
  /** The job took over a task that it did not submit. */
  isAdopted: boolean;
  startedAtMs: number;
  submittedAtMs: number;
  /** How long holds paused the deadline. */
  pastHoldsMs?: number;
  /** Set by `pollNow`. A request that arrives during a poll asks for another one. */
  pollRequested: boolean;
  polls: number;
  /** The task at the last poll that was answered, and when that was since the submit. */
  task?: JobProgress['task'];
  polledMs: number;
  /** The highest percentage so far. */
  progress?: ReportedProgress | undefined;
  problem?: JobProgress['problem'];
  /** How long the service asked to wait when the last poll failed. */
  retryAfterMs?: number | undefined;
}

/**
 * What a batch carries over when it continues as new: the workflow's second argument, which callers never set. Its input is
 * passed on with it. Results are not: they are in the storage before the run ends.
 */
export interface CarriedBatch {
  /** Undefined until its requests have been read. */
  opened?: OpenedBatch;
  /** The next item to start. */
  next: number;
  succeeded: number;
  failed: number;
  /** What the items cost that have ended. */
  spent: MoneySum;
  /** No item is started after it. */
  stoppedBy?: FailedItem;
  /** Items that waited for a decision when the run before ended. All others had ended. */
  held?: number[];
}

/** Drops the second argument unless an earlier run passed it: a caller has nothing to carry over. */
export function ifContinued<T>(carried: T | undefined): T | undefined {
  return workflowInfo().continuedFromExecutionRunId === undefined ? undefined : carried;
}

/**
 * Whether this run started with a reset or as a retry of the workflow: runs before it may have paid for tasks that its history
 * does not show. A job continues as new only once it has its task, so no other run of its own matters.
 */
export function isReset(): boolean {
  const { runId, originalExecutionRunId, attempt } = workflowInfo();
  return runId !== originalExecutionRunId || attempt > 1;
}

/** Whether this run should continue as new: it has many events, or the server suggests it. */
export function historyIsLong(longestEvents: number): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  if (historyLength < SHORTEST_HISTORY_EVENTS) return false;
  return continueAsNewSuggested || historyLength > longestEvents;
}

/** Continues as new with the same memo, which has the task id of a job; Temporal would drop it, unlike search attributes. */
export async function continueWith<Input, Carried>(
  input: Input,
  carried: Carried,
  shown: Record<string, unknown>,
): Promise<never> {
  // The next run would not know of a cancellation that arrived with the last event.
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('cancelled');
  logEvent('continuedAsNew', shown);
  type Continued = (input: Input, carried: Carried) => Promise<unknown>;
  return makeContinueAsNewFunc<Continued>({ memo: workflowInfo().memo })(input, carried);
}
