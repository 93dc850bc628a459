import { mayHaveMadeTask } from '../contract/lost-submit';
import { redact, type Secrets } from '../contract/redact';
import type { VideoRequest } from '../contract/request';
import { failureOfStatus } from '../service/answer-table';
import { refusalFault } from '../service/call-service';
import { missingTaskFault } from '../service/http-video-service';
import type { ServiceProfile } from '../service/profile';
import { type HttpAnswer, type TracedReading, traceAnswer, type VideoState } from '../service/read-answer';
import type { RetryHeaders } from '../service/read-values';
import type { ReadingRules } from '../service/reading-rules';
import {
  isLimit,
  mayBeContent,
  REFUSED_TASK_STATUSES,
  redactReading,
  refusedContentOf,
  statusOfCode,
  wordsOfError,
} from '../service/service-connection';
import { ServiceFault } from '../service/service-fault';
import type { TaskReading } from '../service/video-service';
import { type Exchange, mayChange } from './model-call';
import { type ReadStatus, readWarnings } from './read-result';
import { beforeRequest, isComplaint, messageOf } from './sdk-errors';

/** What is needed to understand how a call of a model ended. */
export interface CallFacts {
  exchanges: readonly Exchange[];
  profile: ServiceProfile;
  rules: ReadingRules;
  secrets: Secrets;
  /** Set for a submit. */
  request?: VideoRequest;
}

type ServiceAnswer = Pick<HttpAnswer, 'status' | 'body'> & { headers: RetryHeaders };

const isGood = (status: number) => status >= 200 && status <= 299;

/**
 * Why a submit failed. The requests that were seen decide, not the words of the error: a task may exist unless the service
 * clearly refused each request, or none has left. In doubt it is a lost submit.
 */
export function submitFault(error: unknown, sentNothing: boolean, facts: CallFacts): ServiceFault {
  const changing = facts.exchanges.filter(mayChange);
  const telling = changing.find(mayHaveMade) ?? changing.at(-1) ?? facts.exchanges.at(-1);
  if (telling === undefined) {
    if (error instanceof ServiceFault) return error;
    return faultInWords(beforeRequest(error) ?? (sentNothing ? 'not-sent' : 'cut'), error, facts);
  }
  const { status, fault } = telling;
  if (fault && fault.kind !== 'answered') return fault;
  if (status === undefined) return faultInWords('cut', error, facts);
  const answer = answerIn(telling, status, messageOf(error));
  return isGood(status) ? withoutTask(error, answer, facts) : refusal('submit', answer, facts);
}

/** Whether a request may have made a task. */
function mayHaveMade({ isSent, status }: Exchange): boolean {
  if (!isSent) return false;
  if (status === undefined || isGood(status)) return true;
  return mayHaveMadeTask(failureOfStatus('submit', status));
}

const answerIn = ({ headers = {}, body }: Exchange, status: number, text: string): ServiceAnswer => ({
  status,
  headers,
  body: body ?? text,
});

function faultInWords(kind: ServiceFault['kind'], error: unknown, { secrets }: CallFacts, status?: number) {
  const message = redact(messageOf(error), secrets);
  return new ServiceFault(kind, { ...(status !== undefined && { status }), message });
}

/** A 2xx answer from which the model made no operation: it refuses the request, or it cannot be read. */
function withoutTask(error: unknown, answer: ServiceAnswer, facts: CallFacts): ServiceFault {
  const { secrets, profile, request } = facts;
  const { status, body } = answer;
  const reading = redactReading(wordsOfError(trace(answer, facts, request)), secrets);
  if (reading.taskId !== undefined) return faultInWords('unreadable', error, facts, status);
  const inBody = statusOfCode(profile, reading.serviceMessage.code) ?? reading.refusal?.status;
  if (inBody !== undefined) return refusal('submit', { ...answer, status: inBody }, facts);
  return missingTaskFault({ status, rawBody: body, reading, secrets });
}

/** The fault for an answer other than 2xx, as for a service that is called directly. */
function refusal(call: 'submit' | 'poll', answer: ServiceAnswer, facts: CallFacts): ServiceFault {
  const { profile, secrets, request } = facts;
  const { body } = answer;
  const reading = wordsOfError(trace(answer, facts, request));
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

function trace(answer: ServiceAnswer, { rules }: CallFacts, request?: VideoRequest): TracedReading {
  return traceAnswer({ ...answer, receivedAtMs: Date.now(), request }, rules);
}

/** What a poll says of the task when its model has come to a result. */
export function readingOf(status: ReadStatus, result: unknown, facts: CallFacts): TaskReading {
  switch (status.status) {
    case 'pending':
      return pendingReading(facts);
    case 'error': {
      const end = endedBy(status.error, facts);
      if (UNREAD_ANSWER.test(status.error)) throw faultInWords('unreadable', status.error, facts);
      return end ?? failedReading(status.error, facts);
    }
    case 'completed':
      return finishedTask(status, readWarnings(result, facts.secrets), facts);
    case 'unreadable':
      throw faultInWords('unreadable', `the model answers with the status ${status.word}`, facts);
  }
}

/** What the AI SDK says of an answer that it could not read: it says nothing about the task. */
const UNREAD_ANSWER = /^(Invalid JSON response|Failed to process (successful|error) response)$/;

/** What a poll means whose model threw an error: some do so for a task that failed. */
export function pollThatThrew(error: unknown, facts: CallFacts): TaskReading {
  if (error instanceof ServiceFault) throw error;
  const end = endedBy(messageOf(error), facts);
  if (end) return end;
  if (isComplaint(error)) return readComplaint(messageOf(error), facts);
  throw faultInWords('unreadable', error, facts, facts.exchanges.at(-1)?.status);
}

/**
 * Throws what was wrong with a poll that failed. Some models call that a failed task, which would give up a paid video because
 * of a moment's fault. Returns the failed task if an answer other than 2xx is its end; undefined if the answer was good.
 */
function endedBy(text: string, facts: CallFacts): TaskReading | undefined {
  const last = facts.exchanges.at(-1);
  if (last === undefined) throw faultInWords('not-sent', text, facts);
  const { status, fault } = last;
  if (fault && fault.kind !== 'answered') throw fault;
  if (status === undefined) throw faultInWords('cut', text, facts);
  const answer = answerIn(last, status, text);
  if (!isGood(status)) {
    if (endsTask(answer, facts)) return failedReading(text, facts);
    throw refusal('poll', answer, facts);
  }
  if (bodyReading(facts)?.json === false) throw faultInWords('unreadable', text, facts, status);
  return undefined;
}

/** In doubt an answer other than 2xx is a fault of the poll: the task is paid for. */
function endsTask(answer: ServiceAnswer, facts: CallFacts): boolean {
  const { status, headers } = answer;
  if (facts.profile.refusals?.failed?.includes(status)) return true;
  if (!NO_OUTCOME.includes(status) && OUTCOME_HEADERS.some((name) => Object.hasOwn(headers, name)))
    return true;
  return REFUSED_TASK_STATUSES.includes(status) && trace(answer, facts).refusedContent?.isCertain === true;
}

/** fal sends one of these with the outcome of a task, whatever the status is: a task that took too long is a 504. */
const OUTCOME_HEADERS = ['x-fal-error-type', 'x-fal-retryable'];
/** Only the gateway in front of fal's queue answers with these. */
const NO_OUTCOME = [401, 403, 404, 429];

/** How models word a finished task without a video, and one that failed. */
const NO_VIDEO = /\bno (valid )?videos?\b/i;
const FAILED =
  /\b(generation|task|prediction|video|request)\b.{0,40}\b(failed|cancell?ed|expired|rejected|blocked)\b/is;

/** An error of a model that has read a good answer. The answer itself says more, where it was seen. */
function readComplaint(text: string, facts: CallFacts): TaskReading {
  const { task, refusedContent } = bodyReading(facts) ?? {};
  const state = task?.state;
  if (state === 'failed' || state === 'cancelled' || refusedContent) return failedReading(text, facts);
  if (state === 'succeeded' || NO_VIDEO.test(text)) {
    return { ...NOTHING_READ, task: { state: 'succeeded', word: task?.word || 'completed' } };
  }
  if (FAILED.test(text)) return failedReading(text, facts);
  throw faultInWords('unreadable', text, facts, facts.exchanges.at(-1)?.status);
}

const NOTHING_READ = { json: true, serviceMessage: {}, doubts: [] };

/** What the last answer says, where its body was seen; redacted, except for its links and ids. */
function bodyReading(facts: CallFacts): TracedReading | undefined {
  const { status, headers = {}, body } = facts.exchanges.at(-1) ?? {};
  if (status === undefined || body === undefined) return undefined;
  return redactReading(wordsOfError(trace({ status, headers, body }, facts)), facts.secrets);
}

/** A failed or cancelled task, with the service's own code and words, and whether its content was refused. */
function failedReading(text: string, facts: CallFacts): TaskReading {
  const seen = bodyReading(facts);
  const told = redactReading(wordsOfError(traceText(text, facts)), facts.secrets);
  const refusedContent = (seen && refusedContentOf(seen)) ?? refusedContentOf(told);
  const { code, message = redact(text, facts.secrets) } = {
    ...told.serviceMessage,
    ...seen?.serviceMessage,
  };
  return {
    ...NOTHING_READ,
    task: {
      state: seen?.task.state === 'cancelled' ? 'cancelled' : 'failed',
      word: seen?.task.word || 'error',
    },
    serviceMessage: { ...(code !== undefined && { code }), message },
    ...(refusedContent && { refusedContent }),
    ...(seen?.charged && { charged: seen.charged }),
  };
}

const LONGEST_TEXT_CHARS = 100_000;

/** The words of a model, read like those of a service. */
function traceText(text: string, facts: CallFacts): TracedReading {
  const body = JSON.stringify({ status: 'failed', error: { message: text.slice(0, LONGEST_TEXT_CHARS) } });
  return trace({ status: 200, headers: {}, body }, facts);
}

/** A task that is not ready. The service's own word and percentage are in the answer. */
function pendingReading(facts: CallFacts): TaskReading {
  const seen = bodyReading(facts);
  const isKnown = seen?.task.state === 'queued' || seen?.task.state === 'running';
  const task: VideoState = isKnown && seen ? seen.task : { state: 'running', word: 'pending' };
  return { ...NOTHING_READ, task, retryAfterMs: seen?.retryAfterMs };
}

function finishedTask(
  { video: { problem, ...video }, count }: Extract<ReadStatus, { status: 'completed' }>,
  warnings: string[],
  facts: CallFacts,
): TaskReading {
  const seen = bodyReading(facts);
  const word = seen?.task.word || 'completed';
  const several = count > 1 ? [`the model made ${count} videos, of which the first is kept`] : [];
  const isRefused = seen && refusedContentOf(seen);
  return {
    ...NOTHING_READ,
    task: problem === undefined ? { state: 'succeeded', word, ...video } : { state: 'failed', word },
    ...(problem !== undefined && { serviceMessage: { message: problem } }),
    doubts: isRefused ? ['the video is marked as refused, and there is a link to it'] : [],
    warnings: [...warnings, ...several],
    ...(seen?.charged && { charged: seen.charged }),
  };
}
