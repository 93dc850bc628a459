import { cleanText, shown } from './clean-text';
import { sha256 } from './digest';

/** What makes two jobs the same: the request or the task, not the options. */
export interface JobIdentity {
  /** With digests for long values. */
  request?: Record<string, unknown>;
  taskId?: string;
}

/** Any program can write a memo, so what is repeated of it is bounded. */
const LONGEST_DIFFERENCE_CHARS = 200;
const LONGEST_VALUE_CHARS = 200;

/**
 * The identity in the input of a job, with digests for long values: it is stored in a memo, and a start with an update sends
 * it twice next to the request, all in one message. Any program may have written the input; null counts as absent.
 */
export function identityOf({ request, taskId }: { request?: unknown; taskId?: unknown }): JobIdentity {
  const fields = Object.entries(Object(request)).map(([name, value]) => [name, shortValue(value)]);
  return {
    ...(typeof request === 'object' && request !== null && { request: Object.fromEntries(fields) }),
    ...(typeof taskId === 'string' && { taskId }),
  };
}

/**
 * Names the fields in which two jobs or batches differ, such as `prompt, duration`; undefined when they are the same. It
 * never shows values: a caller who guesses a name must not learn what the other job is for.
 */
export function describeDifference(existing: unknown, given: object): string | undefined {
  const [before, now] = [fieldsOf(existing), fieldsOf(given)];
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  const differing = [...names].filter((name) => before[name] !== now[name]);
  return differing.length === 0 ? undefined : cleanText(differing.join(', '), LONGEST_DIFFERENCE_CHARS);
}

/**
 * Why a name is taken, with its own advice: the general advice is about the request. Undefined when it is the name of the same
 * job.
 */
export function describeConflict(name: string, existing: unknown, given: object) {
  const difference = describeDifference(existing, given);
  if (difference === undefined) return undefined;
  return {
    message: `${shown(name)} is the name of another job (it differs in ${difference})`,
    advice: 'Choose another name.',
  };
}

/** Each field as JSON: those of the request, and the task id. */
function fieldsOf(identity: unknown): Record<string, string> {
  if (typeof identity !== 'object' || identity === null) return {};
  const { request, ...rest }: { request?: unknown } = identity;
  const fields = { ...rest, ...(typeof request === 'object' ? request : {}) };
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, JSON.stringify(shortValue(value))]),
  );
}

/** A long value becomes its digest: values are only compared. */
function shortValue(value: unknown): unknown {
  const json = JSON.stringify(value) ?? '';
  return json.length <= LONGEST_VALUE_CHARS ? value : `sha256:${sha256(json)}`;
}
