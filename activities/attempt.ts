import { activityInfo, Context, heartbeat } from '@temporalio/activity';
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { GRPC_STATUS } from '../src/contract/error-code';
import { HEARTBEAT_EVERY_MS } from '../src/contract/policies';

/** The name of the job: the workflow's id, or the activity's if it runs without a workflow. */
export function jobName(): string {
  const { workflowExecution, activityId } = activityInfo();
  return workflowExecution?.workflowId ?? activityId;
}

/** What Temporal says of a workflow; undefined when it has none, or has deleted it. */
export async function unlessDeleted<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    const isDeleted = isGrpcServiceError(error) && error.code === GRPC_STATUS.notFound;
    if (isDeleted || error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

export async function describeWorkflow(name: string) {
  return unlessDeleted(() => Context.current().client.workflow.getHandle(name).describe());
}

/**
 * Heartbeats with the current note while the work lasts. Not at once: most work is over before the first heartbeat. A local
 * activity has no heartbeats; the SDK would log a warning for each.
 */
export async function whileHeartbeating<T>(
  work: () => Promise<T>,
  note: () => unknown = () => undefined,
): Promise<T> {
  if (activityInfo().isLocal) return work();
  const beats = setInterval(() => heartbeat(note()), HEARTBEAT_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(beats);
  }
}

/**
 * The time since the activity was first scheduled. It uses the server's timestamps and the duration of the attempt, because the
 * clocks of worker and server may differ.
 */
export function sinceScheduledMs(attemptMs: number): number {
  const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
  return currentAttemptScheduledTimestampMs - scheduledTimestampMs + attemptMs;
}
