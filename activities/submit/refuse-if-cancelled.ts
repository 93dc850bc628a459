import { activityInfo, CancelledFailure, Context } from '@temporalio/activity';
import { BATCH_WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../../src/contract/names';
import { isTimeSkipped } from '../call-within-limits';
import { askTemporal } from './submit-note';

interface Run {
  workflowId?: string | null;
  runId?: string | null;
}

/** A submit that was taken at once has met a worker that reads cancellations. */
const WAITED_MS = 1_000;
/** Of ours: when one of them is cancelled, so are its jobs. */
const ENDS_ITS_JOBS: readonly unknown[] = [WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, BATCH_WORKFLOW_TYPE];

/**
 * Sends nothing for a job that was cancelled while no worker ran: Temporal hands out its submit as soon as one does, which may be
 * before the workflow has read the cancellation.
 */
export async function refuseIfCancelled(): Promise<void> {
  const { currentAttemptScheduledTimestampMs, workflowExecution } = activityInfo();
  const waitedMs = Date.now() - currentAttemptScheduledTimestampMs;
  if (isTimeSkipped() || waitedMs < WAITED_MS || workflowExecution === undefined) return;
  // Without an answer it is sent: the workflow tells the submit of a cancellation too.
  if (await askTemporal(() => isCancelled(workflowExecution)).catch(() => false))
    throw new CancelledFailure('nothing was sent, because the job was cancelled');
}

async function isCancelled({ workflowId, runId }: Run): Promise<boolean> {
  const handle = Context.current().client.workflow.getHandle(workflowId ?? '', runId ?? undefined);
  const { type, raw } = await handle.describe();
  // A workflow of the host's own may be cancelled and let its job go on.
  if (!ENDS_ITS_JOBS.includes(type)) return false;
  if (raw.workflowExtendedInfo?.cancelRequested) return true;
  const { parentExecution } = raw.workflowExecutionInfo ?? {};
  return parentExecution ? isCancelled(parentExecution) : false;
}
