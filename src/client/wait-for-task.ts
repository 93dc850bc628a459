import { createHash } from 'node:crypto';
import { type WorkflowHandle, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { readFailure } from '../contract/failures';
import type { JobIdentity } from '../contract/job-identity';
import { TASK_ID_MEMO, WAIT_FOR_TASK_UPDATE } from '../contract/names';

/** Holds of one job that are walked past, and runs of it that end while it is asked. */
const MOST_QUESTIONS = 50;

/**
 * The task id, as soon as there is one. All who wait for the same video share one update by its id, however many they are
 * and however often they ask: Temporal takes ten updates at a time and 2,000 in the life of a run.
 */
export async function waitForTask(handle: WorkflowHandle, identity?: JobIdentity): Promise<string> {
  const name = identity === undefined ? 'task' : `task-${digestOf(identity)}`;
  const ask = (id: string) =>
    identity === undefined
      ? handle.executeUpdate<string, []>(WAIT_FOR_TASK_UPDATE, { updateId: id })
      : handle.executeUpdate<string, [JobIdentity]>(WAIT_FOR_TASK_UPDATE, { updateId: id, args: [identity] });
  let updateId = name;
  let heldBefore: string | undefined;
  for (let left = MOST_QUESTIONS; ; left--) {
    try {
      return await ask(updateId);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return taskOfEnded(handle);
      if (left === 0) throw error;
      const heldSince = readFailure(error)?.details.heldSince;
      if (heldSince !== undefined) {
        // Temporal repeats what it once answered under an id, also when that hold is over; told twice, it is not.
        if (heldSince === heldBefore) throw error;
        heldBefore = heldSince;
        updateId = `${name}-after-${heldSince}`;
      } else if (!endedWithItsRun(error)) {
        throw error;
      } else if ((await handle.describe()).status.name !== 'RUNNING') {
        return taskOfEnded(handle);
      }
    }
  }
}

/** A job that has ended answers no more; its memo and its result do. */
async function taskOfEnded(handle: WorkflowHandle): Promise<string> {
  return (await taskIdInMemo(handle)) ?? (await handle.result()).taskId;
}

export async function taskIdInMemo(handle: WorkflowHandle): Promise<string | undefined> {
  const taskId = (await handle.describe()).memo?.[TASK_ID_MEMO];
  return typeof taskId === 'string' ? taskId : undefined;
}

/** A reset or a termination ends a run with the updates that it was to answer. */
function endedWithItsRun(error: unknown): boolean {
  if (!(error instanceof WorkflowUpdateFailedError)) return false;
  const { cause } = error;
  return cause instanceof ApplicationFailure && cause.type === 'AcceptedUpdateCompletedWorkflow';
}

function digestOf(identity: JobIdentity): string {
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 16);
}
