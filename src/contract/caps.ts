import { describeMoney, fromMillionths, type Money, readMoney, toMillionths } from './money';
import type { FailureDetails } from './video-failure';

/** How much may be made. Every limit that is set holds. */
export interface Cap {
  videos?: number;
  /** Of video, not of waiting. */
  seconds?: number;
  money?: Money;
}

/** The limits of a cap. */
export const CAP_UNITS = ['videos', 'seconds', 'money'] as const;

/** One of CAP_UNITS. */
export type CapUnit = (typeof CAP_UNITS)[number];

/** Whose videos a cap counts: those of one job, of one batch, of one gateway key in a day, or all in a day. */
export const CAP_SCOPES = ['job', 'batch', 'key', 'day'] as const;

/** One of CAP_SCOPES. */
export type CapScope = (typeof CAP_SCOPES)[number];

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

/** What has been taken of a cap, as whole numbers: fractions would not add up. */
export interface Taken {
  videos: number;
  /** Thousandths of a second. */
  ms: number;
  /** Millionths by currency. */
  money: Record<string, number>;
}

/** What one video takes. Seconds and cost are unset where they are unknown. */
export interface VideoTakes {
  seconds?: number;
  cost?: Money;
}

/** A limit that does not allow a video. */
export interface ReachedCap {
  scope: CapScope;
  /** Of the gateway key or the batch. */
  name?: string;
  unit: CapUnit;
  /** The limit, what is left of it and what the video takes: in videos, seconds, or units of the currency. */
  limit: number;
  left: number;
  takes: number;
  currency?: string;
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

/** Whether a cap limits anything. Null counts as absent: some SDKs send it for an unset field. */
export function limits(cap: Cap | null | undefined): cap is Cap {
  return cap != null && CAP_UNITS.some((unit) => cap[unit] != null);
}

/** Both caps in one. Of two currencies the first is kept; `unknownUnder` refuses what the other cannot count. */
export function strictest(a: Cap | null | undefined, b: Cap | null | undefined): Cap | undefined {
  if (!limits(a)) return b ?? undefined;
  if (!limits(b)) return a;
  const least = (x: number | null | undefined, y: number | null | undefined) =>
    x == null || y == null ? (x ?? y ?? undefined) : Math.min(x, y);
  const isSecondLess =
    b.money != null &&
    (a.money == null || (b.money.currency === a.money.currency && b.money.amount < a.money.amount));
  return {
    videos: least(a.videos, b.videos),
    seconds: least(a.seconds, b.seconds),
    money: (isSecondLess ? b.money : a.money) ?? undefined,
  };
}

/** The cap of a gateway key: its own if it is named, else that of each key. */
export function capOfKey({ key, keys = {} }: Caps, caller: string): Cap | undefined {
  return Object.hasOwn(keys, caller) ? keys[caller] : key;
}

export const NOTHING_TAKEN: Taken = { videos: 0, ms: 0, money: {} };

/** What is taken after so many such videos more. */
export function takeMore(taken: Taken, { seconds, cost }: VideoTakes, videos = 1): Taken {
  const money = cost && {
    [cost.currency]: (taken.money[cost.currency] ?? 0) + videos * toMillionths(cost.amount),
  };
  return {
    videos: taken.videos + videos,
    ms: taken.ms + videos * toThousandths(seconds ?? 0),
    money: { ...taken.money, ...money },
  };
}

/** What was used and what is reserved, in one. */
export function takenTogether(used: Taken, reserved: Taken): Taken {
  const money = Object.entries(reserved.money).map(([currency, amount]) => [
    currency,
    amount + (used.money[currency] ?? 0),
  ]);
  return {
    videos: used.videos + reserved.videos,
    ms: used.ms + reserved.ms,
    money: { ...used.money, ...Object.fromEntries(money) },
  };
}

/** The first limit that does not allow the video; undefined when all do. What it takes must be known: see `unknownUnder`. */
export function firstReached(
  cap: Cap,
  taken: Taken,
  video: VideoTakes,
): Pick<ReachedCap, 'unit' | 'limit' | 'left' | 'takes' | 'currency'> | undefined {
  const { videos, seconds, money } = cap;
  if (videos != null && taken.videos + 1 > videos)
    return { unit: 'videos', limit: videos, left: Math.max(0, videos - taken.videos), takes: 1 };
  if (seconds != null) {
    const [most, takes] = [toThousandths(seconds), toThousandths(video.seconds ?? 0)];
    if (taken.ms + takes > most) {
      const left = Math.max(0, most - taken.ms) / 1_000;
      return { unit: 'seconds', limit: seconds, left, takes: takes / 1_000 };
    }
  }
  if (money == null) return undefined;
  const { currency } = money;
  const [most, takes] = [toMillionths(money.amount), toMillionths(video.cost?.amount ?? 0)];
  const before = taken.money[currency] ?? 0;
  if (before + takes <= most) return undefined;
  return {
    unit: 'money',
    limit: money.amount,
    left: fromMillionths(Math.max(0, most - before), currency).amount,
    takes: fromMillionths(takes, currency).amount,
    currency,
  };
}

/** What must be known of a video under this cap and is not, as half a sentence; undefined when enough is known. */
export function unknownUnder(
  cap: Cap,
  { seconds, cost, whyUnknown }: VideoTakes & { whyUnknown?: string },
): { unit: CapUnit; why: string } | undefined {
  const { seconds: mostSeconds, money } = cap;
  if (mostSeconds != null && seconds === undefined)
    return { unit: 'seconds', why: 'the duration of the video is not known: the request has none' };
  if (money == null) return undefined;
  if (cost === undefined)
    return { unit: 'money', why: `the cost of the video is not known: ${whyUnknown ?? 'it has no price'}` };
  if (cost.currency === money.currency) return undefined;
  return {
    unit: 'money',
    why: `the cost of the video is in ${cost.currency} and the cap in ${money.currency}`,
  };
}

/** `the daily cap of 3 videos is reached; it resets at 2026-11-18T00:00:00.000Z`. */
export function describeReached(reached: ReachedCap): string {
  const { unit, left, takes, resetsAt } = reached;
  const amount = (value: number) => describeAmount(unit, value, reached.currency);
  const state = left === 0 ? 'is reached' : `has ${amount(left)} left, and this video takes ${amount(takes)}`;
  return `${describeCap(reached)} ${state}${resetsAt === undefined ? '' : `; it resets at ${resetsAt}`}`;
}

/** The details of the failure. */
export function capDetails(
  reached: ReachedCap,
): Pick<FailureDetails, 'message' | 'cap' | 'capLeft' | 'capResetsAt'> {
  return {
    message: describeReached(reached),
    cap: nameOfLimit(reached),
    capLeft: reached.left,
    ...(reached.resetsAt !== undefined && { capResetsAt: reached.resetsAt }),
  };
}

/** `the daily cap of 3 videos for the gateway key web_shop`. */
export function describeCap({
  scope,
  name,
  unit,
  limit,
  currency,
}: Pick<ReachedCap, 'scope' | 'name' | 'unit' | 'limit' | 'currency'>): string {
  const amount = describeAmount(unit, limit, currency);
  switch (scope) {
    case 'day':
      return `the daily cap of ${amount}`;
    case 'key':
      return `the daily cap of ${amount} for the gateway key ${name}`;
    case 'batch':
      return `the cap of ${amount} for this batch`;
    case 'job':
      return `the cap of ${amount} for this job`;
  }
}

export function describeAmount(unit: CapUnit, value: number, currency = ''): string {
  if (unit === 'money') return describeMoney({ amount: value, currency });
  return value === 1 ? `1 ${unit.slice(0, -1)}` : `${value} ${unit}`;
}

/** The limit by its name in the settings, such as `day.videos`. */
export const nameOfLimit = ({ scope, unit }: Pick<ReachedCap, 'scope' | 'unit'>) => `${scope}.${unit}`;

/** The day of UTC that a time is in, such as `2026-11-17`. */
export const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

const DAY_MS = 24 * 3_600_000;

/** When the caps of a day reset: at its end, 00:00 UTC. */
export function dayEndsAt(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00.000Z`) + DAY_MS).toISOString();
}

/** Rounded up: a cap must not hold less than was made. */
function toThousandths(seconds: number): number {
  return Math.ceil(seconds * 1_000 - 1e-6);
}

/** How much of a unit was taken, in videos, seconds or units of the currency. */
export function takenOf({ videos, ms, money }: Taken, unit: CapUnit, currency = ''): number {
  switch (unit) {
    case 'videos':
      return videos;
    case 'seconds':
      return ms / 1_000;
    case 'money':
      return fromMillionths(money[currency] ?? 0, currency).amount;
  }
}

/** A limit of a cap and what is left of it. A limit that is not set has nothing left. */
export function leftOf(
  cap: Cap,
  unit: CapUnit,
  used: Taken,
  reserved: Taken,
): { limit: number; left: number; currency?: string } {
  const { currency, amount = 0 }: Partial<Money> = cap.money ?? {};
  const limit = unit === 'money' ? amount : (cap[unit] ?? 0);
  const ofMoney = unit === 'money' ? { currency } : {};
  const whole = (taken: Taken) => toMillionths(takenOf(taken, unit, currency));
  const left = Math.max(0, toMillionths(limit) - whole(used) - whole(reserved));
  return { limit, left: fromMillionths(left, '').amount, ...ofMoney };
}
