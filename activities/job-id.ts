import { activityInfo } from '@temporalio/activity';

/** What names the job for the world outside: the workflow, or the activity itself when it runs without one. */
export function jobId(): string {
  const { workflowExecution, activityId } = activityInfo();
  return workflowExecution?.workflowId ?? activityId;
}
