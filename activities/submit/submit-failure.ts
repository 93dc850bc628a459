import { ApplicationFailure, activityInfo, cancellationSignal } from '@temporalio/activity';
import { isCertainRefusal } from '../../src/contract/answer-table';
import { durationMs } from '../../src/contract/duration';
import { fromTemporalType } from '../../src/contract/failure-table';
import { fallsBack } from '../../src/contract/fallback';
import type { JobCost } from '../../src/contract/job-cost';
import { mayHaveMadeTask } from '../../src/contract/lost-submit';
import { POST_BEFORE_DEADLINE_MS, POST_WITHIN_MS, SUBMIT_POLICY } from '../../src/contract/policies';
import { createFailure, readFailure } from '../../src/contract/video-failure';
import { ServiceFault } from '../../src/service/service-fault';
import { StorageFault } from '../../src/storage/storage-fault';
import { addDetails } from '../to-failure';
import type { LostSubmit } from './submit-note';

/** The attempt ended before its POST, and neither the service nor the storage is to blame. */
export class NotSent extends Error {
  override readonly name = 'NotSent';
}

/** Sends nothing once Temporal may have given this attempt up: an operator or a retry may act on that already. */
export function refuseIfLate(startedAtMs: number): void {
  const signal = cancellationSignal();
  if (signal.aborted) throw new NotSent('cancelled', { cause: signal.reason });
  const { scheduleToCloseTimeoutMs, scheduledTimestampMs, currentAttemptScheduledTimestampMs } =
    activityInfo();
  const elapsedMs = performance.now() - startedAtMs;
  const beforeAttemptMs = currentAttemptScheduledTimestampMs - scheduledTimestampMs;
  const remainingMs = scheduleToCloseTimeoutMs
    ? scheduleToCloseTimeoutMs - beforeAttemptMs - elapsedMs
    : Number.POSITIVE_INFINITY;
  if (elapsedMs > POST_WITHIN_MS) throw new StorageFault('recording the request took too long');
  if (remainingMs < POST_BEFORE_DEADLINE_MS) {
    throw new NotSent('late', { cause: createFailure('DeadlineExceeded', { message: 'nothing was sent' }) });
  }
}

/** The storage is needed before the submit, so that nobody pays for a video that cannot be stored. */
export function sayNothingWasSent(error: unknown): unknown {
  if (!(error instanceof StorageFault)) return error;
  const { isFinal, message } = error;
  return new StorageFault(`nothing was sent, because the storage failed: ${message}`, {
    isFinal,
    cause: error,
  });
}

/** Whether no byte was sent. A StorageFault is from before the POST. */
export function wasNotSent(error: unknown): boolean {
  if (error instanceof NotSent || error instanceof StorageFault) return true;
  return error instanceof ServiceFault && error.kind === 'not-sent';
}

/** An unknown error proves nothing, once the request may be on its way. Before that, only a lost submit may have a task. */
export function madeNoTask(failure: unknown, mayBeSent: boolean): boolean {
  const type = failure instanceof ApplicationFailure ? fromTemporalType(failure.type) : undefined;
  return mayBeSent ? type !== undefined && !mayHaveMadeTask(type) : type !== 'SubmitUnconfirmed';
}

/** The answer, if the service may have made a task although it answered with an error. */
export function unsureAnswer(error: unknown): string | undefined {
  if (!(error instanceof ServiceFault) || error.kind !== 'answered') return undefined;
  const { status = 500, limited, noTask } = error.facts;
  return limited || noTask || isCertainRefusal(status) ? undefined : `HTTP ${status}`;
}

/** A failure of this attempt settles neither a lost submit, repeated or not, nor an answer that leaves a task possible. */
export function mentionTask(
  failure: unknown,
  {
    lost,
    unsure,
    cost,
  }: { lost: LostSubmit | undefined; unsure: string | undefined; cost: JobCost | undefined },
): unknown {
  if (lost === undefined && unsure === undefined) return failure;
  return addDetails(failure, ({ message }) => ({
    mayHaveTask: true,
    ...(cost && { cost }),
    ...(lost && {
      message: [message, `a task may still exist, because ${lost.why}`].filter(Boolean).join('; '),
    }),
  }));
}

/** How long after this failure the next attempt begins. */
export function retryDelayMs(failure: unknown): number {
  const { initialInterval, backoffCoefficient, maximumInterval } = SUBMIT_POLICY.retry;
  const backoffMs = initialInterval * backoffCoefficient ** (activityInfo().attempt - 1);
  return durationMs(Object(failure).nextRetryDelay) ?? Math.min(backoffMs, maximumInterval);
}

/** Leaves out the retries, if the next of a job's services may be tried instead: this one certainly made no task. */
export function withoutRetries(failure: unknown): unknown {
  const { type, details } = readFailure(failure) ?? {};
  if (type === undefined || !fallsBack(type) || details?.mayHaveTask) return failure;
  return createFailure(type, details, failure instanceof Error ? { cause: failure } : {});
}
