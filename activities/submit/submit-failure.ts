import { ApplicationFailure, activityInfo, cancellationSignal } from '@temporalio/activity';
import { durationMs } from '../../src/contract/duration';
import { fromTemporalType } from '../../src/contract/failure-table';
import type { JobCost } from '../../src/contract/job-cost';
import { mayHaveMadeTask } from '../../src/contract/lost-submit';
import { POST_BEFORE_DEADLINE_MS, POST_WITHIN_MS } from '../../src/contract/policies';
import { createFailure, fallsBack, readFailure } from '../../src/contract/video-failure';
import { isCertainRefusal } from '../../src/service/answer-table';
import { ServiceFault } from '../../src/service/service-fault';
import type { NoTask } from '../../src/storage/job-record';
import { StorageFault } from '../../src/storage/storage-fault';
import type { KnownSubmits } from './known-submits';

/** Sends nothing once Temporal may have given this attempt up: an operator or a retry may act on that already. */
export function refuseIfLate(startedAtMs: number): void {
  cancellationSignal().throwIfAborted();
  const attemptMs = performance.now() - startedAtMs;
  if (attemptMs > POST_WITHIN_MS) throw new StorageFault('recording the request took too long');
  const { scheduleToCloseTimeoutMs, ...info } = activityInfo();
  if (!scheduleToCloseTimeoutMs) return;
  // By the server's timestamps: the clocks of worker and server may differ.
  const sinceMs = info.currentAttemptScheduledTimestampMs - info.scheduledTimestampMs + attemptMs;
  if (scheduleToCloseTimeoutMs - sinceMs < POST_BEFORE_DEADLINE_MS)
    throw createFailure('DeadlineExceeded', { message: 'nothing was sent' });
}

/** How an attempt ended that certainly made no task; undefined if it may have made one, or knows of one that may exist. */
export function endWithoutTask(error: unknown, failure: unknown, isPosted: boolean): NoTask | undefined {
  const type = failure instanceof ApplicationFailure ? fromTemporalType(failure.type) : undefined;
  if (!isPosted) return type === 'SubmitUnconfirmed' ? undefined : 'not-sent';
  // An unknown error proves nothing.
  if (type === undefined || mayHaveMadeTask(type)) return undefined;
  if (!(error instanceof ServiceFault)) return 'refused';
  const { status = 500, limited, noTask } = error.facts;
  const isClear = error.kind !== 'answered' || limited || noTask || isCertainRefusal(status);
  return error.kind === 'not-sent' ? 'not-sent' : isClear ? 'refused' : 'unclear';
}

/** A lost submit says all of it already, and other errors pass unchanged. */
export function explainSubmitFailure(
  failure: unknown,
  { lost, mayHaveTask }: Pick<KnownSubmits, 'lost' | 'mayHaveTask'>,
  cost: JobCost | undefined,
  isTurnOver: boolean,
): unknown {
  const { type, details } = readFailure(failure) ?? {};
  if (!(failure instanceof ApplicationFailure) || type === undefined || type === 'SubmitUnconfirmed')
    return failure;
  const isOver = isTurnOver && !mayHaveTask && fallsBack(type);
  const doubts = lost.slice(-1).map(({ why }) => `a task may still exist, because ${why}`);
  const message = [details?.message, ...doubts].filter(Boolean).join('; ') || undefined;
  return createFailure(
    type,
    { ...details, message, ...(mayHaveTask && { mayHaveTask }), ...(mayHaveTask && cost && { cost }) },
    {
      retryable: !failure.nonRetryable && !isOver,
      nextRetryDelayMs: durationMs(failure.nextRetryDelay),
      cause: failure.cause,
    },
  );
}
