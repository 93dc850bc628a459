import { fileName } from './digest';
import type { FailureDetails } from './failure-details';
import { describeMoney, exact, type Money, readMoney } from './money';
import { jsonBytes } from './sizes';

/** How much may be made. Every limit that is set holds. */
export interface Cap {
  videos?: number;
  /** Of video, not of waiting. */
  seconds?: number;
  money?: Money;
}

/** Whose videos a cap counts: those of one job, of one batch, of one gateway key in a day, or all in a day. */
export type CapScope = 'job' | 'batch' | 'key' | 'day';

/** What a worker may make. A day is one of UTC. */
export interface Caps {
  /** Each job, and each item of a batch. */
  job?: Cap;
  /** Each batch, besides the `cap` in its input. */
  batch?: Cap;
  /** Each gateway key, a day. */
  key?: Cap;
  /** Single gateway keys by name, a day, in place of `key`. */
  keys?: Record<string, Cap>;
  /** All jobs and batches, a day. */
  day?: Cap;
}

/** One limit of a cap, in `videos`, `seconds` or a currency. */
export interface CapLimit {
  unit: string;
  limit: number;
}

/** The videos that are counted together, and how much they may take. The limits travel with it: the ledger has no settings. */
export interface CapAccount {
  scope: CapScope;
  /** Of the gateway key or the batch. */
  name?: string;
  limits: CapLimit[];
}

/** What has been taken of caps: videos, seconds, and amounts by currency. */
export type Taken = Record<string, number>;

const MOST_VIDEOS = 1_000_000_000;

const isSeconds = (value: unknown) => typeof value === 'number' && value >= 0 && value <= MOST_VIDEOS;

/** The rules of the fields of a cap. */
export const CAP_FIELDS = {
  videos: {
    accepts: (value: unknown) => Number.isInteger(value) && isSeconds(value),
    sentence: `must be a whole number from 0 to ${MOST_VIDEOS}`,
  },
  seconds: { accepts: isSeconds, sentence: `must be a number from 0 to ${MOST_VIDEOS}` },
  money: {
    accepts: (value: unknown) => readMoney(value) !== undefined,
    sentence: 'must be an amount and a currency, such as { "amount": 2.5, "currency": "USD" }',
  },
};

/** The limits of some caps. Null counts as absent: some SDKs send it for an unset field. */
export function limitsOf(...caps: (Cap | null | undefined)[]): CapLimit[] {
  return caps.flatMap((cap) => {
    const { videos, seconds, money } = cap ?? {};
    const all = { videos, seconds, ...(money && { [money.currency]: money.amount }) };
    return Object.entries(all).flatMap(([unit, limit]) => (limit == null ? [] : { unit, limit }));
  });
}

/** What one video takes. A unit is left out if that is not known. */
export function takenBy({ seconds, estimated }: { seconds?: number; estimated?: Money }): Taken {
  return {
    videos: 1,
    ...(seconds !== undefined && { seconds: exact(seconds) }),
    ...(estimated && { [estimated.currency]: estimated.amount }),
  };
}

/** What is taken after this many times more. */
export function addTaken(taken: Taken, more: Taken, times = 1): Taken {
  const sum = { ...taken };
  for (const [unit, amount] of Object.entries(more))
    sum[unit] = exact(amountOf(taken, unit) + times * amount);
  return sum;
}

/** A currency may have the name of a method. */
function amountOf(taken: Taken, unit: string): number {
  return (Object.hasOwn(taken, unit) ? taken[unit] : undefined) ?? 0;
}

function leftOf({ unit, limit }: CapLimit, taken: Taken): number {
  return Math.max(0, exact(limit - amountOf(taken, unit)));
}

/** A sentence for each limit of an account. */
export function describeCount(account: CapAccount & { used: Taken; reserved: Taken }): string[] {
  const { scope, name, limits, used, reserved } = account;
  const batch = scope === 'batch' ? ` (${name})` : '';
  return limits.map((limit) => {
    const { unit } = limit;
    const left = describeAmount(leftOf(limit, addTaken(used, reserved)), unit);
    const [usedSoFar, kept] = [used, reserved].map((taken) => describeAmount(amountOf(taken, unit), unit));
    return `${describeCap(account, limit)}${batch}: ${left} left, ${usedSoFar} used, ${kept} reserved`;
  });
}

/** The details of the failure for the first limit that does not allow a video; undefined when all do. */
export function capRefusal(
  account: CapAccount,
  taken: Taken,
  video: Taken,
  resetsAt?: string,
): FailureDetails | undefined {
  for (const limit of account.limits) {
    const { unit } = limit;
    const [left, takes] = [leftOf(limit, taken), amountOf(video, unit)];
    // What is no number is not allowed.
    if (takes <= left) continue;
    const some = `has ${describeAmount(left, unit)} left, and this video takes ${describeAmount(takes, unit)}`;
    const reset = resetsAt === undefined ? '' : `; it resets at ${resetsAt}`;
    return {
      message: `${describeCap(account, limit)} ${left === 0 ? 'is reached' : some}${reset}`,
      ...(ADVICE[account.scope] && { advice: ADVICE[account.scope] }),
      cap: `${account.scope}.${fieldOf(unit)}`,
      capLeft: left,
      ...(resetsAt !== undefined && { capResetsAt: resetsAt }),
    };
  }
  return undefined;
}

/** The field of a cap that limits a unit. */
export function fieldOf(unit: string): keyof Cap {
  return unit === 'videos' || unit === 'seconds' ? unit : 'money';
}

/** Caps of a day reset, which the general advice is about. */
const ADVICE: Partial<Record<CapScope, string>> = {
  job: 'Raise the cap of the job, in its input or in the caps of the worker, or ask for a shorter or cheaper video.',
  batch: 'Raise the cap of the batch, and start it again under the same name.',
};

/** `the daily cap of 3 videos for the gateway key web_shop`. */
function describeCap({ scope, name }: CapAccount, { unit, limit }: CapLimit): string {
  const isDaily = scope === 'day' || scope === 'key';
  const whose = isDaily ? (name === undefined ? '' : ` for the gateway key ${name}`) : ` for this ${scope}`;
  return `the ${isDaily ? 'daily ' : ''}cap of ${describeAmount(limit, unit)}${whose}`;
}

function describeAmount(amount: number, unit: string): string {
  if (fieldOf(unit) === 'money') return describeMoney({ amount, currency: unit });
  return amount === 1 ? `1 ${unit.slice(0, -1)}` : `${amount} ${unit}`;
}

/** What a send cost: nothing if it made no task, or one without a video that was not charged. */
export type SendCost = 'nothing' | 'estimate' | Money;

/** One line for the ledger: the reservation of a send that may pay, or how it ended. The id is that of the send. */
export type LedgerEntry = { id: string } & ({ accounts: CapAccount[]; takes: Taken } | { cost: SendCost });

/** `refused`: what the failure of the submit says. */
export type LedgerAnswer = { ok: true } | { refused: FailureDetails };

/** One account, as the query shows it. */
export interface LedgerCount extends CapAccount {
  /** By tasks that have ended. */
  used: Taken;
  /** By lost submits, and by tasks that have not ended. */
  reserved: Taken;
  /** ISO 8601; unset for a batch. */
  resetsAt?: string;
}

/** The answer to the query of the ledger. */
export interface LedgerReport {
  /** The day of UTC. */
  day: string;
  counts: LedgerCount[];
}

/** `day` is that of its last change. */
export type CountedAccount = LedgerCount & { day: string };

/** What a ledger passes to its next run. Reservations name their accounts by index, to fit many into a message. */
export interface CarriedLedger {
  day: string;
  accounts: CountedAccount[];
  open: { id: string; takes: Taken; accounts: number[] }[];
}

/** A message of Temporal's takes 2 MiB, and a codec may add a third. test/workflows/ledger.test.ts fills a ledger to these. */
export const MOST_OPEN_RESERVATIONS = 3_000;
export const MOST_ACCOUNTS = 2_000;
/** In one update, and as many again that were late: far below the size of a message. */
export const MOST_ENTRIES = 200;

/** A longer name of a batch would take too much of the ledger. */
const LONGEST_NAME_BYTES = 200;

/** The day of UTC that a time is in, such as `2026-11-17`. */
export const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** The accounts of a job that have a limit. Others are not counted. */
export function accountsOf(
  { batch, key, keys = {}, day }: Caps,
  { sharedCap, caller }: { sharedCap?: { name: string; cap: Cap }; caller?: string },
): CapAccount[] {
  const accounts: CapAccount[] = [{ scope: 'day', limits: limitsOf(day) }];
  if (caller != null) {
    const ofKey = Object.hasOwn(keys, caller) ? keys[caller] : key;
    accounts.unshift({ scope: 'key', name: caller, limits: limitsOf(ofKey) });
  }
  if (sharedCap != null) {
    const { name, cap } = sharedCap;
    const isShort = jsonBytes(name) <= LONGEST_NAME_BYTES;
    accounts.unshift({ scope: 'batch', name: isShort ? name : fileName(name), limits: limitsOf(batch, cap) });
  }
  return accounts.filter(({ limits }) => limits.length > 0);
}
