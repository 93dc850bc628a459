import { workflowInfo } from '@temporalio/workflow';

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
