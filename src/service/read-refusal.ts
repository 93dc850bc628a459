import { type FoundValue, isObject, valuesIn } from './answer-paths';
import { first, nameFrom, textFrom } from './read-values';
import { isFailedCallWord, type ReadingRules } from './reading-rules';

/** Where an answer with status 2xx says that the request was refused, and the HTTP status that it names, if any. */
export interface Refusal {
  path: string;
  status?: number;
}

const STATUS_PATHS = ['code', 'status', 'statusCode', 'status_code', 'error.code', 'error.status'];
const SUCCESS_FLAG_PATHS = ['success', 'ok'];
const ERROR_NAME = /(Error|Exception)$/;

/**
 * Some services answer everything with HTTP 200 and refuse in the body. An unknown error code alone is not a refusal: it
 * may mean anything.
 */
export function findRefusal(bodies: readonly FoundValue[], rules: ReadingRules): Refusal | undefined {
  const status = first(valuesIn(bodies, STATUS_PATHS), errorStatusFrom);
  if (status) return { path: status.path, status: status.value };
  const sign =
    first(
      valuesIn(bodies, [...rules.paths.error, 'errors']),
      (value) => isError(value, rules) || undefined,
    ) ??
    first(valuesIn(bodies, SUCCESS_FLAG_PATHS), (value) => value === false || undefined) ??
    first(valuesIn(bodies, ['status']), (value) => isFailedCallWord(textFrom(value) ?? '') || undefined) ??
    first(valuesIn(bodies, ['name']), (value) => ERROR_NAME.test(textFrom(value) ?? '') || undefined);
  return sign && { path: sign.path };
}

/** Services written in Go answer a finished task with {"error":{"code":0,"message":""}}, which is not an error. */
export function isErrorObject(value: unknown, { stateOf }: Pick<ReadingRules, 'stateOf'>): boolean {
  if (!isObject(value)) return false;
  const code = nameFrom(value.code);
  if (code !== undefined && meansSuccess(code, stateOf)) return false;
  return Object.values(value).some((part) => {
    if (typeof part === 'object' && part !== null) return Object.keys(part).length > 0;
    const text = nameFrom(part);
    return text !== undefined && !meansSuccess(text, stateOf);
  });
}

export function meansSuccess(code: string, stateOf: ReadingRules['stateOf']): boolean {
  return /^(0+|20\d)$/.test(code) || stateOf(code) === 'succeeded';
}

function isError(value: unknown, rules: ReadingRules): boolean {
  if (Array.isArray(value)) return value.length > 0;
  const text = textFrom(value);
  return (
    value === true ||
    isErrorObject(value, rules) ||
    (text !== undefined && !meansSuccess(text, rules.stateOf))
  );
}

function errorStatusFrom(value: unknown): number | undefined {
  const text = nameFrom(value) ?? '';
  return /^[45]\d\d$/.test(text) ? Number(text) : undefined;
}
