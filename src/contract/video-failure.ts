import {
  ApplicationFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  NexusOperationFailure,
  TemporalFailure,
  TerminatedFailure,
  TimeoutFailure,
} from '@temporalio/common';
import { cleanText, shown } from './clean-text';
import { cleaned, type FailureDetails, LONGEST_MESSAGE_CHARS, refusedSubject } from './failure-details';
import { FAILURES, type FailureType, fromTemporalType, isRefusal, toTemporalType } from './failure-table';
import { BATCH_WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, NEXUS_SERVICE, WORKFLOW_TYPE } from './names';

/** The message of a failure: what happened, to which task, and what to do. */
export function describeFailure(type: FailureType, details: FailureDetails = {}): string {
  return `${describeEvent(type, details)} ${adviceOf(type, details)}`;
}

function adviceOf(type: FailureType, details: FailureDetails): string {
  return cleaned(details).advice ?? FAILURES[type].advice;
}

/** The same without what to do. */
export function describeEvent(type: FailureType, facts: FailureDetails): string {
  const details = cleaned(facts);
  const { taskId, status, code, message, charged } = details;
  const subject = type === 'ContentRefused' ? refusedSubject(details) : undefined;
  const meaning = subject ? `The content policy of the service refused ${subject}` : FAILURES[type].meaning;
  const task = taskId ? ` (task ${shown(taskId)})` : '';
  // Messages of Node repeat the code.
  const ownCode = code && !message?.includes(code) ? `code ${code}` : '';
  const reason = [status ? `HTTP ${status}` : '', ownCode, message].filter(Boolean).join(', ');
  const sentence = `${meaning}${task}${reason && `: ${withoutEnd(reason)}`}`;
  const end = /[?!…]$/.test(sentence) ? '' : '.';
  if (charged === undefined) return `${sentence}${end}`;
  return `${sentence}${end} The service charges ${charged ? 'for it' : 'nothing for it'}.`;
}

/** A sentence that becomes a part of another one. */
export function withoutEnd(sentence: string): string {
  return sentence.replace(/[.\s]+$/, '');
}

export interface CreateFailureOptions {
  /** Whether Temporal may retry the activity; false by default. */
  retryable?: boolean;
  nextRetryDelayMs?: number;
  cause?: Error;
}

/** A failure as activities and workflows throw it. */
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

/** Errors of this package have at most three causes. */
const MOST_CAUSES = 5;
const LONGEST_STACK_CHARS = 8_000;

/** Bounds what an error adds to a history: short errors pass unchanged, long ones become a shortened copy. */
function boundedCause(error: unknown, mostCauses = MOST_CAUSES): Error | undefined {
  if (!(error instanceof Error) || mostCauses === 0) return undefined;
  // Temporal recognizes its failures by their class, and they were cut when they were created.
  if (error instanceof TemporalFailure) return error;
  const cause = boundedCause(error.cause, mostCauses - 1);
  const { name, message, stack = '' } = error;
  const isShort =
    name.length + message.length <= LONGEST_MESSAGE_CHARS && stack.length <= LONGEST_STACK_CHARS;
  if (isShort && cause === error.cause) return error;
  const copy = new Error(cleanText(message, LONGEST_MESSAGE_CHARS), { cause });
  copy.name = cleanText(name);
  // A stack begins with the message.
  const calls = stack.slice(-LONGEST_STACK_CHARS).match(/^ {4}at .*$/gm) ?? [];
  copy.stack = [`${copy.name}: ${copy.message}`, ...calls].join('\n');
  return copy;
}

/** A failed job, as clients throw it. */
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

  /** What to do about it. */
  get advice(): string {
    return adviceOf(this.type, this.details);
  }

  /** Whether anything is charged: as the service says, or `no` if its refusal is all that it was asked for. */
  get charged(): 'yes' | 'no' | 'unknown' {
    const { charged, cost, mayHaveTask } = this.details;
    const amount = cost?.charged?.amount;
    if (charged || (amount !== undefined && amount > 0)) return 'yes';
    if (mayHaveTask || cost?.lostSubmits) return 'unknown';
    if (charged === false || amount === 0) return 'no';
    return this.taskId === undefined && isRefusal(this.type) ? 'no' : 'unknown';
  }

  /** The exit code of the command for this failure. */
  get exitCode(): number {
    return FAILURES[this.type].exitCode;
  }
}

/**
 * True for a failure of this package, or for one of the given type.
 *
 * @example
 * ```ts
 * if (isVideoFailure(error, 'GenerationFailed')) console.log(error.taskId, error.message);
 * ```
 */
export function isVideoFailure<Type extends FailureType>(
  error: unknown,
  type?: Type,
): error is VideoFailure & { type: Type } {
  return error instanceof VideoFailure && (type === undefined || error.type === type);
}

/**
 * The failure of this package inside an error from Temporal, however deeply it is wrapped. Undefined for the host's own
 * failures, and for a cancellation of anything but a job or a batch.
 *
 * @example
 * ```ts
 * if (readFailure(error)?.type === 'GenerationFailed') return 'no video';
 * ```
 */
export function readFailure(error: unknown): VideoFailure | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof VideoFailure) return cause;
    if (isCancelledJob(cause)) return new VideoFailure('Cancelled', {}, { cause: error });
    if (!(cause instanceof ApplicationFailure)) continue;
    const type = fromTemporalType(cause.type);
    if (type) return new VideoFailure(type, Object(cause.details?.[0]), { cause: error });
  }
  return undefined;
}

/** A CancelledFailure does not say what was cancelled; the failure around it does. */
function isCancelledJob(error: Error): boolean {
  if (!(error.cause instanceof CancelledFailure)) return false;
  if (error instanceof NexusOperationFailure) return error.service === NEXUS_SERVICE;
  if (!(error instanceof ChildWorkflowFailure)) return false;
  return [WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, BATCH_WORKFLOW_TYPE].includes(error.workflowType);
}

/** The failure of a workflow that Temporal ended itself: by a cancellation, a termination or a timeout of the workflow. */
export function endedByTemporal(cause: unknown): VideoFailure | undefined {
  if (cause instanceof CancelledFailure) return new VideoFailure('Cancelled', {}, { cause });
  if (cause instanceof TerminatedFailure)
    return new VideoFailure('Cancelled', { message: `terminated: ${cause.message}` }, { cause });
  if (!(cause instanceof TimeoutFailure)) return undefined;
  const message = 'Temporal ended the workflow at the timeout it was started with';
  return new VideoFailure('DeadlineExceeded', { message }, { cause });
}

/** Whether the next of a job's `services` may be tried after such a submit, if that certainly made no task. */
export function fallsBack(type: FailureType, status?: number): boolean {
  const { fallsBack: when } = FAILURES[type];
  return when === 'always' || (when === 'if-answered' && status !== undefined);
}

/**
 * The last attempt that may have run before attempts whose input could not be decrypted, by the failure of the last one;
 * 0 if none has. Undefined for any other failure, and if it is not known.
 */
export function lastAttemptThatRan(type: string | null | undefined): number | undefined {
  const [, attempt] = /^videogen\.NotDecrypted\.after-attempt-(\d{1,9})$/.exec(type ?? '') ?? [];
  return attempt === undefined ? undefined : Number(attempt);
}
