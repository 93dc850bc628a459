import {
  CancellationScope,
  CancelledFailure,
  makeContinueAsNewFunc,
  workflowInfo,
} from '@temporalio/workflow';
import { SHORTEST_HISTORY_EVENTS } from '../src/contract/policies';

/** Only a run before this one can have something to carry over, not whoever starts the workflow. */
export function ifContinued<T>(carried: T | undefined): T | undefined {
  return workflowInfo().continuedFromExecutionRunId === undefined ? undefined : carried;
}

/**
 * The runs of this workflow that began with a reset or as another try, if there are any: this one, and those it goes on
 * from. Runs before them may have paid for tasks that nobody told this one of.
 */
export function resetRunsSince(carried: string[] | undefined): string[] | undefined {
  const { runId, originalExecutionRunId, attempt } = workflowInfo();
  const isReset = runId !== originalExecutionRunId || attempt > 1;
  return isReset ? [...(carried ?? []), runId] : carried;
}

/** The same workflow with a fresh history. The memo, which names the task, has to be taken along by hand. */
export async function continueWith<Input, Carried>(input: Input, carried: Carried): Promise<never> {
  // A cancellation that came with the event before this would be left behind, and nobody would know.
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('cancelled');
  type Continued = (input: Input, carried: Carried) => Promise<unknown>;
  return makeContinueAsNewFunc<Continued>({ memo: workflowInfo().memo })(input, carried);
}

/** Whether a run had better continue as new: by the number of its events, or by what the server says of their size. */
export function historyIsLong(longestEvents: number): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  if (historyLength < SHORTEST_HISTORY_EVENTS) return false;
  return continueAsNewSuggested || historyLength > longestEvents;
}
