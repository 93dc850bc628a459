import { shortValue } from './short-value';

/** What makes two jobs the same job: the video they are for, not how they wait for it. */
export interface WantedVideo {
  /** As it is sent, or as `shortWanted` makes it. */
  request?: Record<string, unknown>;
  taskId?: string;
}

/**
 * The same video, with a digest in place of each long value: a memo holds it, and a start with its update sends it twice
 * beside the request itself, all in one message.
 */
export function shortWanted({ request, taskId }: WantedVideo): WantedVideo {
  const short = request && Object.entries(request).map(([name, value]) => [name, shortValue(value)]);
  return { request: short && Object.fromEntries(short), taskId };
}

/** Names what two jobs, or two batches, differ in, `duration: 5 there, 10 here`; undefined when they are for the same video. */
export function describeDifference(there: unknown, here: object): string | undefined {
  const [theirs, ours] = [fieldsOf(there), fieldsOf(here)];
  const names = new Set([...Object.keys(theirs), ...Object.keys(ours)]);
  const differences = [...names]
    .filter((name) => theirs[name] !== ours[name])
    .map((name) => `${name}: ${theirs[name] ?? 'none'} there, ${ours[name] ?? 'none'} here`);
  return differences.length === 0 ? undefined : differences.join('; ');
}

/** Says of a name that somebody else's job, or batch, has it; undefined when it is for the same. */
export function describeOther(name: string, there: unknown, here: object): string | undefined {
  const difference = describeDifference(there, here);
  return difference && `${name} is the name of another job (${difference}); choose another name`;
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
