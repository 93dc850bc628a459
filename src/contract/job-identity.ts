import { cleanText, shown } from './clean-text';
import { sha256 } from './digest';
import { BATCH_WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, WORKFLOW_TYPE } from './names';

/** What makes two jobs the same: the request or the task, not the options. */
export interface JobIdentity {
  /** With digests for long values. */
  request?: Record<string, unknown>;
  taskId?: string;
}

/** Any program can write a memo, so what is repeated of it is bounded. */
const MOST_FIELDS_NAMED = 10;
const LONGEST_FIELD_CHARS = 30;
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
  if (differing.length === 0) return undefined;
  const more = differing.splice(MOST_FIELDS_NAMED).length;
  const named = differing.map((name) => cleanText(name, LONGEST_FIELD_CHARS)).join(', ');
  return more === 0 ? named : `${named} and ${more} more`;
}

/** A name that another job or batch has, with its own advice: the general advice is about the request. */
export interface NameConflict {
  message: string;
  advice: string;
}

/** Undefined when the name is that of the same job. */
export function describeConflict(name: string, existing: unknown, given: object): NameConflict | undefined {
  const difference = describeDifference(existing, given);
  if (difference === undefined) return undefined;
  return {
    message: `${shown(name)} is the name of another job (it differs in ${difference})`,
    advice: 'Choose another name.',
  };
}

/** What a workflow is instead of a job or a batch; undefined when it is one. */
export function describeOtherType(name: string, existing: string, expected: string): string | undefined {
  // A job with several services is a job, whatever its workflow type.
  if (nameOfType(existing) === nameOfType(expected)) return undefined;
  return `${shown(name)} is a ${nameOfType(existing)}, not a ${nameOfType(expected)}.`;
}

const TYPE_NAMES: ReadonlyMap<string, string> = new Map([
  [WORKFLOW_TYPE, 'video job'],
  [FALLBACK_WORKFLOW_TYPE, 'video job'],
  [BATCH_WORKFLOW_TYPE, 'batch of videos'],
]);

function nameOfType(type: string): string {
  return TYPE_NAMES.get(type) ?? shown(type);
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
