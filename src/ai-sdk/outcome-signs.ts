import { parseJson } from '../service/answer-paths';
import type { Exchange } from './exchanges';

/** fal sends one of these with the outcome of a task, whatever the status is: a task that took too long is a 504. */
const OUTCOME_HEADERS = ['x-fal-error-type', 'x-fal-retryable'];
/** Nobody but the gateway before the queue answers with these. */
const NO_OUTCOME = [401, 403, 404, 429];

/** Whether fal says that this answer is the outcome of the task, and not one of its gateway. */
export function isOutcomeOfFal({ status = 0, headers = {} }: Exchange): boolean {
  return !NO_OUTCOME.includes(status) && OUTCOME_HEADERS.some((name) => Object.hasOwn(headers, name));
}

/**
 * A queue that accepts every submit says later what is wrong with it, and names the field as `["body", "duration"]`. A poll by
 * GET has no body that could be meant.
 */
export function refusesSubmit({ method, body }: Partial<Exchange> = {}): boolean {
  if (method !== 'GET' || body === undefined) return false;
  const { detail }: { detail?: unknown } = Object(parseJson(body));
  if (!Array.isArray(detail)) return false;
  return detail.some((problem) => {
    const { loc }: { loc?: unknown } = Object(problem);
    return Array.isArray(loc) && loc[0] === 'body';
  });
}
