import type { FailureDetails } from './failure-details';
import { describeMoney, type Money, readMoney, toMillionths } from './money';

/** How much may be made. Every limit that is set holds. */
export interface Cap {
  videos?: number;
  /** Of video, not of waiting. */
  seconds?: number;
  money?: Money;
}

/** What a limit counts in. */
export type CapUnit = keyof Cap;

/** Whose videos a cap counts: those of one job, of one batch, of one gateway key in a day, or all in a day. */
export type CapScope = 'job' | 'batch' | 'key' | 'day';

/** What a worker may make. A day is one of UTC. */
export interface Caps {
  /** Each job, and each item of a batch. */
  job?: Cap;
  /** Each batch, beside the `cap` in its input. */
  batch?: Cap;
  /** Each gateway key, a day. */
  key?: Cap;
  /** Single gateway keys by name, a day, in place of `key`. */
  keys?: Record<string, Cap>;
  /** All jobs and batches, a day. */
  day?: Cap;
}

/** One limit of a cap: in videos, seconds, or units of the currency. */
export interface CapLimit {
  unit: CapUnit;
  limit: number;
  currency?: string;
}

/** What has been taken of a cap, as whole numbers: fractions would not add up. */
export interface Taken {
  videos: number;
  /** Thousandths of a second. */
  ms: number;
  /** Millionths by currency. */
  money: Record<string, number>;
}

/** A limit that does not allow a video, with what is left of it and what the video takes. */
export interface ReachedCap extends CapLimit {
  scope: CapScope;
  /** Of the gateway key or the batch. */
  name?: string;
  /** The cap of a job is that of its own input, not the worker's. */
  isOwn?: boolean;
  left: number;
  takes: number;
  /** ISO 8601. Caps of jobs and batches never reset. */
  resetsAt?: string;
}

const MOST_VIDEOS = 1_000_000_000;

export const VIDEOS_RULE = `must be a whole number from 0 to ${MOST_VIDEOS}`;
export const SECONDS_RULE = `must be a number from 0 to ${MOST_VIDEOS}`;
export const MONEY_RULE = 'must be an amount and a currency, such as { "amount": 2.5, "currency": "USD" }';

export function isVideoCount(value: unknown): value is number {
  return Number.isInteger(value) && isSeconds(value);
}

export function isSeconds(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MOST_VIDEOS;
}

export function isMoney(value: unknown): value is Money {
  return readMoney(value) !== undefined;
}

/** The limits of some caps. Null counts as absent: some SDKs send it for an unset field. */
export function limitsOf(...caps: (Cap | null | undefined)[]): CapLimit[] {
  return caps.flatMap((cap) => {
    const { videos, seconds, money } = cap ?? {};
    const limits: CapLimit[] = [];
    if (videos != null) limits.push({ unit: 'videos', limit: videos });
    if (seconds != null) limits.push({ unit: 'seconds', limit: seconds });
    if (money != null) limits.push({ unit: 'money', limit: money.amount, currency: money.currency });
    return limits;
  });
}

export const NOTHING_TAKEN: Taken = { videos: 0, ms: 0, money: {} };

/** What one video takes. Seconds are rounded up: a cap must not hold less than was made. */
export function takenBy({ seconds = 0, estimated }: { seconds?: number; estimated?: Money }): Taken {
  return {
    videos: 1,
    ms: Math.ceil(seconds * WHOLES.seconds - 1e-6),
    money: estimated ? { [estimated.currency]: toMillionths(estimated.amount) } : {},
  };
}

/** What is taken after this many times more. */
export function addTaken(taken: Taken, more: Taken, times = 1): Taken {
  const money = { ...taken.money };
  for (const [currency, amount] of Object.entries(more.money))
    money[currency] = (money[currency] ?? 0) + times * amount;
  return { videos: taken.videos + times * more.videos, ms: taken.ms + times * more.ms, money };
}

/** The first limit that does not allow the video; undefined when all do. */
export function firstReached(
  limits: readonly CapLimit[],
  taken: Taken,
  video: Taken,
): Omit<ReachedCap, 'scope'> | undefined {
  for (const limit of limits) {
    const whole = WHOLES[limit.unit];
    const [left, takes] = [leftOf(limit, taken), wholeOf(limit, video)];
    // What is no number is not allowed.
    if (!(takes <= left)) return { ...limit, left: left / whole, takes: takes / whole };
  }
  return undefined;
}

/** What was used of a limit, what is reserved of it and what is left, in words. */
export function describeUse(limit: CapLimit, used: Taken, reserved: Taken) {
  const describe = (whole: number) => describeAmount({ ...limit, limit: whole / WHOLES[limit.unit] });
  const left = leftOf(limit, addTaken(used, reserved));
  return {
    used: describe(wholeOf(limit, used)),
    reserved: describe(wholeOf(limit, reserved)),
    left: describe(left),
    isReached: left === 0,
  };
}

const WHOLES: Record<CapUnit, number> = { videos: 1, seconds: 1_000, money: 1_000_000 };

function wholeOf({ unit, currency = '' }: CapLimit, { videos, ms, money }: Taken): number {
  return { videos, seconds: ms, money: money[currency] ?? 0 }[unit];
}

function leftOf(limit: CapLimit, taken: Taken): number {
  return Math.max(0, Math.round(limit.limit * WHOLES[limit.unit]) - wholeOf(limit, taken));
}

/** The details of the failure. `lostSubmits`: how many may have been paid for before. */
export function capDetails(
  reached: ReachedCap,
  lostSubmits = 0,
): Pick<FailureDetails, 'message' | 'advice' | 'cap' | 'capLeft' | 'capResetsAt'> {
  const { scope, unit, left, takes, resetsAt, isOwn } = reached;
  const amount = (limit: number) => describeAmount({ ...reached, limit });
  const state = left === 0 ? 'is reached' : `has ${amount(left)} left, and this video takes ${amount(takes)}`;
  const reset = resetsAt === undefined ? '' : `; it resets at ${resetsAt}`;
  return {
    message: `${describeCap(reached)} ${state}${reset}`,
    advice:
      lostSubmits > 0 ? LOST_ADVICE : ADVICE[isOwn ? 'own' : scope](describeAmount(reached), SMALLER[unit]),
    cap: `${scope}.${unit}`,
    capLeft: left,
    ...(resetsAt !== undefined && { capResetsAt: resetsAt }),
  };
}

/** Whatever a cap refuses after a lost submit, that one may have been paid for. */
export const LOST_ADVICE =
  'An earlier submit was lost, so a task may exist: search for it at the service and adopt it. To submit again, raise the cap.';

const notPaid = () =>
  'Nothing was paid. Start it again when the cap resets, or raise the cap: videogen caps shows what is left.';

const ADVICE: Record<CapScope | 'own', (allowed: string, orLess: string) => string> = {
  own: (allowed, orLess) => `This job's own cap allows ${allowed}. Raise \`cap\`${orLess}.`,
  job: (allowed, orLess) => `The worker allows each job ${allowed}. Raise \`job\` in its caps${orLess}.`,
  batch: () => 'Raise the cap of the batch, and start it again under the same name.',
  key: notPaid,
  day: notPaid,
};

const SMALLER: Record<CapUnit, string> = {
  videos: '',
  seconds: ', or ask for a shorter video',
  money: ', or ask for a cheaper video',
};

/** `the daily cap of 3 videos for the gateway key web_shop`. */
export function describeCap(cap: CapLimit & Pick<ReachedCap, 'scope' | 'name'>): string {
  const { scope, name } = cap;
  const isDaily = scope === 'day' || scope === 'key';
  const whose = isDaily ? (name === undefined ? '' : ` for the gateway key ${name}`) : ` for this ${scope}`;
  return `the ${isDaily ? 'daily ' : ''}cap of ${describeAmount(cap)}${whose}`;
}

export function describeAmount({ unit, limit, currency = '' }: CapLimit): string {
  if (unit === 'money') return describeMoney({ amount: limit, currency });
  return limit === 1 ? `1 ${unit.slice(0, -1)}` : `${limit} ${unit}`;
}
