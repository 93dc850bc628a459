import { cleanText } from '../contract/clean-text';
import type { RefusedContent } from '../contract/failure-details';
import { TASK_ID_RULE } from '../contract/input-rules';
import { redact, type Secrets } from '../contract/redact';
import { leavesOf, parseJson } from './answer-paths';
import type { NoAnswer } from './answer-table';
import type { ServiceProfile } from './profile';
import type { TracedReading } from './read-answer';
import { MAX_LENGTH } from './read-values';
import type { TaskReading, VideoState } from './video-service';

/** Why a call has no usable answer; `answered` means an HTTP status other than 2xx. */
export type FaultKind = 'answered' | NoAnswer;

export interface FaultFacts {
  status?: number;
  code?: string;
  message?: string;
  /** What to do, if the general advice for such a failure does not fit. */
  advice?: string;
  retryAfterMs?: number;
  /** The service asks for fewer requests, by 429 or by an answer that its profile names. */
  limited?: boolean;
  /** A submit was refused, but the profile says that a task may exist after this status. */
  taskMayExist?: boolean;
  /** A submit was answered with a server error, and the profile says that no task exists after this status. */
  noTask?: boolean;
  /** The answer clearly says that the content policy of the service refused the request. */
  refusedContent?: RefusedContent;
}

/** A failed call to the service. */
export class ServiceFault extends Error {
  override readonly name = 'ServiceFault';

  constructor(
    readonly kind: FaultKind,
    readonly facts: FaultFacts,
    options?: ErrorOptions,
  ) {
    super(`${kind}: ${[facts.status, facts.code, facts.message].filter(Boolean).join(' ')}`, options);
  }
}

/** An answer with what was read from it. */
export interface ReadAnswer {
  status: number;
  /** As it came: redact what is shown of it. */
  rawBody: string;
  reading: TracedReading;
  secrets: Secrets;
}

/** The status that the profile gives a code of the service, which may be any word. */
export function statusOfCode({ refusals }: ServiceProfile, code = ''): number | undefined {
  const { codes = {} } = refusals ?? {};
  return Object.hasOwn(codes, code) ? codes[code] : undefined;
}

/** The fault for an answer other than 2xx, with the service's own code and message, redacted. */
export function refusalFault(
  call: 'submit' | 'poll' | 'download',
  { status, rawBody, reading, secrets }: ReadAnswer,
  { refusals = {} }: ServiceProfile = {},
): ServiceFault {
  const { serviceMessage, refusedContent, retryAfterMs } = redactReading(reading, secrets);
  const { code, message = redact(rawBody, secrets) || undefined } = serviceMessage;
  const { limited = [], taskMayExist, noTask } = refusals;
  const isLimit = limited.some((limit) => limit.status === status && rawBody.includes(limit.says ?? ''));
  const isSubmit = call === 'submit';
  // Most services answer 403 to accounts that they have blocked, and say so in similar words.
  const isContent = isSubmit && refusedContent && (status !== 403 || refusedContent.isCertain);
  return new ServiceFault('answered', {
    status,
    ...((status === 429 || isLimit) && { limited: true }),
    ...(isSubmit && taskMayExist?.includes(status) && { taskMayExist: true }),
    ...(isSubmit && noTask?.includes(status) && { noTask: true }),
    ...(isContent && { refusedContent: refusedContentOf({ ...reading, refusedContent }) }),
    code,
    message,
    retryAfterMs,
  });
}

/** Why a 2xx answer to a submit has no task id: it refuses the request, or it cannot be read. Its reading is redacted. */
export function missingTaskFault({ status, rawBody, reading, secrets }: ReadAnswer): ServiceFault {
  const { unusableId, refusal, serviceMessage } = reading;
  const { code, message = redact(rawBody, secrets) } = serviceMessage;
  const refusedContent = refusedContentOf(reading);
  if ((refusal || isClearlyRefused(reading, rawBody)) && unusableId === undefined) {
    return new ServiceFault('refused', { status, code, message, ...(refusedContent && { refusedContent }) });
  }
  const problem =
    unusableId === undefined
      ? `the answer names no task: ${redact(rawBody, secrets) || 'it is empty'}`
      : `the task id in the answer ${TASK_ID_RULE}: ${redact(unusableId, secrets)}`;
  return new ServiceFault('unreadable', { status, code, message: problem });
}

/** What services say about the call itself. */
const OF_CALL = /(^|\.)(request_?id|trace_?id|timestamp|time|path)$/i;

/**
 * An unknown error code may mean anything, unless its meaning is this. Words about the policy may also come with a task that is
 * not found here, so they count only where nothing else is said.
 */
function isClearlyRefused({ refusedContent, serviceMessage, found }: TracedReading, body: string): boolean {
  if (refusedContent === undefined || serviceMessage.code === undefined) return false;
  const said = [found.code, found.message];
  return (
    refusedContent.isCertain ||
    leavesOf(parseJson(body)).every(({ path }) => said.includes(path) || OF_CALL.test(path))
  );
}

/** What may be told about refused content. */
export function refusedContentOf({ refusedContent }: TracedReading): RefusedContent | undefined {
  if (refusedContent === undefined) return undefined;
  const { isCertain: _, code: __, ...refused } = refusedContent;
  return refused;
}

/**
 * A reading that may be shown. Ids and links must stay exact, so they are not redacted here. A refusal for content may have a more
 * telling code than the one that is usually read.
 */
export function redactReading(reading: TracedReading, secrets: Secrets): TracedReading {
  const { task, doubts, refusedContent, serviceMessage } = reading;
  const hide = (text: string | undefined) => (text === undefined ? undefined : redact(text, secrets));
  return {
    ...reading,
    doubts: doubts.map((doubt) => redact(doubt, secrets)),
    task: { ...task, word: redact(task.word, secrets) },
    serviceMessage: {
      code: hide(refusedContent?.code ?? serviceMessage.code),
      message: hide(serviceMessage.message),
    },
  };
}

/** Refused content is told of failed tasks alone. */
export function toTaskReading({ status, reading }: ReadAnswer): TaskReading {
  const task = taskOf(status, reading);
  return {
    ...reading,
    task,
    refusedContent: task.state === 'failed' ? refusedContentOf(reading) : undefined,
  };
}

/** An error that may be about the call says at least why the state is unknown. */
function taskOf(status: number, { task, serviceMessage: { code, message } }: TracedReading): VideoState {
  if (status > 299) return { state: 'failed', word: `HTTP ${status}` };
  if (task.state !== 'unknown' || task.word !== '') return task;
  return { ...task, word: cleanText([code, message].filter(Boolean).join(': '), MAX_LENGTH.word) };
}
