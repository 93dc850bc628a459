import { activityInfo } from '@temporalio/activity';

/** What tells an activity for which item of a batch it works; a job that is its workflow has the workflow's id. */
export interface NamedJob {
  job?: string;
}

/** What names the job for the world outside: the workflow, or the activity itself when it runs without one. */
export function jobId({ job }: NamedJob): string {
  if (job !== undefined) return job;
  const { workflowExecution, activityId } = activityInfo();
  return workflowExecution?.workflowId ?? activityId;
}
