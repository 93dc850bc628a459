import { FAILURES, type FailureType, VideoFailure } from '../../src/contract';

/** Ends as its row of the table says: type, task id, and a message that says what happened, to which task, what to do. */
export function expectRow(failure: unknown, type: FailureType, taskId: string | undefined): void {
  if (!(failure instanceof VideoFailure)) throw failure;
  expect(failure).toMatchObject({ type, taskId });
  expect(failure.message).toContain(FAILURES[type].meaning);
  expect(failure.message).toContain(FAILURES[type].advice);
  if (taskId) expect(failure.message).toContain(`(task ${taskId})`);
}
