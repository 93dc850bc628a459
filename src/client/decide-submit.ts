import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  isGrpcServiceError,
  ServiceError,
  type WorkflowHandle,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { childName } from '../contract/fallback';
import type { JobProgress } from '../contract/job';
import type { SubmitDecision } from '../contract/lost-submit';
import { DECISION_REFUSED, DecisionRefused } from '../contract/lost-submit';
import {
  DECIDE_SUBMIT_SIGNAL,
  DECIDE_SUBMIT_UPDATE,
  FALLBACK_WORKFLOW_TYPE,
  PROGRESS_QUERY,
  SERVICE_MEMO,
} from '../contract/names';

const QUERY_EVERY_MS = 200;
/** Longer than a job takes to look up the task that it is to adopt. */
const CONFIRMED_WITHIN_MS = 3 * 60_000;

/** Settles a lost submit. Rejects with a DecisionRefused, which says why, if the job cannot take the decision. */
export async function decideSubmit(job: WorkflowHandle, decision: SubmitDecision): Promise<void> {
  const handle = await heldJob(job);
  try {
    await handle.executeUpdate<void, [SubmitDecision]>(DECIDE_SUBMIT_UPDATE, { args: [decision] });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw await explainNotFound(handle);
    if (hasNoUpdatesLeft(error)) return decideBySignal(handle, decision);
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

/** RESOURCE_EXHAUSTED for too many updates at once, FAILED_PRECONDITION for too many in one run. */
const NO_MORE_UPDATES = [8, 9];

function hasNoUpdatesLeft(error: unknown): boolean {
  const { cause } = error instanceof ServiceError ? error : {};
  return isGrpcServiceError(cause) && NO_MORE_UPDATES.includes(cause.code);
}

/** Temporal takes signals even when the updates are used up. A signal has no answer, so the progress is queried for it. */
async function decideBySignal(handle: WorkflowHandle, decision: SubmitDecision): Promise<void> {
  const query = () => handle.query<JobProgress>(PROGRESS_QUERY);
  const before = (await query()).hold;
  if (before === undefined) throw new DecisionRefused('No decision is needed: nothing is held.');
  const id = randomUUID();
  await handle.signal(DECIDE_SUBMIT_SIGNAL, decision, id);
  for (
    const giveUpAt = Date.now() + CONFIRMED_WITHIN_MS;
    Date.now() < giveUpAt;
    await sleep(QUERY_EVERY_MS)
  ) {
    const now = await query();
    if (now.signalled?.id === id) {
      if (now.signalled.refused === undefined) return;
      throw new DecisionRefused(now.signalled.refused);
    }
    // The job has moved on, and may have ended, between two queries.
    if (now.hold?.since !== before.since) return;
  }
  throw new DecisionRefused(
    `The decision was sent to ${handle.workflowId} and is not confirmed yet: check its progress before you decide again.`,
  );
}
