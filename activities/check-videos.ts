import { cancellationSignal } from '@temporalio/activity';
import type { SharedLook } from '../src/contract/batch';
import { readFailure } from '../src/contract/failures';
import type { Look } from '../src/contract/job';
import { LOOKS_AT_ONCE, SHARED_CHECK_MS } from '../src/contract/policies';
import { whileAlive } from './heartbeating';
import type { LookAtTask } from './look-at-task';

export interface CheckVideosInput {
  taskIds: string[];
}

/** Looks at many tasks, a few at a time. What one look meets is told of that task and keeps nobody from the others. */
export function createCheckVideos(lookAtTask: LookAtTask) {
  return async function checkVideos({ taskIds }: CheckVideosInput): Promise<SharedLook[]> {
    const lastStartMs = Date.now() + SHARED_CHECK_MS;
    const looks = taskIds.map((): SharedLook => 'not-yet');
    const waiting = [...taskIds.entries()];
    const lookOn = async () => {
      for (let next = waiting.shift(); next && Date.now() < lastStartMs; next = waiting.shift()) {
        const [index, taskId] = next;
        looks[index] = await toShared(lookAtTask(taskId));
      }
    };
    await whileAlive(
      () => undefined,
      // Once the first has ended badly, nobody would hear of further looks.
      () => Promise.all(Array.from({ length: LOOKS_AT_ONCE }, lookOn)).finally(() => waiting.splice(0)),
    );
    return looks;
  };
}

async function toShared(look: Promise<Look>): Promise<SharedLook> {
  try {
    return { look: await look };
  } catch (error) {
    const failure = readFailure(error);
    // A cancellation, or a mistake of ours, is not about this task.
    if (failure === undefined || cancellationSignal().aborted) throw error;
    return { failure: failure.type, details: failure.details };
  }
}
