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
import type { BatchProgress } from '../contract/batch';
import type { JobProgress } from '../contract/job';
import type { ItemDecision, SubmitDecision } from '../contract/lost-submit';
import { DECISION_REFUSED, DecisionRefused } from '../contract/lost-submit';
import { DECIDE_SUBMIT_SIGNAL, DECIDE_SUBMIT_UPDATE, PROGRESS_QUERY } from '../contract/names';

const ASK_EVERY_MS = 200;
/** Longer than a task is looked up that is to be adopted. */
const CONFIRMED_WITHIN_MS = 3 * 60_000;

/** Settles a lost submit; what cannot be taken is a DecisionRefused that says why. */
export async function decideSubmit(
  handle: WorkflowHandle,
  decision: SubmitDecision | ItemDecision,
): Promise<void> {
  try {
    await handle.executeUpdate<void, [SubmitDecision]>(DECIDE_SUBMIT_UPDATE, { args: [decision] });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw await notThere(handle);
    if (takesNoUpdate(error)) return decideBySignal(handle, decision);
    const { cause } = error instanceof WorkflowUpdateFailedError ? error : {};
    if (!(cause instanceof ApplicationFailure && cause.type === DECISION_REFUSED)) throw error;
    throw new DecisionRefused(cause.message, { cause: error });
  }
}

async function notThere(handle: WorkflowHandle): Promise<DecisionRefused> {
  try {
    await handle.describe();
    return new DecisionRefused(`No decision is needed: ${handle.workflowId} has ended.`);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    return new DecisionRefused(`There is no job ${handle.workflowId}.`);
  }
}

/** RESOURCE_EXHAUSTED when too many updates are under way, FAILED_PRECONDITION when a run has had too many. */
const NO_MORE_UPDATES = [8, 9];

function takesNoUpdate(error: unknown): boolean {
  const { cause } = error instanceof ServiceError ? error : {};
  return isGrpcServiceError(cause) && NO_MORE_UPDATES.includes(cause.code);
}

/** Temporal takes signals also when somebody has used up the updates. Nobody answers one, so the progress is asked. */
async function decideBySignal(
  handle: WorkflowHandle,
  decision: SubmitDecision | ItemDecision,
): Promise<void> {
  const ask = async () => asked(await handle.query<JobProgress | BatchProgress>(PROGRESS_QUERY), decision);
  const before = (await ask())?.hold;
  if (before === undefined) throw new DecisionRefused('No decision is needed: nothing is held.');
  const id = randomUUID();
  await handle.signal(DECIDE_SUBMIT_SIGNAL, decision, id);
  for (const giveUpAt = Date.now() + CONFIRMED_WITHIN_MS; Date.now() < giveUpAt; await sleep(ASK_EVERY_MS)) {
    const now = await ask();
    if (now?.signalled?.id === id) {
      if (now.signalled.refused === undefined) return;
      throw new DecisionRefused(now.signalled.refused);
    }
    // Gone on, and perhaps ended, before it was asked.
    if (now?.hold?.since !== before.since) return;
  }
  throw new DecisionRefused(
    `The decision was sent to ${handle.workflowId} and is not confirmed yet: look at its progress before you decide again.`,
  );
}

function asked(
  progress: JobProgress | BatchProgress,
  decision: SubmitDecision | ItemDecision,
): JobProgress | undefined {
  if (!('running' in progress)) return progress;
  return progress.running.find(({ item }) => 'item' in decision && item === decision.item);
}
