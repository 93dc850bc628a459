import { randomBytes } from 'node:crypto';
import { sha256 } from '../contract/digest';
import { FALLBACK_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../contract/names';

const TASK_ID = /^video_[0-9a-f]{32}$/;

/**
 * The gateway's own id of a task. It is known before the service has one. The same Idempotency-Key of the same caller is the
 * same task.
 */
export function taskIdFor(caller: string, idempotencyKey: string | undefined): string {
  const digits =
    idempotencyKey === undefined ? randomBytes(16).toString('hex') : sha256(`${caller}\n${idempotencyKey}`);
  return `video_${digits.slice(0, 32)}`;
}

export const isVideoId = (given: string) => TASK_ID.test(given);

/** Every workflow id of a caller begins so. A caller's name has no dash, so that no name is the beginning of another. */
export const prefixOf = (caller: string) => `gateway-${caller}-`;

/** The caller is part of the workflow id, so that nobody finds a task of somebody else. */
export const workflowIdOf = (caller: string, taskId: string) => `${prefixOf(caller)}${taskId}`;

export const videoIdIn = (caller: string, workflowId: string) => workflowId.slice(prefixOf(caller).length);

/** Whose job a workflow is; undefined for one that was not started by a gateway. A retry belongs to the same caller. */
export const callerOfWorkflow = (workflowId: string): string | undefined =>
  /^gateway-([a-z0-9_]+)-video_[0-9a-f]{32}/.exec(workflowId)?.[1];

/** A job of its own, not the one at one of several services. */
export const OF_JOBS = `(WorkflowType = '${WORKFLOW_TYPE}' OR WorkflowType = '${FALLBACK_WORKFLOW_TYPE}') AND ParentWorkflowId IS NULL`;

/** The condition for the jobs of a caller in Temporal's lists. The name of a key has no quotes. */
export const jobsOfCaller = (caller: string) => `${OF_JOBS} AND WorkflowId STARTS_WITH '${prefixOf(caller)}'`;
