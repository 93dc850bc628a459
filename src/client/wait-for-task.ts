import { type WorkflowHandle, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { SERVICE_MEMO, TASK_ID_MEMO, WAIT_FOR_TASK_UPDATE } from '../contract/names';
import { readFailure } from '../contract/video-failure';

/** For holds that are over, and for runs that end while the update waits. */
const MAX_UPDATES = 50;

const UPDATE_ID = 'task';

/** Waits for the task id. All callers share one update by its id: Temporal takes ten updates at once and 2,000 in one run. */
export async function untilTask(handle: WorkflowHandle): Promise<string> {
  let updateId = UPDATE_ID;
  for (let left = MAX_UPDATES; ; left--) {
    try {
      return await handle.executeUpdate<string, []>(WAIT_FOR_TASK_UPDATE, { updateId });
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return taskOfEnded(handle);
      if (left === 0) throw error;
      const heldSince = readFailure(error)?.details.heldSince;
      if (heldSince !== undefined) {
        // Temporal repeats its answer to an update id even when that hold is over. The same hold twice is a hold now.
        const next = `${UPDATE_ID}-after-${heldSince}`;
        if (next === updateId) throw error;
        updateId = next;
      } else if (!endedWithItsRun(error)) {
        throw error;
      } else if ((await handle.describe()).status.name !== 'RUNNING') {
        return taskOfEnded(handle);
      }
    }
  }
}

/** An ended job takes no updates; its memo and its result have the task id. */
async function taskOfEnded(handle: WorkflowHandle): Promise<string> {
  return (await taskInMemo(handle)).taskId ?? (await handle.result()).taskId;
}

/** The task of a job and the service that has it, as far as the memo says. */
export async function taskInMemo(handle: WorkflowHandle): Promise<{ taskId?: string; service?: string }> {
  const { memo = {} } = await handle.describe();
  const { [TASK_ID_MEMO]: taskId, [SERVICE_MEMO]: service } = memo;
  return {
    ...(typeof taskId === 'string' && { taskId }),
    ...(typeof service === 'string' && { service }),
  };
}

/** A reset or a termination ends a run together with its open updates. */
function endedWithItsRun(error: unknown): boolean {
  if (!(error instanceof WorkflowUpdateFailedError)) return false;
  const { cause } = error;
  return cause instanceof ApplicationFailure && cause.type === 'AcceptedUpdateCompletedWorkflow';
}
