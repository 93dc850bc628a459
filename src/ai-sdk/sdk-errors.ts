/**
 * Errors of the AI SDK are recognized by its marks: several copies of its packages may be installed, so `instanceof` says
 * nothing.
 */
const MARK = 'vercel.ai.error';

const isMarked = (error: unknown, name: string): boolean =>
  Reflect.get(Object(error), Symbol.for(`${MARK}.${name}`)) === true;

/** Whether a model has read an answer and complains of what it says. */
export function isComplaint(error: unknown): boolean {
  const isOfSdk = Reflect.get(Object(error), Symbol.for(MARK)) === true;
  return isOfSdk && !isMarked(error, 'AI_APICallError');
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

/** An error in its own words. */
export function messageOf(error: unknown): string {
  const message: unknown = Reflect.get(Object(error), 'message');
  return typeof message === 'string' && message !== '' ? message : String(error);
}
