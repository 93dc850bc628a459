import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  NexusOperationFailure,
  TimeoutFailure,
} from '@temporalio/common';
import { boundedCause } from './bounded-cause';
import { cleanText, shown } from './clean-text';
import { FAILURES, type FailureType, fromTemporalType, toTemporalType } from './failure-table';
import type { LostSubmitPolicy } from './lost-submit';
import { BATCH_WORKFLOW_TYPE, NEXUS_SERVICE, WORKFLOW_TYPE } from './names';

/** What is known of one failure, beside its type: the first of an ApplicationFailure's `details`. */
export interface FailureDetails {
  taskId?: string;
  /** The HTTP status of the answer. */
  status?: number;
  /** The service's own code and words, cut and cleaned. */
  code?: string;
  message?: string;
  /** Seconds, as the service asked for in Retry-After. */
  retryAfter?: number;
  attempt?: number;
  /** What applied to this lost submit. */
  onLostSubmit?: LostSubmitPolicy;
  /** ISO 8601, of a job that is held for a decision: it has not failed yet. */
  heldSince?: string;
  heldUntil?: string;
}

/** Several sentences; what is longer was not written by us. */
const LONGEST_MESSAGE = 2_000;

/** The words as they may stand anywhere, for others choose them; the task id stays what it is. */
function cleaned(details: FailureDetails): FailureDetails {
  const { code, message } = details;
  return {
    ...details,
    ...(code !== undefined && { code: cleanText(code) }),
    ...(message !== undefined && { message: cleanText(message, LONGEST_MESSAGE) }),
  };
}

/** What happened, to which task, and what to do. */
export function describeFailure(type: FailureType, details: FailureDetails = {}): string {
  return `${describeEvent(type, details)} ${FAILURES[type].advice}`;
}

/** What happened, and to which task. */
export function describeEvent(type: FailureType, given: FailureDetails): string {
  const { meaning } = FAILURES[type];
  const details = cleaned(given);
  const task = details.taskId ? ` (task ${shown(details.taskId)})` : '';
  const status = details.status ? `HTTP ${details.status}` : '';
  // Node's own messages repeat their code.
  const code = details.code && details.message?.includes(details.code) ? '' : details.code;
  const said = [status, code, details.message].filter(Boolean).join(' ');
  const happened = `${meaning}${task}${said && `: ${said.replace(/[.\s]+$/, '')}`}`;
  return `${happened}${/[?!…]$/.test(happened) ? '' : '.'}`;
}

export interface CreateFailureOptions {
  /** Whether Temporal's retry policy may try the activity again. */
  retryable?: boolean;
  nextRetryDelayMs?: number;
  cause?: Error;
}

export function createFailure(
  type: FailureType,
  details: FailureDetails = {},
  { retryable = false, nextRetryDelayMs, cause }: CreateFailureOptions = {},
): ApplicationFailure {
  return ApplicationFailure.create({
    type: toTemporalType(type),
    message: describeFailure(type, details),
    details: [cleaned(details)],
    nonRetryable: !retryable,
    nextRetryDelay: nextRetryDelayMs,
    cause: boundedCause(cause),
  });
}

/** A failed job as a caller meets it. */
export class VideoFailure extends Error {
  override readonly name = 'VideoFailure';
  readonly details: FailureDetails;

  constructor(
    readonly type: FailureType,
    details: FailureDetails = {},
    options?: ErrorOptions,
  ) {
    super(describeFailure(type, details), options);
    this.details = cleaned(details);
  }

  get taskId(): string | undefined {
    return this.details.taskId;
  }

  get advice(): string {
    return FAILURES[this.type].advice;
  }

  get exitCode(): number {
    return FAILURES[this.type].exitCode;
  }
}

export function isVideoFailure<Type extends FailureType>(
  error: unknown,
  type?: Type,
): error is VideoFailure & { type: Type } {
  return error instanceof VideoFailure && (type === undefined || error.type === type);
}

/**
 * The row of the table behind an error that came through Temporal, however deep it is wrapped. A failure of the host's own
 * has none, whatever its type, and neither has a cancellation of anything but a job or a batch.
 */
export function readFailure(error: unknown): VideoFailure | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof VideoFailure) return cause;
    if (isCancelledJob(cause)) return new VideoFailure('Cancelled', {}, { cause: error });
    if (!(cause instanceof ApplicationFailure)) continue;
    const type = fromTemporalType(cause.type);
    if (type) return new VideoFailure(type, readDetails(cause.details?.[0]), { cause: error });
  }
  return undefined;
}

/** Temporal's cancellation says nothing of what was cancelled; what it is wrapped in does. */
function isCancelledJob(error: Error): boolean {
  if (!(error.cause instanceof CancelledFailure)) return false;
  if (error instanceof NexusOperationFailure) return error.service === NEXUS_SERVICE;
  if (!(error instanceof ChildWorkflowFailure)) return false;
  return [WORKFLOW_TYPE, BATCH_WORKFLOW_TYPE].includes(error.workflowType);
}

/**
 * How an activity ended because its time ran out, and not because of what it met: undefined when it did not. One that no
 * worker ever began has left neither a heartbeat nor an earlier failure.
 */
export function readTimeout(error: unknown): 'while-running' | 'never-begun' | undefined {
  if (!(error instanceof ActivityFailure && error.cause instanceof TimeoutFailure)) return undefined;
  const { timeoutType, lastHeartbeatDetails, cause } = error.cause;
  const wasBegun = timeoutType !== 'SCHEDULE_TO_START' || lastHeartbeatDetails != null || cause != null;
  return wasBegun ? 'while-running' : 'never-begun';
}

const DETAIL_KINDS: Record<string, string> = {
  taskId: 'string',
  status: 'number',
  code: 'string',
  message: 'string',
  retryAfter: 'number',
  attempt: 'number',
  onLostSubmit: 'string',
  heldSince: 'string',
  heldUntil: 'string',
} satisfies Record<keyof FailureDetails, 'string' | 'number'>;

/** What crosses Temporal is our own createFailure's details or, from another version or language, any shape. */
function readDetails(value: unknown): FailureDetails {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter(([name, part]) => typeof part === DETAIL_KINDS[name]),
  );
}
