import {
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionDescription,
  type WorkflowHandle,
} from '@temporalio/client';
import type { WorkflowIdReusePolicy } from '@temporalio/common';
import { decodeFirst } from '../contract/decode-first';
import { NOTHING_SENT } from '../contract/failure-table';
import { readFailure, VideoFailure } from '../contract/failures';
import { describeConflict } from '../contract/job-identity';
import { IDENTITY_MEMO, LOST_SUBMIT_MEMO, TASK_ID_MEMO } from '../contract/names';

/** What has the name already, as it was found; it is for the same. */
export type Found = WorkflowExecutionDescription;

export interface Start<Started> {
  /** What it is for: whatever has the name and is for something else is refused. */
  wanted: object;
  workflowType: string;
  /** What a workflow of this type is for, read from its input. */
  wantedIn(input: object): object;
  /** Starts it under the name, or throws that there is one. */
  start(workflowIdReusePolicy: WorkflowIdReusePolicy): Promise<Started>;
  /** The policy with which one that has ended is started afresh; undefined when it is joined as it ended. */
  afresh(found: Found): Promise<WorkflowIdReusePolicy | undefined>;
}

/** Others may start and end under the name while it is asked about; after so many it is joined as it was found. */
const MOST_STARTS = 5;

/** What was started, or what has the name already. */
export async function startOrJoin<Started>(
  handle: WorkflowHandle,
  order: Start<Started>,
): Promise<{ started: Started } | { found: Found }> {
  const { wanted, start, afresh } = order;
  // What ended may have paid for something, however it ended: its name is used again only after a look at it.
  let policy: WorkflowIdReusePolicy = 'REJECT_DUPLICATE';
  for (let left = MOST_STARTS; ; left--) {
    try {
      return { started: await start(policy) };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      const found = await handle.describe();
      const there = found.memo?.[IDENTITY_MEMO] ?? (await wantedOnRecord(handle, found, order));
      const other = describeConflict(handle.workflowId, there, wanted);
      if (other !== undefined) throw new VideoFailure('InvalidRequest', { message: other });
      const again = found.status.name === 'RUNNING' || left === 0 ? undefined : await afresh(found);
      if (again === undefined) return { found };
      policy = again;
    }
  }
}

/** Programs in other languages write no memo: what they want is in the input of the workflow that they started. */
async function wantedOnRecord(
  { client, workflowId }: WorkflowHandle,
  { type, runId }: Found,
  { workflowType, wantedIn }: Pick<Start<unknown>, 'workflowType' | 'wantedIn'>,
): Promise<object | undefined> {
  if (type !== workflowType) return undefined;
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: 1,
  });
  const { input } = history?.events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
  // What cannot be decoded here was written by somebody with other codecs, and is not known to be the same.
  const first = await decodeFirst(client.options.loadedDataConverter, input).catch(() => undefined);
  return typeof first === 'object' && first !== null ? wantedIn(first) : undefined;
}

/**
 * A job is started afresh when the one that ended has sent nothing that may be paid for. Not after one that succeeded
 * meanwhile: Temporal sees to that as it starts it.
 */
export async function jobAfresh(
  handle: WorkflowHandle,
  found: Found,
): Promise<WorkflowIdReusePolicy | undefined> {
  return (await hasSentNothing(handle, found)) ? 'ALLOW_DUPLICATE_FAILED_ONLY' : undefined;
}

async function hasSentNothing(handle: WorkflowHandle, { status, memo, raw }: Found): Promise<boolean> {
  if (memo?.[TASK_ID_MEMO] !== undefined || memo?.[LOST_SUBMIT_MEMO] !== undefined) return false;
  // A run before the reset may have sent something that this one did not come to know of.
  if (raw.workflowExtendedInfo?.lastResetTime) return false;
  if (status.name === 'CANCELLED') return true;
  if (status.name !== 'FAILED') return false;
  const failure = await handle.result().then(
    () => undefined,
    (error: unknown) => readFailure(error),
  );
  return failure !== undefined && failure.taskId === undefined && NOTHING_SENT[failure.type];
}
