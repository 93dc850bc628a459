import { cleanText, shown } from './clean-text';
import { shortValue } from './short-value';

/** What makes two jobs the same job: the video they are for, not how they wait for it. */
export interface JobIdentity {
  /** As it is sent, or as `shortIdentity` makes it. */
  request?: Record<string, unknown>;
  taskId?: string;
}

/** A memo may have been written by anybody. */
const MOST_FIELDS_TOLD = 10;
const LONGEST_FIELD = 30;

/**
 * The same video, with a digest in place of each long value: a memo holds it, and a start with its update sends it twice
 * beside the request itself, all in one message.
 */
export function shortIdentity({ request, taskId }: JobIdentity): JobIdentity {
  const short = request && Object.entries(request).map(([name, value]) => [name, shortValue(value)]);
  return { request: short && Object.fromEntries(short), taskId };
}

/** What a job is for, read from its input, which any program may have written: null counts as absent. */
export function jobWanted(input: object): JobIdentity {
  const { request, taskId }: { request?: unknown; taskId?: unknown } = input;
  return shortIdentity({
    ...(typeof request === 'object' && request !== null && { request: { ...request } }),
    ...(typeof taskId === 'string' && { taskId }),
  });
}

/**
 * Names the fields that two jobs, or two batches, differ in, `prompt, duration`; undefined when they are for the same
 * video. Never their values: whoever tries a name need not be told what somebody else's job is for.
 */
export function describeDifference(there: unknown, here: object): string | undefined {
  const [theirs, ours] = [fieldsOf(there), fieldsOf(here)];
  const names = new Set([...Object.keys(theirs), ...Object.keys(ours)]);
  const differing = [...names].filter((name) => theirs[name] !== ours[name]);
  if (differing.length === 0) return undefined;
  const more = differing.splice(MOST_FIELDS_TOLD).length;
  const told = differing.map((name) => cleanText(name, LONGEST_FIELD)).join(', ');
  return more === 0 ? told : `${told} and ${more} more`;
}

/** Says of a name that somebody else's job, or batch, has it; undefined when it is for the same. */
export function describeConflict(name: string, there: unknown, here: object): string | undefined {
  const difference = describeDifference(there, here);
  return (
    difference &&
    `${shown(name)} is the name of another job (it differs in ${difference}); choose another name`
  );
}

/** Each field as JSON, those of the request beside the task id. */
function fieldsOf(wanted: unknown): Record<string, string> {
  if (typeof wanted !== 'object' || wanted === null) return {};
  const { request, ...rest }: { request?: unknown } = wanted;
  const fields = { ...rest, ...(typeof request === 'object' ? request : {}) };
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, JSON.stringify(shortValue(value))]),
  );
}
