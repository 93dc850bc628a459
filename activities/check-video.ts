import type { Look } from '../src/contract/job';
import { whileAlive } from './heartbeating';
import type { LookAtTask } from './look-at-task';

export interface CheckVideoInput {
  taskId: string;
}

export function createCheckVideo(lookAtTask: LookAtTask) {
  return async function checkVideo({ taskId }: CheckVideoInput): Promise<Look> {
    return whileAlive(
      () => undefined,
      () => lookAtTask(taskId),
    );
  };
}
