import {
  CancellationScope,
  CancelledFailure,
  makeContinueAsNewFunc,
  workflowInfo,
} from '@temporalio/workflow';
import { SHORTEST_HISTORY_EVENTS } from '../src/contract/policies';
import { logEvent } from './log-event';

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
