import { cleanText } from './clean-text';
import { describeMoney, describeSum, type Money, type MoneySum, readMoney } from './money';
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
  /** The service that is paid: the name in its profile, or its host. */
  service?: string;
}

/** A cost as the submit signals it to the workflow, before it sends the request. */
export interface ReportedCost {
  cost: JobCost;
}

/** A reason is a sentence of ours; others may still write the memo and the file that it is read from. */
const LONGEST_REASON_CHARS = 200;
const LONGEST_SERVICE_CHARS = 100;

/** The one number, where there is room for one: what was charged wins. Undefined when it is unknown. */
export function knownCost(cost: JobCost | undefined): Money | undefined {
  return cost?.charged ?? cost?.estimated;
}

/** The cost of a job that has only an estimate yet. */
export function costOfEstimate(estimate: Estimate, service: string | undefined): JobCost {
  return {
    ...('cost' in estimate ? { estimated: estimate.cost } : { unknown: estimate.unknown }),
    ...(service !== undefined && { service }),
  };
}

/** One cost from two reports of it. Of what both say, the later is true: prices and charges are corrected. */
export function mergeCosts(earlier: JobCost | undefined, later: JobCost | undefined): JobCost | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier;
  const { unknown, ...merged } = { ...earlier, ...later };
  return { ...merged, ...(merged.estimated === undefined && unknown !== undefined && { unknown }) };
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
  const unknown = textIn(given.unknown, LONGEST_REASON_CHARS);
  const service = textIn(given.service, LONGEST_SERVICE_CHARS);
  if (!estimated && !charged && unknown === undefined) return undefined;
  return {
    ...(estimated && { estimated }),
    ...(charged && { charged }),
    ...(unknown !== undefined && !estimated && { unknown }),
    ...(service !== undefined && { service }),
  };
}

function textIn(value: unknown, longestChars: number): string | undefined {
  return typeof value === 'string' ? cleanText(value, longestChars) || undefined : undefined;
}

/** What a batch costs. */
export interface BatchCost {
  /** All its items by the prices of the profile, before the first one is paid for. */
  estimated?: MoneySum;
  /** The items that have ended and were submitted: what was charged, or else what was estimated. */
  spent?: MoneySum;
}

/** `1.20 USD of estimated 2.00 USD`, `1.20 USD`, `estimated 2.00 USD`. */
export function describeBatchCost({ estimated, spent }: BatchCost): string {
  const all = estimated && `estimated ${describeSum(estimated)}`;
  const soFar = spent && describeSum(spent);
  return [soFar, all].filter(Boolean).join(' of ') || 'unknown';
}
