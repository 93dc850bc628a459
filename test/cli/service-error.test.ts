import { ServiceError } from '@temporalio/client';
import { errorObject } from '../../src/cli/exit-codes';

test("a call that Temporal refuses is reported with the server's reason", () => {
  const cause = new Error('3 INVALID_ARGUMENT: TaskQueue length exceeds limit.');
  const { error } = errorObject(new ServiceError('Failed to start Workflow', { cause }));
  expect(error.message).toBe('Failed to start Workflow: 3 INVALID_ARGUMENT: TaskQueue length exceeds limit.');
});
