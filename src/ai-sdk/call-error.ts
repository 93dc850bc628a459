import {
  isGrpcServiceError,
  ServiceError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { TemporalUnreachable } from '../client/temporal-unreachable';
import { cleanText } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';
import { FAILURES } from '../contract/failure-table';
import { VideoFailure } from '../contract/video-failure';
import { StorageFault } from '../storage';

/** By these symbols `ai` knows the error of a call, whichever copy of its packages has made it. */
const AI_SDK_ERROR: unique symbol = Symbol.for('vercel.ai.error');
const API_CALL_ERROR: unique symbol = Symbol.for('vercel.ai.error.AI_APICallError');

/** A failure of a job, its advice, and a name or an address of any program. */
const LONGEST_MESSAGE_CHARS = 5_000;

interface CallErrorFacts {
  /** Whether `ai` may repeat the call: it joins its job again, so repeating never pays twice. */
  isRetryable: boolean;
  statusCode?: number;
  data?: Record<string, string>;
}

/** An error of a call as `ai` expects it: an APICallError of the AI SDK. What went wrong is its cause. */
export class CallError extends Error {
  override readonly name = 'AI_APICallError';
  readonly [AI_SDK_ERROR] = true;
  readonly [API_CALL_ERROR] = true;
  /** Nothing that is called has an address of HTTP, and no error repeats a prompt. */
  readonly url = 'temporal:';
  readonly requestBodyValues = {};
  readonly isRetryable: boolean;
  readonly statusCode: number | undefined;
  readonly data: Record<string, string> | undefined;

  constructor(message: string, { isRetryable, statusCode, data }: CallErrorFacts, options?: ErrorOptions) {
    super(cleanText(message, LONGEST_MESSAGE_CHARS), options);
    this.isRetryable = isRetryable;
    this.statusCode = statusCode;
    this.data = data;
  }
}

/** The statuses of gRPC after which the same call may succeed: unavailable, too late, too much, aborted. */
const PASSING_STATUSES: readonly unknown[] = [14, 4, 8, 10];

/** The error of a call for `ai`; what is neither ours nor Temporal's stays as it is. */
export function toCallError(error: unknown): unknown {
  if (error instanceof VideoFailure) {
    const { type, taskId, advice } = error;
    const data = { type, advice, ...(taskId !== undefined && { taskId }) };
    const facts = { isRetryable: false, statusCode: FAILURES[type].httpStatus, data };
    return new CallError(error.message, facts, { cause: error });
  }
  if (error instanceof TemporalUnreachable) return passing(error.message, error);
  if (error instanceof StorageFault) {
    const message = `The storage of the videos does not answer: ${error.message.replace(/\.$/, '')}. Nothing is lost: the same call joins its job again.`;
    return error.isFinal
      ? new CallError(message, { isRetryable: false }, { cause: error })
      : passing(message, error);
  }
  if (isPassing(error)) {
    return passing('Temporal does not answer. Nothing is lost: the same call joins its job.', error);
  }
  return error;
}

function passing(message: string, cause: unknown): CallError {
  return new CallError(message, { isRetryable: true, statusCode: 503 }, { cause });
}

function isPassing(error: unknown): boolean {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return true;
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && PASSING_STATUSES.includes(errorCode(cause));
}
