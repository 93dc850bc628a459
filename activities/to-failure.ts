import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import { type Call, FAILURES, type FailureType } from '../src/contract/failure-table';
import { createFailure, type FailureDetails } from '../src/contract/failures';
import {
  MOST_ATTEMPTS,
  RETRY_AFTER_JITTER,
  RETRY_AFTER_MAX_MS,
  RETRY_AFTER_MIN_MS,
} from '../src/contract/policies';
import { type FaultKind, ServiceFault } from '../src/service';
import { StorageFault } from '../src/storage';

/** Which failure an HTTP status means, by call: an exact status first, then its hundred. */
const BY_STATUS: Record<Call, Record<number, FailureType>> = {
  submit: {
    401: 'Unauthorized',
    402: 'Unauthorized',
    403: 'Unauthorized',
    // Nothing is there that generates videos: the address is wrong, not the request.
    404: 'AnswerUnreadable',
    405: 'AnswerUnreadable',
    // The idempotency key is in use: the task may exist already.
    409: 'SubmitUnconfirmed',
    // The whole request never arrived.
    408: 'ServiceUnreachable',
    429: 'RateLimited',
    // Said by something between us and the service, which may have passed the request on.
    502: 'SubmitUnconfirmed',
    504: 'SubmitUnconfirmed',
    520: 'SubmitUnconfirmed',
    524: 'SubmitUnconfirmed',
    300: 'AnswerUnreadable',
    400: 'InvalidRequest',
    500: 'ServiceFailed',
  },
  check: {
    401: 'Unauthorized',
    402: 'Unauthorized',
    403: 'Unauthorized',
    404: 'TaskUnknown',
    410: 'TaskUnknown',
    429: 'RateLimited',
    300: 'AnswerUnreadable',
    400: 'AnswerUnreadable',
    500: 'ServiceFailed',
  },
  download: {
    429: 'RateLimited',
    300: 'VideoUnavailable',
    400: 'VideoUnavailable',
    500: 'ServiceFailed',
  },
};

/** Which failure it is when no usable answer came. A POST that may have arrived is never sent again blindly. */
const BY_KIND: Record<Exclude<FaultKind, 'answered'>, Record<Call, FailureType>> = {
  'not-sent': { submit: 'ServiceUnreachable', check: 'ServiceUnreachable', download: 'ServiceUnreachable' },
  cut: { submit: 'SubmitUnconfirmed', check: 'ServiceUnreachable', download: 'ServiceUnreachable' },
  unreadable: { submit: 'SubmitUnconfirmed', check: 'AnswerUnreadable', download: 'AnswerUnreadable' },
};

/** Turns what a call met into its row of the failure table; what is not a fault of the outside world passes unchanged. */
export function toFailure(error: unknown, call: Call, known: FailureDetails = {}, retryAs = call): unknown {
  if (error instanceof ApplicationFailure) return error;
  if (error instanceof StorageFault) {
    return failureOf('StorageFailed', retryAs, { ...known, message: error.message }, error);
  }
  if (!(error instanceof ServiceFault)) return error;
  return failureOf(faultType(error, call), retryAs, { ...known, ...error.facts }, error);
}

export function failureOf(
  type: FailureType,
  call: Call,
  details: FailureDetails,
  cause?: Error,
): ApplicationFailure {
  const { attempt } = activityInfo();
  const mayRetry =
    FAILURES[type].retry[call] === 'policy' && attempt < (MOST_ATTEMPTS[type] ?? Number.POSITIVE_INFINITY);
  return createFailure(
    type,
    { ...details, attempt },
    { retryable: mayRetry, nextRetryDelayMs: nextRetryDelay(details.retryAfterMs), cause },
  );
}

function faultType({ kind, facts }: ServiceFault, call: Call): FailureType {
  if (kind !== 'answered') return BY_KIND[kind][call];
  const status = facts.status ?? 500;
  const hundred = Math.floor(status / 100) * 100;
  return BY_STATUS[call][status] ?? BY_STATUS[call][hundred] ?? 'AnswerUnreadable';
}

function nextRetryDelay(retryAfterMs: number | undefined): number | undefined {
  if (retryAfterMs === undefined) return undefined;
  const clamped = Math.min(Math.max(retryAfterMs, RETRY_AFTER_MIN_MS), RETRY_AFTER_MAX_MS);
  return Math.round(clamped * (1 + Math.random() * RETRY_AFTER_JITTER));
}
