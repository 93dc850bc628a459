import {
  isGrpcServiceError,
  ServiceError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';

/** Temporal cannot be reached. The message has the address, the reason and the fix, but no key. */
export class TemporalUnreachable extends Error {
  override readonly name = 'TemporalUnreachable';
}

/** Temporal refused a call or did not answer it in time. What it was asked for may have happened. */
export function isTemporalError(error: unknown): boolean {
  return (
    error instanceof ServiceError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    isGrpcServiceError(error)
  );
}
