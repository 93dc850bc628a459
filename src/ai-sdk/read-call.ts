import { cleanText } from '../contract/clean-text';
import { isTaskId } from '../contract/input-rules';
import { mayHaveMadeTask } from '../contract/lost-submit';
import { isTainted, redact, type Secrets } from '../contract/redact';
import { isSignedLink } from '../contract/redact-links';
import type { VideoRequest } from '../contract/request';
import { failureOfStatus } from '../service/answer-table';
import { REFUSED_TASK_STATUSES } from '../service/http-video-service';
import type { ServiceProfile } from '../service/profile';
import { type TracedReading, traceAnswer } from '../service/read-answer';
import type { ReadingRules } from '../service/reading-rules';
import {
  missingTaskFault,
  redactReading,
  refusalFault,
  refusedContentOf,
  ServiceFault,
  statusOfCode,
} from '../service/service-fault';
import type { TaskReading } from '../service/video-service';
import { type Exchange, mayChange, messageOf } from './model-call';
import type { JsonValue } from './video-model-types';

/** What is needed to understand how a call of a model ended. */
export interface CallFacts {
  exchanges: readonly Exchange[];
  profile: ServiceProfile;
  rules: ReadingRules;
  secrets: Secrets;
  /** Set for a submit. */
  request?: VideoRequest;
}

type ServiceAnswer = Required<Pick<Exchange, 'status' | 'headers' | 'body'>>;

/** Errors of the AI SDK are known by marks: with several copies of its packages, `instanceof` says nothing. */
const isMarked = (error: unknown, name = ''): boolean =>
  Reflect.get(Object(error), Symbol.for(`vercel.ai.error${name && `.AI_${name}Error`}`)) === true;

/** Errors that a model throws before it sends anything. A key that is not there may come. */
const UNSENT = ['LoadAPIKey', 'LoadSetting'];
/** A request that the model does not understand stays what it is. */
const REFUSED = [
  'InvalidArgument',
  'InvalidPrompt',
  'UnsupportedFunctionality',
  'NoSuchModel',
  'NoSuchProviderReference',
];

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
    const isOneOf = (names: readonly string[]) => names.some((name) => isMarked(error, name));
    if (isOneOf(REFUSED)) return faultInWords('refused', error, facts);
    return faultInWords(sentNothing || isOneOf(UNSENT) ? 'not-sent' : 'cut', error, facts);
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
  const { secrets, profile } = facts;
  const { status, body } = answer;
  const reading = redactReading(trace(answer, facts), secrets);
  if (reading.taskId !== undefined) return faultInWords('unreadable', error, facts, status);
  const inBody = statusOfCode(profile, reading.serviceMessage.code) ?? reading.refusal?.status;
  if (inBody !== undefined) return refusal('submit', { ...answer, status: inBody }, facts);
  return missingTaskFault({ status, rawBody: body, reading, secrets });
}

/** The fault for an answer other than 2xx, as for a service that is called directly. */
function refusal(call: 'submit' | 'poll', answer: ServiceAnswer, facts: CallFacts): ServiceFault {
  const { profile, secrets } = facts;
  const { body } = answer;
  const reading = trace(answer, facts);
  const status = statusOfCode(profile, reading.serviceMessage.code) ?? answer.status;
  return refusalFault(call, { status, rawBody: body, reading, secrets }, profile);
}

function trace(answer: ServiceAnswer, { rules, request }: CallFacts): TracedReading {
  return traceAnswer({ ...answer, receivedAtMs: Date.now(), request }, rules);
}

const LOOKS_LIKE_JSON = /^[{["]/;

/**
 * What a model needs to ask for its task, as the id of the task: the operation itself, so that notes, records and people can use
 * it like any other task id. The task exists: whatever is wrong here is a lost submit.
 */
export function taskIdOf(operation: unknown, secrets: Secrets): string {
  const isPlain = typeof operation === 'string' && !LOOKS_LIKE_JSON.test(operation) && isTaskId(operation);
  const text = isPlain ? operation : JSON.stringify(operation || null);
  if (text === 'null') throw unreadable('the model gave no operation to ask for its task with');
  if (isTainted(text, secrets) || isSignedLink(text))
    throw unreadable('the operation of the model contains a key or is a signed link');
  if (!isTaskId(text)) {
    throw unreadable(
      `the operation of the model has ${Buffer.byteLength(text)} bytes, too many for a task id: reach the service by a profile instead`,
    );
  }
  return text;
}

const unreadable = (message: string) => new ServiceFault('unreadable', { message });

/** The operation of a task id. People write ids by hand when they adopt a task, so what is not JSON is text. */
export function operationOf(taskId: string): JsonValue {
  try {
    return LOOKS_LIKE_JSON.test(taskId) ? JSON.parse(taskId) : taskId;
  } catch {
    return taskId;
  }
}

/** More would fill the result of a job. */
const MOST_WARNINGS = 20;

/** What a model warns of, a sentence each without a full stop, as warnings of a job are. */
export function readWarnings(result: unknown, secrets: Secrets): string[] {
  const { warnings }: { warnings?: unknown } = Object(result);
  if (!Array.isArray(warnings)) return [];
  return warnings.slice(0, MOST_WARNINGS).map((warning) => {
    const {
      type,
      feature,
      setting = feature,
      details,
      message = details,
    }: Record<string, unknown> = Object(warning);
    const about = typeof setting === 'string' ? `${type} ${setting}` : undefined;
    const words = [about, message].filter((part) => typeof part === 'string').join(': ');
    return redact(`the model warns: ${cleanText(words)}`, secrets).replace(/\.$/, '');
  });
}

/** What a poll says of the task when its model has come to a result. */
export function readingOf(result: unknown, facts: CallFacts): TaskReading {
  const { status, error, videos }: Record<string, unknown> = Object(result);
  if (status === 'completed') return finishedTask(Array.isArray(videos) ? videos : [], result, facts);
  if (status === 'error') return failedPoll(error, 'said', facts);
  if (status !== 'pending')
    throw faultInWords('unreadable', `the model answers with the status ${status}`, facts);
  const { task, retryAfterMs } = bodyReading(facts) ?? {};
  // The service's own word and percentage are in the answer.
  const isKnown = task?.state === 'queued' || task?.state === 'running';
  return { ...NOTHING_READ, task: isKnown ? task : { state: 'running', word: 'pending' }, retryAfterMs };
}

const NOTHING_READ = { json: true, serviceMessage: {}, doubts: [] };

/** Only one video was asked for, so the first is the video. */
function finishedTask(videos: unknown[], result: unknown, facts: CallFacts): TaskReading {
  const seen = bodyReading(facts);
  const word = seen?.task.word || 'completed';
  const video = readVideo(videos[0]);
  return {
    ...NOTHING_READ,
    ...(video
      ? { task: { state: 'succeeded', word, ...video } }
      : { task: { state: 'failed', word }, serviceMessage: { message: OUT_OF_REACH } }),
    doubts:
      seen && refusedContentOf(seen) ? ['the video is marked as refused, and there is a link to it'] : [],
    warnings: readWarnings(result, facts.secrets),
    ...(seen?.charged && { charged: seen.charged }),
  };
}

const OUT_OF_REACH = 'the model names neither an http link to the video nor its bytes';

/** Empty for a task without a video; undefined for a video that nothing can be downloaded from, such as gs://bucket/v.mp4. */
function readVideo(video: unknown): { videoUrl?: string; videoBytes?: Uint8Array } | undefined {
  const { type, url, data }: Record<string, unknown> = Object(video);
  if (type === 'uploaded') return undefined;
  if (typeof url === 'string' && url !== '')
    return /^https?:\/\//i.test(url) && URL.canParse(url) ? { videoUrl: url } : undefined;
  const bytes = typeof data === 'string' ? Buffer.from(data, 'base64') : data;
  return bytes instanceof Uint8Array && bytes.length > 0 ? { videoBytes: bytes } : {};
}

/** What the AI SDK says of an answer that it could not read: it says nothing about the task. */
const UNREAD_ANSWER = /^(Invalid JSON response|Failed to process (successful|error) response)$/;

/**
 * What a poll means whose model threw an error, or said that the task failed: models do either for a moment's fault of the poll
 * too. That is thrown, because it must not give up a paid video.
 */
export function failedPoll(error: unknown, how: 'said' | 'thrown', facts: CallFacts): TaskReading {
  if (error instanceof ServiceFault) throw error;
  const text = messageOf(error);
  const last = facts.exchanges.at(-1);
  if (last === undefined) throw faultInWords('not-sent', text, facts);
  const { status, fault } = last;
  if (fault && fault.kind !== 'answered') throw fault;
  if (status === undefined) throw faultInWords('cut', text, facts);
  if (!isGood(status)) {
    const answer = answerIn(last, status, text);
    if (endsTask(answer, facts)) return failedReading(text, facts);
    throw refusal('poll', answer, facts);
  }
  const seen = bodyReading(facts);
  const isComplaint = isMarked(error) && !isMarked(error, 'APICall');
  if (seen?.json !== false && (how === 'said' ? !UNREAD_ANSWER.test(text) : isComplaint)) {
    const state = seen?.task.state;
    if (how === 'said' || state === 'failed' || state === 'cancelled' || seen?.refusedContent)
      return failedReading(text, facts);
    if (state === 'succeeded' || NO_VIDEO.test(text))
      return { ...NOTHING_READ, task: { state: 'succeeded', word: seen?.task.word || 'completed' } };
    if (FAILED.test(text)) return failedReading(text, facts);
  }
  throw faultInWords('unreadable', text, facts, status);
}

/** How models word a finished task without a video, and one that failed. */
const NO_VIDEO = /\bno (valid )?videos?\b/i;
const FAILED =
  /\b(generation|task|prediction|video|request)\b.{0,40}\b(failed|cancell?ed|expired|rejected|blocked)\b/is;

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

/** What the last answer says, where its body was seen; redacted, except for its links and ids. */
function bodyReading(facts: CallFacts): TracedReading | undefined {
  const { status, headers = {}, body } = facts.exchanges.at(-1) ?? {};
  if (status === undefined || body === undefined) return undefined;
  return redactReading(trace({ status, headers, body }, facts), facts.secrets);
}

const LONGEST_TEXT_CHARS = 100_000;

/** A failed or cancelled task, with the service's own code and words, and whether its content was refused. */
function failedReading(text: string, facts: CallFacts): TaskReading {
  const seen = bodyReading(facts);
  // The words of the model are read like those of a service.
  const body = JSON.stringify({ status: 'failed', error: { message: text.slice(0, LONGEST_TEXT_CHARS) } });
  const told = redactReading(trace({ status: 200, headers: {}, body }, facts), facts.secrets);
  const refusedContent = (seen && refusedContentOf(seen)) ?? refusedContentOf(told);
  const state = seen?.task.state === 'cancelled' ? 'cancelled' : 'failed';
  return {
    ...NOTHING_READ,
    task: { state, word: seen?.task.word || 'error' },
    serviceMessage: {
      code: seen?.serviceMessage.code ?? told.serviceMessage.code,
      message: seen?.serviceMessage.message ?? told.serviceMessage.message ?? redact(text, facts.secrets),
    },
    ...(refusedContent && { refusedContent }),
    ...(seen?.charged && { charged: seen.charged }),
  };
}
