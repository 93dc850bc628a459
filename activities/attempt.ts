import { activityInfo, Context, heartbeat, log } from '@temporalio/activity';
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { GRPC_STATUS } from '../src/contract/error-code';
import { LOG_EVENTS, type LogEvent } from '../src/contract/log-events';
import { HEARTBEAT_EVERY_MS } from '../src/contract/policies';

/** The name of the job: the workflow's id, or the activity's if it runs without a workflow. */
export function jobName(): string {
  const { workflowExecution, activityId } = activityInfo();
  return workflowExecution?.workflowId ?? activityId;
}

/** Writes one line of the table. Temporal adds workflow id, run id and attempt. */
export function logEvent(event: LogEvent, fields: Record<string, unknown> = {}): void {
  const { level, message } = LOG_EVENTS[event];
  log[level](message, { event, ...fields });
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
