import { cleanText } from './clean-text';
import { describeMoney, type Money, readMoney } from './money';
import type { Estimate } from './prices';

/**
 * What a job costs. `estimated` is what the prices of the profile say before the submit, `charged` what the service reported.
 * Neither replaces the other. A job without either has an unknown cost, which is not zero.
 */
export interface JobCost {
  estimated?: Money;
  charged?: Money;
  /** Why there is no estimate. */
  unknown?: string;
}

/** A reason is a sentence of ours; others may still write the memo and the file that it is read from. */
const LONGEST_REASON_CHARS = 200;

/** The one number, where there is room for one: what was charged wins. Undefined when it is unknown. */
export function knownCost(cost: JobCost | undefined): Money | undefined {
  return cost?.charged ?? cost?.estimated;
}

/** The cost with an estimate in it. */
export function withEstimate(cost: JobCost | undefined, estimate: Estimate): JobCost {
  const { charged } = cost ?? {};
  return {
    ...('cost' in estimate ? { estimated: estimate.cost } : { unknown: estimate.unknown }),
    ...(charged && { charged }),
  };
}

/** `0.50 USD charged (estimated 0.40 USD)`, `0.40 USD estimated`, `unknown: the request has no duration …`. */
export function describeCost({ estimated, charged, unknown }: JobCost): string {
  if (charged) {
    const before = estimated ? ` (estimated ${describeMoney(estimated)})` : '';
    return `${describeMoney(charged)} charged${before}`;
  }
  if (estimated) return `${describeMoney(estimated)} estimated`;
  return unknown === undefined ? 'unknown' : `unknown: ${unknown}`;
}

/** A cost as others may have written it: in a memo, a signal or a file. Undefined when it says nothing. */
export function readCost(value: unknown): JobCost | undefined {
  const given: Record<keyof JobCost, unknown> = Object(value);
  const [estimated, charged] = [readMoney(given.estimated), readMoney(given.charged)];
  const unknown = typeof given.unknown === 'string' ? given.unknown : undefined;
  if (!estimated && !charged && unknown === undefined) return undefined;
  return {
    ...(estimated && { estimated }),
    ...(charged && { charged }),
    ...(unknown !== undefined && !estimated && { unknown: cleanText(unknown, LONGEST_REASON_CHARS) }),
  };
}
