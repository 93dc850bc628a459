import { type WorkflowHandle, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { SubmitDecision } from '../contract/lost-submit';
import { DECISION_REFUSED, DecisionRefused } from '../contract/lost-submit';
import { childName, DECIDE_SUBMIT_UPDATE, FALLBACK_WORKFLOW_TYPE, SERVICE_MEMO } from '../contract/names';

/** Settles a lost submit. Rejects with a DecisionRefused, which says why, if the job cannot take the decision. */
export async function decideSubmit(job: WorkflowHandle, decision: SubmitDecision): Promise<void> {
  const handle = await heldJob(job);
  try {
    await handle.executeUpdate<void, [SubmitDecision]>(DECIDE_SUBMIT_UPDATE, { args: [decision] });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw await explainNotFound(handle);
    const { cause } = error instanceof WorkflowUpdateFailedError ? error : {};
    if (!(cause instanceof ApplicationFailure && cause.type === DECISION_REFUSED)) throw error;
    throw new DecisionRefused(cause.message, { cause: error });
  }
}

/**
 * The job itself, or the one at the service whose turn it is. Reads the memo, and rejects if it is encrypted with a key that is
 * not here: the worker could not read the decision, or the task id would be in the open.
 */
async function heldJob(handle: WorkflowHandle): Promise<WorkflowHandle> {
  const found = await handle.describe().catch((error: unknown) => {
    // The update says so too, and it is explained there.
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  });
  const service = found?.memo?.[SERVICE_MEMO];
  if (found?.type !== FALLBACK_WORKFLOW_TYPE || typeof service !== 'string') return handle;
  // Not by its children: one that was started again has joined the job of the run before.
  return handle.client.getHandle(childName(handle.workflowId, service));
}

/** Temporal also answers so for a workflow that has ended. */
async function explainNotFound(handle: WorkflowHandle): Promise<DecisionRefused> {
  try {
    await handle.describe();
    return new DecisionRefused(`No decision is needed: ${handle.workflowId} has ended.`);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    return new DecisionRefused(`There is no job ${handle.workflowId}.`);
  }
}
