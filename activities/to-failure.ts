import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import { type AnsweredCall, BY_KIND, failureOfStatus } from '../src/contract/answer-table';
import { type Call, FAILURES, type FailureType } from '../src/contract/failure-table';
import { createFailure, type FailureDetails } from '../src/contract/failures';
import {
  MOST_DOWNLOAD_ATTEMPTS,
  RETRY_AFTER_JITTER,
  RETRY_AFTER_MAX_MS,
  RETRY_AFTER_MIN_MS,
} from '../src/contract/policies';
import { ServiceFault } from '../src/service';
import { StorageFault } from '../src/storage';
import { BadVideo, VideoTooLarge } from './download/bad-video';

/** What is known beside the fault, and whose retries it is about when the call was made on behalf of another. */
export interface FailureContext extends FailureDetails {
  retryAs?: Call;
}

const FAULTS_OF_OURS = [
  [StorageFault, 'StorageFailed'],
  [BadVideo, 'VideoCorrupt'],
  [VideoTooLarge, 'VideoTooLarge'],
] as const;

/** Turns what a call met into its row of the failure table; what is not a fault of the outside world passes unchanged. */
export function toFailure(
  error: unknown,
  call: AnsweredCall,
  { retryAs = call === 'resubmit' ? 'submit' : call, ...known }: FailureContext = {},
): unknown {
  if (error instanceof ApplicationFailure) return error;
  for (const [fault, type] of FAULTS_OF_OURS) {
    if (!(error instanceof fault)) continue;
    const isFinal = error instanceof StorageFault && error.isFinal;
    return failureOf(type, retryAs, { ...known, message: error.message }, { cause: error, isFinal });
  }
  if (!(error instanceof ServiceFault)) return error;
  const { retryAfterMs, limited: _, taskMayExist: __, ...facts } = error.facts;
  const asked = retryAfterMs !== undefined && { retryAfter: retryAfterMs / 1_000 };
  // Where a link may lead is the operator's word: asking again changes nothing, and the task can be adopted afterwards.
  const isFinal = error.kind === 'not-allowed';
  return failureOf(
    faultType(error, call),
    retryAs,
    { ...known, ...facts, ...asked },
    { cause: error, isFinal },
  );
}

export function failureOf(
  type: FailureType,
  call: Call,
  { onLostSubmit, ...details }: FailureDetails,
  { cause, isFinal = false }: { cause?: Error; isFinal?: boolean } = {},
): ApplicationFailure {
  const { attempt } = activityInfo();
  const { [call]: retry } = FAILURES[type].retry;
  const isLost = retry === 'hold';
  const mayRetry = retry === 'policy' || (isLost && onLostSubmit === 'resubmit');
  return createFailure(
    type,
    { ...details, ...(isLost && { onLostSubmit }), attempt },
    {
      retryable: mayRetry && !isFinal && attempt < mostAttempts(type, call),
      nextRetryDelayMs: nextRetryDelay(details.retryAfter),
      cause,
    },
  );
}

/** Before anything is paid for there is nothing to adopt: a submit waits for its storage until the deadline. */
function mostAttempts(type: FailureType, call: Call): number {
  const most = call === 'download' ? MOST_DOWNLOAD_ATTEMPTS[type] : undefined;
  return most ?? Number.POSITIVE_INFINITY;
}

function faultType({ kind, facts }: ServiceFault, call: AnsweredCall): FailureType {
  if (facts.taskMayExist) return 'SubmitUnconfirmed';
  if (facts.limited) return 'RateLimited';
  return kind === 'answered' ? failureOfStatus(call, facts.status ?? 500) : BY_KIND[kind][call];
}

function nextRetryDelay(retryAfter: number | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  const clamped = Math.min(Math.max(retryAfter * 1_000, RETRY_AFTER_MIN_MS), RETRY_AFTER_MAX_MS);
  return Math.round(clamped * (1 + Math.random() * RETRY_AFTER_JITTER));
}
