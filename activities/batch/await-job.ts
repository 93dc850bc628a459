import { ApplicationFailure, activityInfo, Context } from '@temporalio/activity';
import { type WorkflowExecutionDescription, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { FailureDetails } from '../../src/contract/failure-details';
import type { FailureType } from '../../src/contract/failure-table';
import type { JobResult } from '../../src/contract/job';
import { readCost } from '../../src/contract/job-cost';
import { describeConflict, type JobIdentity } from '../../src/contract/job-identity';
import {
  COST_MEMO,
  IDENTITY_MEMO,
  LOST_SUBMIT_MEMO,
  SERVICE_MEMO,
  TASK_ID_MEMO,
} from '../../src/contract/names';
import { endedByTemporal, readFailure, VideoFailure } from '../../src/contract/video-failure';
import { describeWorkflow } from '../attempt';

/** Input of the activity awaitJob. */
export interface AwaitJobInput {
  name: string;
  /** What it should be for: the result of another job is never taken. */
  identity?: JobIdentity;
  /** The caller knows that it is held. */
  isHeld?: boolean;
  /** Since when somebody waits for it; since this activity was scheduled by default. */
  sinceMs?: number;
}

/** How a job ended. `hadEnded`: before anybody waited for it. */
export type JobEnd = { hadEnded: boolean } & (
  | { result: JobResult }
  | { failure: FailureType; details: FailureDetails }
);

/** It runs, and has waited for a decision since then. */
export interface HeldJob {
  heldSince: string;
}

/**
 * How a job ended that somebody else has started. While it runs, the attempt fails and Temporal makes another: waiting takes
 * neither a slot of the worker nor events of a history.
 */
export async function awaitJob(input: AwaitJobInput): Promise<JobEnd | HeldJob> {
  const { name, identity, isHeld, sinceMs = activityInfo().scheduledTimestampMs } = input;
  const found = await describeWorkflow(name);
  if (found === undefined) {
    const details = { message: 'its job was never started, or is deleted' };
    return { hadEnded: true, failure: 'Cancelled', details };
  }
  const hadEnded = (found.closeTime?.getTime() ?? Number.POSITIVE_INFINITY) <= sinceMs;
  const conflict = identity && describeConflict(name, found.memo?.[IDENTITY_MEMO], identity);
  if (conflict) return { hadEnded, failure: 'InvalidRequest', details: conflict };
  if (found.closeTime !== undefined) return endOf(found, hadEnded);
  const heldSince = isHeld ? undefined : heldSinceIn(found);
  if (heldSince !== undefined) return { heldSince };
  throw ApplicationFailure.create({
    type: 'JobStillRuns',
    message: `The job ${name} still runs.`,
    category: ApplicationFailureCategory.BENIGN,
  });
}

/** It told so the run of the parent that started it. */
function heldSinceIn({ memo, raw }: WorkflowExecutionDescription): string | undefined {
  const since = memo?.[LOST_SUBMIT_MEMO];
  if (typeof since !== 'string' || memo?.[TASK_ID_MEMO] !== undefined) return undefined;
  return raw.pendingActivities?.length ? undefined : since;
}

/** What Temporal ends itself has no details, but its memo has what was paid for. */
async function endOf(
  { workflowId, runId, memo = {} }: WorkflowExecutionDescription,
  hadEnded: boolean,
): Promise<JobEnd> {
  try {
    const { workflow } = Context.current().client;
    return { hadEnded, result: await workflow.getHandle(workflowId, runId).result() };
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const unexpected = new VideoFailure('Unexpected', { message: String(error.cause) });
    const { type, details } = endedByTemporal(error.cause) ?? readFailure(error) ?? unexpected;
    const { [TASK_ID_MEMO]: taskId, [SERVICE_MEMO]: service, [COST_MEMO]: cost } = memo;
    const noted = Object.entries({ taskId, service, cost: readCost(cost) });
    const known: FailureDetails = Object.fromEntries(noted.filter(([, value]) => value != null));
    return { hadEnded, failure: type, details: { ...known, ...details } };
  }
}
