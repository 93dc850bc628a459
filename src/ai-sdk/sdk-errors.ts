import { errorCode } from '../contract/error-code';
import { isObject } from '../service/answer-paths';
import type { RetryHeaders } from '../service/read-values';

/**
 * Errors of the AI SDK are recognized by its marks: several copies of its packages may be installed, so `instanceof` says
 * nothing.
 */
const MARK = 'vercel.ai.error';

function isMarked(error: unknown, name?: string): boolean {
  return Reflect.get(Object(error), Symbol.for(name === undefined ? MARK : `${MARK}.${name}`)) === true;
}

/** Whether an error is one of the AI SDK. */
export const isSdkError = (error: unknown): boolean => isMarked(error);

/** What an APICallError says about the answer. Its url and the values of the request are left out: both may have keys in them. */
export interface SdkAnswer {
  status?: number;
  headers: RetryHeaders;
  body?: string;
}

/** The answer that an APICallError tells about; undefined for other errors. */
export function answerOf(error: unknown): SdkAnswer | undefined {
  if (!isMarked(error, 'AI_APICallError')) return undefined;
  const { statusCode, responseHeaders, responseBody }: Record<string, unknown> = Object(error);
  return {
    ...(typeof statusCode === 'number' && { status: statusCode }),
    headers: headersOf(responseHeaders),
    ...(typeof responseBody === 'string' && { body: responseBody }),
  };
}

/** The headers that are read, by their small names. */
export function headersOf(headers: unknown): RetryHeaders {
  if (!isObject(headers)) return {};
  const entries = Object.entries(headers).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
}

/**
 * Errors that a model throws before it sends anything. A key that is not there may come; a request that the model does not
 * understand stays what it is.
 */
const BEFORE_REQUEST: readonly [name: string, kind: 'not-sent' | 'refused'][] = [
  ['AI_LoadAPIKeyError', 'not-sent'],
  ['AI_LoadSettingError', 'not-sent'],
  ['AI_InvalidArgumentError', 'refused'],
  ['AI_InvalidPromptError', 'refused'],
  ['AI_UnsupportedFunctionalityError', 'refused'],
  ['AI_NoSuchModelError', 'refused'],
  ['AI_NoSuchProviderReferenceError', 'refused'],
];

/** What an error means that comes before any request; undefined when it may come later too. */
export function beforeRequest(error: unknown): 'not-sent' | 'refused' | undefined {
  return BEFORE_REQUEST.find(([name]) => isMarked(error, name))?.[1];
}

/** Codes of connections that were never there, so no byte was sent. */
const NO_CONNECTION = new Set<unknown>([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ...['SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ERR_TLS_CERT_ALTNAME_INVALID'],
]);

const MOST_CAUSES = 10;

/** The code of the innermost error that has one: `fetch failed` wraps what happened. */
export function networkCode(error: unknown): string | undefined {
  let code: string | undefined;
  let current = error;
  for (let depth = 0; depth < MOST_CAUSES && isObject(current); depth++) {
    const own = errorCode(current);
    if (typeof own === 'string') code = own;
    current = Reflect.get(current, 'cause');
  }
  return code;
}

/** Whether the code of an error says that there was no connection. */
export const hadNoConnection = (error: unknown): boolean => NO_CONNECTION.has(networkCode(error));

/**
 * What a model threw, or a stand-in for what throws again when it is read: nothing would know what that is, nor hide the keys
 * in it.
 */
export function readable(thrown: unknown): unknown {
  try {
    for (const read of [messageOf, answerOf, beforeRequest, networkCode]) read(thrown);
    return thrown;
  } catch {
    return new Error('the model threw something that cannot be read');
  }
}

/** An error in its own words. */
export function messageOf(error: unknown): string {
  const message: unknown = Reflect.get(Object(error), 'message');
  return typeof message === 'string' && message !== '' ? message : String(error);
}
