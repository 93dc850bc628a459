import { type AnswerPaths, type Found, isObject, valuesIn } from './answer-paths';
import { first, nameFrom, textFrom } from './read-values';
import { isFailedCallWord, type NamedState } from './state-words';

/** Where an answer with status 2xx says that the request was refused, and with which HTTP status if it names one. */
export interface Refusal {
  at: string;
  status?: number;
}

interface RefusalRules {
  places: Pick<AnswerPaths, 'error'>;
  stateOf: (word: string) => NamedState | undefined;
}

const STATUSES = ['code', 'status', 'statusCode', 'status_code', 'error.code', 'error.status'];
const SUCCESS_FLAGS = ['success', 'ok'];
const ERROR_NAME = /(Error|Exception)$/;

/**
 * What says no in an answer that HTTP says is a good one: some services answer everything with 200. A code that nobody
 * knows says nothing for sure, and is not looked at.
 */
export function findRefusal(bodies: readonly Found[], rules: RefusalRules): Refusal | undefined {
  const status = first(valuesIn(bodies, STATUSES), errorStatusFrom);
  if (status) return { at: status.at, status: status.value };
  const sign =
    first(
      valuesIn(bodies, [...rules.places.error, 'errors']),
      (value) => isError(value, rules) || undefined,
    ) ??
    first(valuesIn(bodies, SUCCESS_FLAGS), (value) => value === false || undefined) ??
    first(valuesIn(bodies, ['status']), (value) => isFailedCallWord(textFrom(value) ?? '') || undefined) ??
    first(valuesIn(bodies, ['name']), (value) => ERROR_NAME.test(textFrom(value) ?? '') || undefined);
  return sign && { at: sign.at };
}

/** Services written in Go answer a finished task with {"error":{"code":0,"message":""}}: that is no error. */
export function isErrorObject(value: unknown, { stateOf }: Pick<RefusalRules, 'stateOf'>): boolean {
  if (!isObject(value)) return false;
  const code = nameFrom(value.code);
  if (code !== undefined && meansNoError(code, stateOf)) return false;
  return Object.values(value).some((part) => {
    if (typeof part === 'object' && part !== null) return Object.keys(part).length > 0;
    const text = nameFrom(part);
    return text !== undefined && !meansNoError(text, stateOf);
  });
}

export function meansNoError(code: string, stateOf: RefusalRules['stateOf']): boolean {
  return /^(0+|20\d)$/.test(code) || stateOf(code) === 'succeeded';
}

function isError(value: unknown, rules: RefusalRules): boolean {
  if (Array.isArray(value)) return value.length > 0;
  const text = textFrom(value);
  return (
    value === true ||
    isErrorObject(value, rules) ||
    (text !== undefined && !meansNoError(text, rules.stateOf))
  );
}

function errorStatusFrom(value: unknown): number | undefined {
  const text = nameFrom(value) ?? '';
  return /^[45]\d\d$/.test(text) ? Number(text) : undefined;
}
