import { type ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { FailureDetails } from '../src/contract/failure-details';
import { type Call, FAILURES, type FailureType } from '../src/contract/failure-table';
import { RETRY_AFTER_JITTER, RETRY_AFTER_MAX_MS, RETRY_AFTER_MIN_MS } from '../src/contract/policies';
import { createFailure } from '../src/contract/video-failure';
import { type AnsweredCall, BY_KIND, failureOfStatus, mayRefuseContent } from '../src/service/answer-table';
import { ServiceFault } from '../src/service/service-fault';
import { StorageFault } from '../src/storage/storage-fault';

/** The download is not a complete video, or not one that the worker may store. */
export class BadVideo extends Error {
  override readonly name = 'BadVideo';

  constructor(
    message: string,
    readonly type: 'VideoCorrupt' | 'VideoTooLarge' = 'VideoCorrupt',
  ) {
    super(message);
  }
}

export interface FailureContext extends FailureDetails {
  /** The call whose retries apply, if it is not the call that failed: a download polls for its link. */
  retryAs?: Call;
}

/** An error that `toFailure` understands. */
export function isKnownFault(error: unknown): boolean {
  return error instanceof ServiceFault || error instanceof StorageFault || error instanceof BadVideo;
}

/** Turns the error of a call into a failure of the failure table. Other errors, such as cancellations, pass unchanged. */
export function toFailure(
  error: unknown,
  call: AnsweredCall,
  { retryAs = call === 'resubmit' ? 'submit' : call, ...details }: FailureContext = {},
): unknown {
  if (error instanceof StorageFault || error instanceof BadVideo) {
    const type = error instanceof BadVideo ? error.type : 'StorageFailed';
    const isFinal = error instanceof StorageFault && error.isFinal;
    const explained = { message: error.message, ...details };
    return createCallFailure(type, retryAs, explained, { cause: error, isFinal });
  }
  if (!(error instanceof ServiceFault)) return error;
  const { retryAfterMs, limited: _, taskMayExist: __, noTask: ___, refusedContent, ...facts } = error.facts;
  const type = faultType(error, call);
  const retryAfter = retryAfterMs !== undefined && { retryAfter: retryAfterMs / 1_000 };
  // The operator decides which addresses are allowed, so a retry changes nothing; the task can be adopted later.
  const isFinal = error.kind === 'not-allowed';
  const explained = { ...details, ...facts, ...retryAfter, ...(type === 'ContentRefused' && refusedContent) };
  return createCallFailure(type, retryAs, explained, { cause: error, isFinal });
}

/** An activity whose errors are failures of the failure table, with the task that it is about. */
export function failingAs<Input extends object, Output>(call: Call, work: (input: Input) => Promise<Output>) {
  return async (input: Input): Promise<Output> => {
    try {
      return await work(input);
    } catch (error) {
      const { taskId }: { taskId?: string } = input;
      throw toFailure(error, call, { taskId });
    }
  };
}

/** A failure of a call, retryable as the failure table says. */
export function createCallFailure(
  type: FailureType,
  call: Call,
  { onLostSubmit, lostSubmit, ...details }: FailureDetails,
  { cause, isFinal = false }: { cause?: Error; isFinal?: boolean } = {},
): ApplicationFailure {
  const { attempt, isLocal } = activityInfo();
  const { retry: retries, mostDownloadAttempts = Number.POSITIVE_INFINITY } = FAILURES[type];
  const { [call]: retry } = retries;
  // A submit that has paid for nothing retries until the deadline.
  const isLastAttempt = call === 'download' && attempt >= mostDownloadAttempts;
  const isLostSubmit = retry === 'hold';
  // A local activity would wait inside its workflow task.
  const isWaitTooLong = isLocal && details.retryAfter !== undefined;
  const mayRetry = retry === 'policy' || (isLostSubmit && onLostSubmit === 'resubmit');
  return createFailure(
    type,
    { ...details, ...(isLostSubmit && { onLostSubmit, lostSubmit }), attempt },
    {
      retryable: mayRetry && !isFinal && !isWaitTooLong && !isLastAttempt,
      nextRetryDelayMs: delayFor(details.retryAfter),
      cause,
    },
  );
}

function faultType({ kind, facts }: ServiceFault, call: AnsweredCall): FailureType {
  if (facts.taskMayExist) return 'SubmitUnconfirmed';
  if (facts.limited) return 'RateLimited';
  if (facts.noTask) return 'ServiceFailed';
  const isAnswered = kind === 'answered';
  // Only answers to submits are marked: in the answer to a poll, a refusal describes the task.
  const mayBeRefused = kind === 'refused' || (isAnswered && mayRefuseContent(facts.status ?? 0));
  if (facts.refusedContent && mayBeRefused) return 'ContentRefused';
  return isAnswered ? failureOfStatus(call, facts.status ?? 500) : BY_KIND[kind][call];
}

function delayFor(retryAfter: number | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  const clampedMs = Math.min(Math.max(retryAfter * 1_000, RETRY_AFTER_MIN_MS), RETRY_AFTER_MAX_MS);
  return Math.round(clampedMs * (1 + Math.random() * RETRY_AFTER_JITTER));
}
