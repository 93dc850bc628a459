import { mayHaveMadeTask } from '../contract/lost-submit';
import { redact, type Secrets } from '../contract/redact';
import type { VideoRequest } from '../contract/request';
import { failureOfStatus } from '../service/answer-table';
import { refusalFault } from '../service/call-service';
import { missingTaskFault, type TaskReading } from '../service/http-video-service';
import type { ServiceProfile } from '../service/profile';
import { type TracedReading, traceAnswer, type VideoState } from '../service/read-answer';
import type { RetryHeaders } from '../service/read-values';
import type { ReadingRules } from '../service/reading-rules';
import {
  isLimit,
  mayBeContent,
  REFUSED_TASK_STATUSES,
  redactReading,
  refusedContentOf,
  statusOfCode,
  wordsOf,
} from '../service/service-connection';
import { ServiceFault } from '../service/service-fault';
import { type Exchange, mayChange } from './exchanges';
import { isOutcomeOfFal, refusesSubmit } from './outcome-signs';
import { answerOf, beforeRequest, hadNoConnection, isSdkError, messageOf, networkCode } from './sdk-errors';

/** What is needed to understand how a call of a model ended. */
export interface CallFacts {
  exchanges: readonly Exchange[];
  /** The model certainly sent nothing. */
  sentNothing: boolean;
  profile: ServiceProfile;
  rules: ReadingRules;
  secrets: Secrets;
  /** Of a submit. */
  request?: VideoRequest;
}

/** An answer of the service behind the model. */
interface ServiceAnswer {
  status: number;
  headers: RetryHeaders;
  body: string;
}

const isGood = (status: number) => status >= 200 && status <= 299;

/**
 * Why a submit failed. The requests that were seen decide, not the words of the error: a task may exist unless the service
 * clearly refused each request, or none has left. In doubt it is a lost submit.
 */
export function submitFault(error: unknown, facts: CallFacts): ServiceFault {
  const { exchanges } = facts;
  if (exchanges.length === 0) return unseenFault(error, facts);
  const telling =
    exchanges.filter(mayChange).find(mayHaveMade) ?? exchanges.findLast(mayChange) ?? exchanges.at(-1);
  if (telling === undefined) return unseenFault(error, facts);
  const { isSent, fault } = telling;
  if (fault && fault.kind !== 'answered') return fault;
  const answer = answerIn(telling, error);
  if (answer === undefined) return lostOrNot(error, { isSent, facts });
  return isGood(answer.status) ? withoutTask(error, answer, facts) : refusal('submit', answer, facts);
}

/** Whether a request may have made a task. */
function mayHaveMade({ isSent, status }: Exchange): boolean {
  if (!isSent) return false;
  if (status === undefined || isGood(status)) return true;
  return mayHaveMadeTask(failureOfStatus('submit', status));
}

/** The answer of an exchange. What only the SDK has read of it is in its error. */
function answerIn({ status, headers, body }: Exchange, error: unknown): ServiceAnswer | undefined {
  if (status === undefined) return undefined;
  const told = answerOf(error);
  const isSame = told?.status === status;
  return {
    status,
    headers: { ...(isSame && told.headers), ...headers },
    body: body ?? (isSame ? told.body : undefined) ?? messageOf(error),
  };
}

/** An error of a call of which no request was seen. */
function unseenFault(error: unknown, facts: CallFacts): ServiceFault {
  const { sentNothing, secrets } = facts;
  if (error instanceof ServiceFault) return error;
  const early = beforeRequest(error) ?? (sentNothing ? 'not-sent' : undefined);
  if (early !== undefined) return new ServiceFault(early, { message: redact(messageOf(error), secrets) });
  const told = answerOf(error);
  if (told?.status !== undefined) {
    const answer = { status: told.status, headers: told.headers, body: told.body ?? messageOf(error) };
    return isGood(told.status) ? withoutTask(error, answer, facts) : refusal('submit', answer, facts);
  }
  return lostOrNot(error, { isSent: !hadNoConnection(error), facts });
}

function lostOrNot(error: unknown, { isSent, facts: { secrets } }: { isSent: boolean; facts: CallFacts }) {
  const code = networkCode(error);
  return new ServiceFault(isSent ? 'cut' : 'not-sent', {
    ...(code !== undefined && { code: redact(code, secrets) }),
    message: redact(messageOf(error), secrets),
  });
}

/** A 2xx answer from which the model made no operation: it refuses the request, or it cannot be read. */
function withoutTask(error: unknown, answer: ServiceAnswer, facts: CallFacts): ServiceFault {
  const { secrets, profile, request } = facts;
  const { status, body } = answer;
  const reading = redactReading(wordsOf(trace(answer, facts, request)), secrets);
  const { code } = reading.serviceMessage;
  if (reading.taskId !== undefined) {
    return new ServiceFault('unreadable', { status, code, message: redact(messageOf(error), secrets) });
  }
  const inBody = statusOfCode(profile, code) ?? reading.refusal?.status;
  if (inBody !== undefined) return refusal('submit', { ...answer, status: inBody }, facts);
  return missingTaskFault({ status, rawBody: body, reading, secrets });
}

/** The fault for an answer other than 2xx, as for a service that is called directly. */
function refusal(call: 'submit' | 'poll', answer: ServiceAnswer, facts: CallFacts): ServiceFault {
  const { profile, secrets, request } = facts;
  const { body } = answer;
  const reading = wordsOf(trace(answer, facts, request));
  const status = statusOfCode(profile, reading.serviceMessage.code) ?? answer.status;
  const isSubmit = call === 'submit';
  return refusalFault({ status, body }, reading, secrets, {
    limited: isLimit(profile, status, body),
    taskMayExist: isSubmit && profile.refusals?.taskMayExist?.includes(status),
    noTask: isSubmit && profile.refusals?.noTask?.includes(status),
    ...(isSubmit &&
      mayBeContent(status, reading) && { refusedContent: refusedContentOf(redactReading(reading, secrets)) }),
  });
}

function trace(
  { status, headers, body }: ServiceAnswer,
  { rules }: CallFacts,
  request?: VideoRequest,
): TracedReading {
  return traceAnswer({ status, headers, receivedAtMs: Date.now(), body, request }, rules);
}

/**
 * Whether an answer other than 2xx to a poll is the end of its task, as for a service that is called directly, or by what fal
 * says. In doubt it is a fault of the poll: the task is paid for.
 */
function endsTask(answer: ServiceAnswer, exchange: Exchange | undefined, facts: CallFacts): boolean {
  const { status } = answer;
  if (facts.profile.refusals?.failed?.includes(status)) return true;
  if (exchange && isOutcomeOfFal(exchange)) return true;
  if (!REFUSED_TASK_STATUSES.includes(status)) return false;
  return trace(answer, facts).refusedContent?.isCertain === true || refusesSubmit(exchange);
}

/** HTTP's own words for a status: models repeat them when the answer has none. */
const PHRASES = new Map([
  ['unauthorized', 401],
  ['forbidden', 403],
  ['not found', 404],
  ['request timeout', 408],
  ['too many requests', 429],
  ['internal server error', 500],
  ['bad gateway', 502],
  ['service unavailable', 503],
  ['gateway timeout', 504],
]);

/**
 * A task that failed, in the words of its model. Some models call a poll that failed a failed task, too: that would give up a
 * paid video because of a moment's fault, so what was seen of the call comes first.
 */
export function failedTask(text: string, facts: CallFacts): TaskReading {
  const last = facts.exchanges.at(-1);
  if (last?.fault && last.fault.kind !== 'answered') throw last.fault;
  const status = last?.status ?? PHRASES.get(text.trim().toLowerCase());
  if (status !== undefined && !isGood(status)) {
    const answer = { status, headers: last?.headers ?? {}, body: last?.body ?? text };
    if (!endsTask(answer, last, facts)) throw refusal('poll', answer, facts);
  }
  if (status === undefined && /^Cannot connect to API\b/.test(text)) {
    throw new ServiceFault('cut', { message: redact(text, facts.secrets) });
  }
  if (bodyReading(facts)?.json === false || UNREAD_ANSWER.test(text)) {
    throw new ServiceFault('unreadable', { status, message: redact(text, facts.secrets) });
  }
  return failedReading(text, facts);
}

/** What the AI SDK says of an answer that it could not read: it says nothing about the task. */
const UNREAD_ANSWER = /^(Invalid JSON response|Failed to process (successful|error) response)$/;

/** What a poll means whose model threw an error: some do so for a task that failed. */
export function pollThatThrew(error: unknown, facts: CallFacts): TaskReading {
  if (error instanceof ServiceFault) throw error;
  const { secrets } = facts;
  const last = facts.exchanges.at(-1);
  if (last?.fault && last.fault.kind !== 'answered') throw last.fault;
  const told = answerOf(error);
  const status = last?.status ?? told?.status;
  const text = messageOf(error);
  if (status === undefined) {
    if (isSdkError(error) && told === undefined) return readWords(error, facts);
    throw lostOrNot(error, { isSent: last?.isSent ?? !hadNoConnection(error), facts });
  }
  const answer = answerIn({ method: 'GET', isSent: true, ...last, status }, error);
  if (!isGood(status)) {
    const shown = answer ?? { status, headers: {}, body: text };
    if (endsTask(shown, last, facts)) return failedReading(text, facts);
    throw refusal('poll', shown, facts);
  }
  if (isSdkError(error) && told === undefined) return readWords(error, facts);
  // The answer broke off, if the error comes from the connection.
  if (networkCode(error) !== undefined) throw lostOrNot(error, { isSent: true, facts });
  throw new ServiceFault('unreadable', { status, message: redact(text, secrets) });
}

/** How models word a finished task without a video, and one that failed. */
const NO_VIDEO = /\bno (valid )?videos?\b/i;
const FAILED =
  /\b(generation|task|prediction|video|request)\b.{0,40}\b(failed|cancell?ed|expired|rejected|blocked)\b/is;

/** An error of a model that has read the answer. The answer itself says more, where it is there. */
function readWords(error: unknown, facts: CallFacts): TaskReading {
  const text = messageOf(error);
  const reading = bodyReading(facts);
  const state = reading?.task.state;
  if (state === 'failed' || state === 'cancelled' || reading?.refusedContent)
    return failedReading(text, facts);
  if (state === 'succeeded' || NO_VIDEO.test(text)) {
    return { ...NOTHING_READ, task: { state: 'succeeded', word: reading?.task.word || 'completed' } };
  }
  if (FAILED.test(text)) return failedReading(text, facts);
  throw new ServiceFault('unreadable', {
    status: facts.exchanges.at(-1)?.status,
    message: redact(text, facts.secrets),
  });
}

const NOTHING_READ = { json: true, serviceMessage: {}, doubts: [] };

/** What the last answer says, where its body was seen; redacted, except for its links and ids. */
export function bodyReading(facts: CallFacts): TracedReading | undefined {
  const last = facts.exchanges.at(-1);
  if (last?.status === undefined || last.body === undefined) return undefined;
  const reading = trace({ status: last.status, headers: last.headers ?? {}, body: last.body }, facts);
  return redactReading(wordsOf(reading), facts.secrets);
}

/** A failed or cancelled task, with the service's own code and words, and whether its content was refused. */
function failedReading(text: string, facts: CallFacts): TaskReading {
  const seen = bodyReading(facts);
  const told = redactReading(wordsOf(traceText(text, facts)), facts.secrets);
  const reading = seen?.refusedContent || !told.refusedContent ? (seen ?? told) : told;
  const refusedContent = refusedContentOf(reading);
  const wasCancelled = seen
    ? seen.task.state === 'cancelled'
    : /\bcancell?ed\b/i.test(text) && !refusedContent;
  const { code, message = redact(text, facts.secrets) } = {
    ...told.serviceMessage,
    ...seen?.serviceMessage,
  };
  return {
    ...NOTHING_READ,
    task: { state: wasCancelled ? 'cancelled' : 'failed', word: seen?.task.word || 'error' },
    serviceMessage: { ...(code !== undefined && { code }), message },
    ...(refusedContent && { refusedContent }),
    ...(seen?.charged && { charged: seen.charged }),
  };
}

/** Models put the answer, as JSON, into their errors. */
function traceText(text: string, facts: CallFacts): TracedReading {
  const [json] = /\{.*\}/s.exec(text.slice(0, LONGEST_TEXT_CHARS)) ?? [];
  const embedded = json && trace({ status: 200, headers: {}, body: json }, facts);
  if (embedded && embedded.task.state === 'failed') return embedded;
  const body = JSON.stringify({ status: 'failed', error: { message: text.slice(0, LONGEST_TEXT_CHARS) } });
  return trace({ status: 200, headers: {}, body }, facts);
}

const LONGEST_TEXT_CHARS = 100_000;

/** A task that is not ready. The service's own word and percentage are in the answer, where it was seen. */
export function pendingReading(facts: CallFacts, headers: RetryHeaders = {}): TaskReading {
  const seen = bodyReading(facts);
  const status = facts.exchanges.at(-1)?.status ?? 200;
  const { retryAfterMs } = trace({ status, headers, body: '' }, facts);
  // DashScope says UNKNOWN of a task that it does not have, which its model takes for one in progress.
  const isKnown =
    seen?.task.state === 'queued' || seen?.task.state === 'running' || seen?.task.word === 'UNKNOWN';
  const task: VideoState = isKnown && seen ? seen.task : { state: 'running', word: 'pending' };
  return { ...NOTHING_READ, task, retryAfterMs: seen?.retryAfterMs ?? retryAfterMs };
}
