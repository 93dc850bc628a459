import { workflowInfo } from '@temporalio/workflow';

/** Only a run before this one can have something to carry over, not whoever starts the workflow. */
export function ifContinued<T>(carried: T | undefined): T | undefined {
  return workflowInfo().continuedFromExecutionRunId === undefined ? undefined : carried;
}

/**
 * True when the workflow was reset or retried: a run before this one may have paid for tasks that this one knows nothing
 * of. One that was merely continued has been told everything.
 */
export function hasEarlierRuns(): boolean {
  const { runId, originalExecutionRunId, attempt } = workflowInfo();
  return runId !== originalExecutionRunId || attempt > 1;
}
