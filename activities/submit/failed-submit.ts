import { ApplicationFailure } from '@temporalio/activity';
import { fromTemporalType, mayHaveMadeTask } from '../../src/contract/failure-table';
import { createFailure, type FailureDetails } from '../../src/contract/video-failure';
import { StorageFault } from '../../src/storage';

/** The storage is needed before the submit, so that nobody pays for a video that cannot be stored. */
export function sayNothingWasSent(error: unknown): unknown {
  if (!(error instanceof StorageFault)) return error;
  const { isFinal, message } = error;
  return new StorageFault(`nothing was sent, because the storage failed: ${message}`, {
    isFinal,
    cause: error,
  });
}

/** A failure of this attempt does not settle a submit that was lost before. */
export function mentionLostSubmit(failure: unknown, lostSubmit: string | undefined): unknown {
  if (lostSubmit === undefined || !(failure instanceof ApplicationFailure) || isUnconfirmed(failure))
    return failure;
  const type = fromTemporalType(failure.type);
  if (type === undefined) return failure;
  const details: FailureDetails = Object(failure.details?.[0]);
  const message = [details.message, `a task may still exist, because ${lostSubmit}`]
    .filter(Boolean)
    .join('; ');
  const { nonRetryable, nextRetryDelay, cause } = failure;
  return createFailure(
    type,
    { ...details, message },
    {
      retryable: !nonRetryable,
      nextRetryDelayMs: typeof nextRetryDelay === 'number' ? nextRetryDelay : undefined,
      cause,
    },
  );
}

export function isUnconfirmed(failure: unknown): boolean {
  return failure instanceof ApplicationFailure && fromTemporalType(failure.type) === 'SubmitUnconfirmed';
}

/** Of an error that the failure table does not know, nothing is known. */
export function isKnownWithoutTask(failure: unknown): boolean {
  const type = failure instanceof ApplicationFailure ? fromTemporalType(failure.type) : undefined;
  return type !== undefined && !mayHaveMadeTask(type);
}
