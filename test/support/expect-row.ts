import { FAILURES, type FailureType } from '../../src/contract/failure-table';
import { VideoFailure } from '../../src/contract/video-failure';

/** Expects the type, the task id and a message with the meaning, the task and the advice of the failure table. */
export function expectRow(failure: unknown, type: FailureType, taskId: string | undefined): void {
  if (!(failure instanceof VideoFailure)) throw failure;
  expect(failure).toMatchObject({ type, taskId });
  expect(failure.message).toContain(FAILURES[type].meaning);
  // A name that is taken has an advice of its own.
  expect(failure.message).toContain(failure.details.advice ?? FAILURES[type].advice);
  if (taskId) expect(failure.message).toContain(`(task ${taskId})`);
}
