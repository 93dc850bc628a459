import type { FailureDetails } from './failure-details';
import { describeMoney, exact, type Money, readMoney } from './money';

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
  /** The cap of a job is that of its own input, not the worker's. */
  isOwn?: boolean;
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

/** What was used of a limit, what is reserved of it and what is left, in words. */
export function describeUse(limit: CapLimit, used: Taken, reserved: Taken) {
  const { unit } = limit;
  const left = leftOf(limit, addTaken(used, reserved));
  return {
    used: describeAmount(amountOf(used, unit), unit),
    reserved: describeAmount(amountOf(reserved, unit), unit),
    left: describeAmount(left, unit),
  };
}

/** A sentence for each limit of an account. */
export function describeCount(account: CapAccount & { used: Taken; reserved: Taken }): string[] {
  const batch = account.scope === 'batch' ? ` (${account.name})` : '';
  return account.limits.map((limit) => {
    const { left, used, reserved } = describeUse(limit, account.used, account.reserved);
    return `${describeCap(account, limit)}${batch}: ${left} left, ${used} used, ${reserved} reserved`;
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
      advice: adviceFor(account, limit),
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

function adviceFor({ scope, isOwn }: CapAccount, { unit, limit }: CapLimit): string {
  if (scope === 'batch') return 'Raise the cap of the batch, and start it again under the same name.';
  if (scope !== 'job')
    return 'Nothing was paid. Start it again when the cap resets, or raise the cap: videogen spend --caps shows what is left.';
  const [allows, raise] = isOwn
    ? ["This job's own cap allows", 'Raise `cap`']
    : ['The worker allows each job', 'Raise `job` in its caps'];
  return `${allows} ${describeAmount(limit, unit)}. ${raise}${OR_LESS[fieldOf(unit)]}.`;
}

const OR_LESS: Record<keyof Cap, string> = {
  videos: '',
  seconds: ', or ask for a shorter video',
  money: ', or ask for a cheaper video',
};

/** `the daily cap of 3 videos for the gateway key web_shop`. */
export function describeCap({ scope, name }: Omit<CapAccount, 'limits'>, { unit, limit }: CapLimit): string {
  const isDaily = scope === 'day' || scope === 'key';
  const whose = isDaily ? (name === undefined ? '' : ` for the gateway key ${name}`) : ` for this ${scope}`;
  return `the ${isDaily ? 'daily ' : ''}cap of ${describeAmount(limit, unit)}${whose}`;
}

export function describeAmount(amount: number, unit: string): string {
  if (fieldOf(unit) === 'money') return describeMoney({ amount, currency: unit });
  return amount === 1 ? `1 ${unit.slice(0, -1)}` : `${amount} ${unit}`;
}
