import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import { isCertainRefusal } from '../../src/contract/answer-table';
import { FAILURES, type FailureRow, fromTemporalType } from '../../src/contract/failure-table';
import { SUBMIT_POLICY } from '../../src/contract/policies';
import type { ServiceChoice } from '../../src/contract/service-choice';
import { ServiceFault } from '../../src/service';
import { withDetail } from '../to-failure';

/** Says that a submit is for a job with `services`. */
export interface FallbackInput {
  /** How long the service may be tried again, if another one is left after it. */
  afterMs?: number;
}

/** What a failed submit tells its workflow beside the failure, as a further detail of it. */
export interface SubmitVerdict {
  /** No task was made, for certain and because of the service: the next one may be tried. */
  triesNext?: true;
  /** The service of the submit that failed, or of the one that is lost. */
  service?: ServiceChoice;
  /** The lost submit went to the service that has no name. */
  isUnnamed?: true;
}

/** How one attempt of a submit failed. */
export interface FailedAttempt {
  /** What the call threw: a ServiceFault is of the service, and others may be our own checks. */
  error: unknown;
  failure: unknown;
  /** Neither this attempt nor one before it may have made a task: none is lost, and no answer leaves that open. */
  madeNoTask: boolean;
  /** How long the service was tried, until the next attempt would come. */
  triedForMs: number;
}

/** Whether the next service may be tried now. While a retry here fits into the time of this service, it comes first. */
export function mayTryNext(
  { afterMs }: FallbackInput,
  { error, failure, madeNoTask, triedForMs }: FailedAttempt,
): boolean {
  if (afterMs === undefined || !madeNoTask || !(failure instanceof ApplicationFailure)) return false;
  const type = fromTemporalType(failure.type);
  const { fallsBack }: Partial<FailureRow> = type ? FAILURES[type] : {};
  if (fallsBack === undefined || (fallsBack === 'if-answered' && !(error instanceof ServiceFault)))
    return false;
  return failure.nonRetryable === true || triedForMs >= afterMs;
}

/** The answer, if the service may have made a task although it answered with an error. */
export function unsureAnswer(error: unknown): string | undefined {
  if (!(error instanceof ServiceFault) || error.kind !== 'answered') return undefined;
  const { status = 500, limited, noTask } = error.facts;
  return limited || noTask || isCertainRefusal(status) ? undefined : `HTTP ${status}`;
}

/** How long Temporal waits for the next attempt after this failure. */
export function retryDelayMs(failure: unknown): number {
  const { nextRetryDelay } = failure instanceof ApplicationFailure ? failure : {};
  if (typeof nextRetryDelay === 'number') return nextRetryDelay;
  const { initialInterval, backoffCoefficient, maximumInterval } = SUBMIT_POLICY.retry;
  return Math.min(initialInterval * backoffCoefficient ** (activityInfo().attempt - 1), maximumInterval);
}

/** The failure with its verdict. One that leads to the next service is not retried here. */
export function withVerdict(failure: unknown, verdict: SubmitVerdict): unknown {
  if (!(failure instanceof ApplicationFailure)) return failure;
  return withDetail(failure, verdict, { isFinal: verdict.triesNext === true });
}
