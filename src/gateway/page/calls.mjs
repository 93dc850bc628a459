/** Calls to the gateway. Addresses are relative, so that the page also works below a path of a proxy. */

const KEY = 'videogen.gateway-key';
/** About a minute in all: a gateway restarts in less. */
const RETRY_AFTER_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000];
/** The gateway was away or could not ask Temporal: whether it did the work is unknown. */
const IS_UNKNOWN = new Set([0, 502, 503, 504]);

/** A call that the gateway refused, or that got no answer (status 0). */
export class CallFailed extends Error {
  constructor(status, { message, param = null, advice } = {}) {
    super(message ?? `The gateway answered ${status}.`);
    this.status = status;
    this.param = param;
    this.advice = advice;
  }
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** 128 random bits. `crypto.randomUUID` is missing where the page is not on https or localhost. */
export const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

let askForKey = async () => false;
let isDeclined = false;

/** Once declined, only something that the person does asks for a key again. */
export function allowAsking() {
  isDeclined = false;
}

/** `ask` resolves with a key, or undefined when the person has none. `isWrong` says that the last one was refused. */
export function onKeyNeeded(ask) {
  let asking;
  askForKey = async (isWrong) => {
    if (isDeclined) return false;
    asking ??= ask(isWrong).then((key) => {
      asking = undefined;
      isDeclined = key === undefined;
      if (key !== undefined) sessionStorage.setItem(KEY, key);
      return key !== undefined;
    });
    return asking;
  };
}

export const hasKey = () => sessionStorage.getItem(KEY) !== null;

/** One call, repeated only after a 401 that a new key settles. Throws a CallFailed. */
export async function call(path, init = {}) {
  for (;;) {
    const key = sessionStorage.getItem(KEY);
    const headers = { ...init.headers, ...(key !== null && { authorization: `Bearer ${key}` }) };
    const response = await fetch(path, { ...init, headers }).catch(failNoAnswer);
    if (response.ok) return response;
    // Another call may have got a new key meanwhile.
    const isOld = key !== sessionStorage.getItem(KEY);
    if (response.status === 401 && (isOld || (await askForKey(key !== null)))) continue;
    const body = await response.json().catch(() => ({}));
    throw new CallFailed(response.status, body.error);
  }
}

/** The body of a response, by `json` or `blob`. One that breaks off is no answer. */
export const readBody = (response, kind) => response[kind]().catch(failNoAnswer);

function failNoAnswer(error) {
  if (error.name === 'AbortError') throw error;
  throw new CallFailed(0, { message: 'The gateway does not answer.' });
}

export const getJson = async (path) => readBody(await call(path), 'json');

/**
 * Sends a POST until its answer is known. All attempts carry the same Idempotency-Key, so that one whose answer was lost is
 * not done twice. `onWait` is called before each further attempt.
 */
export async function post(path, { body, type = 'application/json', idempotencyKey = newKey(), onWait }) {
  for (let attempt = 0; ; attempt++) {
    try {
      const headers = { 'content-type': type, 'idempotency-key': idempotencyKey };
      return await readBody(await call(path, { method: 'POST', body, headers }), 'json');
    } catch (error) {
      const waitMs = RETRY_AFTER_MS[attempt];
      if (!IS_UNKNOWN.has(error.status) || waitMs === undefined) throw error;
      onWait?.(error);
      await sleep(waitMs);
    }
  }
}
