import { cleanText } from './clean-text';
import { describeMoney, describeSum, type Money, type MoneySum, readMoney, sumOf } from './money';

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
  /** How many lost submits the job has besides its task: each may have cost as much again. */
  lostSubmits?: number;
}

/** Reasons and names of services are ours; others may still write the memo and the file that they are read from. */
const LONGEST_TEXT_CHARS = 200;
/** Each waited for a decision, or for a timeout. */
const MOST_LOST_SUBMITS = 1_000;

/** What a job has paid for, or may have: its task, and each lost submit. Undefined is unknown. */
export function chargesOf(cost: JobCost | undefined, hasTask = true): (Money | undefined)[] {
  const { charged, estimated, lostSubmits = 0 } = cost ?? {};
  const lost = Array.from({ length: lostSubmits }, () => estimated);
  // Without a task, the lost submits are all that may have been paid for: one at least, or nobody would ask.
  return hasTask || charged || lostSubmits === 0 ? [charged ?? estimated, ...lost] : lost;
}

/** The cost of a job that lost submits, even if nothing else is known of it. */
export function withLostSubmits(cost: JobCost | undefined, lostSubmits = 0): JobCost | undefined {
  return lostSubmits > 0 ? { ...cost, lostSubmits } : cost;
}

/** One cost from two reports of it. Of what both say, the later is true: prices and charges are corrected. */
export function mergeCosts(earlier: JobCost | undefined, later: JobCost | undefined): JobCost | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier;
  const { unknown, ...merged } = { ...earlier, ...later };
  return { ...merged, ...(merged.estimated === undefined && unknown !== undefined && { unknown }) };
}

/** `0.50 USD charged (estimated 0.40 USD)`, `0.40 USD estimated`, `unknown: the request has no duration …`. */
export function describeCost(cost: JobCost): string {
  const { estimated, charged, unknown, lostSubmits = 0 } = cost;
  const before = charged && estimated ? ` (estimated ${describeMoney(estimated)})` : '';
  const why = unknown === undefined ? 'unknown' : `unknown: ${unknown}`;
  const ofTask = charged
    ? `${describeMoney(charged)} charged${before}`
    : estimated
      ? `${describeMoney(estimated)} estimated`
      : why;
  if (lostSubmits === 0) return ofTask;
  const lost = lostSubmits === 1 ? 'a lost submit' : `${lostSubmits} lost submits`;
  const more = estimated ? describeSum(sumOf(chargesOf(cost).slice(1))) : 'more';
  return `${ofTask}, and ${lost} may have cost ${more}${estimated ? ' more' : ''}`;
}

/** A cost as others may have written it: in a memo, a signal or a file. Undefined when it says nothing. */
export function readCost(value: unknown): JobCost | undefined {
  const given: Record<keyof JobCost, unknown> = Object(value);
  const [estimated, charged] = [readMoney(given.estimated), readMoney(given.charged)];
  const [unknown, service] = [given.unknown, given.service].map((text) =>
    typeof text === 'string' ? cleanText(text, LONGEST_TEXT_CHARS) : '',
  );
  const lostSubmits = Number.isInteger(given.lostSubmits) ? Number(given.lostSubmits) : 0;
  const cost: JobCost = {
    ...(estimated && { estimated }),
    ...(charged && { charged }),
    ...(unknown && !estimated && { unknown }),
    ...(lostSubmits > 0 && lostSubmits <= MOST_LOST_SUBMITS && { lostSubmits }),
  };
  if (Object.keys(cost).length === 0) return undefined;
  return { ...cost, ...(service && { service }) };
}

/** What a batch costs. */
export interface BatchCost {
  /** All its items by the prices of the profile, before the first one is paid for. */
  estimated?: MoneySum;
  /** The items that have ended and were submitted: what was charged, or else what was estimated. */
  spent?: MoneySum;
}

/** `1.20 USD (estimated 2.00 USD)`, `1.20 USD`, `estimated 2.00 USD`. */
export function describeBatchCost({ estimated, spent }: BatchCost): string {
  const all = estimated && `estimated ${describeSum(estimated)}`;
  if (spent === undefined) return all ?? 'unknown';
  return `${describeSum(spent)}${all === undefined ? '' : ` (${all})`}`;
}
