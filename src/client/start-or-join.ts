import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionDescription,
  type WorkflowExecutionStatusName,
  type WorkflowHandle,
  type WorkflowStartOptions,
} from '@temporalio/client';
import type { WorkflowIdReusePolicy } from '@temporalio/common';
import type { BatchResult } from '../contract/batch';
import { paidNothing } from '../contract/failure-table';
import { describeConflict, identityOf } from '../contract/job-identity';
import { IDENTITY_MEMO, LOST_SUBMIT_MEMO, TASK_ID_MEMO } from '../contract/names';
import { readFailure, VideoFailure } from '../contract/video-failure';
import { readFirstInput } from '../encryption/decode-first';
import { explainStart } from './search-attributes';

/** The job or batch that already has the workflow id. */
export type Existing = WorkflowExecutionDescription;

export type PreparedOptions<Input> = Omit<WorkflowStartOptions, 'args' | 'taskQueue'> & {
  workflowId: string;
  args: [Input];
};

/** A job or batch that is ready to be started. */
export interface PreparedStart<Input> {
  /** The workflow type. */
  type: string;
  /** What makes it the same as another: an existing workflow with another identity is a conflict. */
  identity: object;
  options: PreparedOptions<Input>;
  /** The reuse policy for starting an ended one again; undefined when the caller joins it as it ended. */
  restartPolicy(handle: WorkflowHandle, existing: Existing): Promise<WorkflowIdReusePolicy | undefined>;
}

/** The name is that of another job or batch. */
export class NameTaken extends VideoFailure {}

/** Other callers may start and end the same workflow id meanwhile; after this many attempts it is joined as it is. */
const MAX_RESTARTS = 5;

/**
 * Starts the workflow, or finds the one with the same identity that already has its id. How it is started is the caller's:
 * a client starts it directly, a Nexus operation with its links and callback.
 */
export async function startOrJoin<Input, Started>(
  client: Client,
  prepared: PreparedStart<Input>,
  start: (options: PreparedOptions<Input>) => Promise<Started>,
): Promise<{ started: Started } | { existing: Existing }> {
  const { identity, options, restartPolicy } = prepared;
  const handle = client.workflow.getHandle(options.workflowId);
  // An ended job may have paid for a task, however it ended: its id is reused only after it was examined.
  let workflowIdReusePolicy: WorkflowIdReusePolicy = 'REJECT_DUPLICATE';
  for (let restarts = 0; ; restarts++) {
    try {
      // Last, because a reuse policy of the caller's would start a second job unexamined.
      return { started: await start({ ...options, workflowIdReusePolicy }) };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      const existing = await handle.describe();
      const theirs =
        existing.memo?.[IDENTITY_MEMO] ?? (await identityInHistory(handle, existing, prepared.type));
      const conflict = describeConflict(handle.workflowId, theirs, identity);
      if (conflict !== undefined) throw new NameTaken('InvalidRequest', conflict);
      if (existing.closeTime === undefined || restarts === MAX_RESTARTS) return { existing };
      const policy = await restartPolicy(handle, existing);
      if (policy === undefined) return { existing };
      workflowIdReusePolicy = policy;
    }
  }
}

/** The same by a client, on a task queue. */
export function startOrJoinOn<Input>(client: Client, taskQueue: string, prepared: PreparedStart<Input>) {
  return startOrJoin(client, prepared, (options) =>
    client.workflow.start(prepared.type, { ...options, taskQueue }).catch((error: unknown) => {
      throw explainStart(error, client.options.namespace);
    }),
  );
}

/**
 * Programs in other languages write no memo, so the identity of their job is read from its input. One that cannot be decoded
 * here counts as another job's, and so does a workflow of another type.
 */
async function identityInHistory(
  { client, workflowId }: WorkflowHandle,
  existing: Existing,
  type: string,
): Promise<object | undefined> {
  if (existing.type !== type) return undefined;
  const { runId } = existing;
  return identityOf(Object(await readFirstInput(client, { workflowId, runId })));
}

/** Temporal ended them itself, so nobody was told how they ended. */
const ENDED_BY_TEMPORAL: readonly WorkflowExecutionStatusName[] = ['TERMINATED', 'TIMED_OUT'];

/**
 * A job may start again when the ended one sent nothing that may be paid for, or had no time to say: its record in the storage
 * knows what was sent. Under this policy Temporal refuses the start if another caller's job has succeeded meanwhile.
 */
export async function jobRestartPolicy(
  handle: WorkflowHandle,
  { status, memo, raw, runId }: Existing,
): Promise<WorkflowIdReusePolicy | undefined> {
  if (memo?.[TASK_ID_MEMO] !== undefined) return undefined;
  if (ENDED_BY_TEMPORAL.includes(status.name)) return 'ALLOW_DUPLICATE_FAILED_ONLY';
  // A run before the reset may have sent something that this run does not know of.
  if (memo?.[LOST_SUBMIT_MEMO] !== undefined || raw.workflowExtendedInfo?.lastResetTime) return undefined;
  if (status.name === 'CANCELLED') return 'ALLOW_DUPLICATE_FAILED_ONLY';
  if (status.name !== 'FAILED') return undefined;
  const failure = await runAlone(handle, runId)
    .result()
    .then(() => undefined, readFailure);
  // The same content would be refused again, and services suspend accounts that repeat such requests.
  if (failure === undefined || failure.taskId !== undefined || failure.type === 'ContentRefused')
    return undefined;
  return paidNothing(failure.type) ? 'ALLOW_DUPLICATE_FAILED_ONLY' : undefined;
}

/** Somebody may start an ended one again meanwhile, and the end of that run is not waited for. */
const runAlone = ({ client, workflowId }: WorkflowHandle, runId: string) =>
  client.getHandle(workflowId, runId, { followRuns: false });

const ENDED_EARLY: readonly WorkflowExecutionStatusName[] = ['FAILED', 'CANCELLED', ...ENDED_BY_TEMPORAL];

/** A batch may start again when items are left: whatever it paid for is recorded in the storage. */
export async function batchRestartPolicy(
  handle: WorkflowHandle,
  { status, runId }: Existing,
): Promise<WorkflowIdReusePolicy | undefined> {
  if (ENDED_EARLY.includes(status.name)) return 'ALLOW_DUPLICATE';
  if (status.name !== 'COMPLETED') return undefined;
  const { failed }: BatchResult = await runAlone(handle, runId).result();
  return failed > 0 ? 'ALLOW_DUPLICATE' : undefined;
}
