import { isTemporalError } from '../client/connect';
import { TemporalUnreachable } from '../client/refusals';
import { cleanText } from '../contract/clean-text';
import { FAILURES } from '../contract/failure-table';
import { VideoFailure } from '../contract/video-failure';
import { StorageFault } from '../storage';

/** By these symbols `ai` knows the error of a call, whichever copy of its packages has made it. */
const AI_SDK_ERROR: unique symbol = Symbol.for('vercel.ai.error');
const API_CALL_ERROR: unique symbol = Symbol.for('vercel.ai.error.AI_APICallError');

/** A failure of a job, its advice, and a name or an address of any program. */
const LONGEST_MESSAGE_CHARS = 5_000;

interface CallErrorFacts extends ErrorOptions {
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

  constructor(message: string, { isRetryable, statusCode, data, ...options }: CallErrorFacts) {
    super(cleanText(message, LONGEST_MESSAGE_CHARS), options);
    this.isRetryable = isRetryable;
    this.statusCode = statusCode;
    this.data = data;
  }
}

/** The error of a call for `ai`; what is neither ours nor Temporal's stays as it is. */
export function toCallError(cause: unknown): unknown {
  if (cause instanceof VideoFailure) {
    const { type, taskId, advice } = cause;
    const data = { type, advice, ...(taskId !== undefined && { taskId }) };
    const { httpStatus: statusCode } = FAILURES[type];
    return new CallError(cause.message, { isRetryable: false, statusCode, data, cause });
  }
  const passing = { isRetryable: true, statusCode: 503, cause };
  if (cause instanceof TemporalUnreachable) return new CallError(cause.message, passing);
  if (isTemporalError(cause)) return new CallError(`Temporal does not answer. ${NOTHING_LOST}`, passing);
  if (cause instanceof StorageFault) {
    const message = `The storage of the videos does not answer: ${cause.message.replace(/\.$/, '')}. ${NOTHING_LOST}`;
    return new CallError(message, { ...passing, isRetryable: !cause.isFinal });
  }
  return cause;
}

const NOTHING_LOST = 'Nothing is lost: the same call joins its job again.';
