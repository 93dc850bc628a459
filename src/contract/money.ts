/** An amount in units of a currency, with at most 6 decimals. */
export interface Money {
  amount: number;
  /** Such as `USD`, or the unit of a service that counts in its own, such as `credits`. */
  currency: string;
}

const MILLIONTHS = 1_000_000;

/** Rounded to millionths: sums of fractions would be wrong in their last digits. */
export function exact(amount: number): number {
  return Math.round(amount * MILLIONTHS) / MILLIONTHS;
}

/** The largest amount of one cost. Its millionths are still exact. */
export const LARGEST_AMOUNT = 1_000_000_000;

/** The currency is shown everywhere, so it is a short word. Caps count videos and seconds too. */
const CURRENCY = /^(?!(?:videos|seconds)$)[A-Za-z][A-Za-z0-9_-]{0,15}$/;

export const AMOUNT_RULE = `must be a number from 0 to ${LARGEST_AMOUNT}`;
export const CURRENCY_RULE = 'must be a word of at most 16 letters and digits, such as USD or credits';

export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LARGEST_AMOUNT;
}

export function isCurrency(value: unknown): value is string {
  return typeof value === 'string' && CURRENCY.test(value);
}

/** Money as others may have written it: in a signal, a memo, a file or an answer. Undefined when it is none. */
export function readMoney(value: unknown): Money | undefined {
  const { amount, currency }: { amount?: unknown; currency?: unknown } = Object(value);
  return isAmount(amount) && isCurrency(currency) ? money(amount, currency) : undefined;
}

/** Rounded, but never to nothing. */
export function money(amount: number, currency: string): Money {
  return { amount: amount > 0 ? Math.max(exact(amount), 1 / MILLIONTHS) : 0, currency };
}

/** `1.50 USD`, `0.000125 USD`, `12 credits`: no digit is left out. */
export function describeMoney({ amount, currency }: Money): string {
  // Codes of real currencies have three capitals: they are shown with cents.
  const zeros = /^[A-Z]{3}$/.test(currency) ? /0{1,4}$/ : /\.?0+$/;
  return `${amount.toFixed(6).replace(zeros, '')} ${currency}`;
}

/** The sum of some costs. Different currencies are never added, and an unknown cost makes the sum incomplete. */
export interface MoneySum {
  /** One amount for each currency, by its name. */
  sums: Money[];
  /** How many costs are unknown: they are in no sum, and are never taken for zero. */
  unknown: number;
}

/** Adds sums. The order makes no difference. */
export function addSums(...added: readonly MoneySum[]): MoneySum {
  const amounts = new Map<string, number>();
  for (const { amount, currency } of added.flatMap(({ sums }) => sums))
    amounts.set(currency, exact((amounts.get(currency) ?? 0) + amount));
  const sums = [...amounts].map(([currency, amount]) => ({ amount, currency }));
  return {
    sums: sums.sort((a, b) => (a.currency < b.currency ? -1 : 1)),
    unknown: added.reduce((unknown, sum) => unknown + sum.unknown, 0),
  };
}

/** The sum of costs, of which undefined is an unknown one. */
export function sumOf(costs: readonly (Money | undefined)[]): MoneySum {
  const known = costs.filter((cost) => cost !== undefined);
  return addSums({ sums: known, unknown: costs.length - known.length });
}

/** `1.50 USD + 12 credits + 3 of unknown cost`. */
export function describeSum({ sums, unknown }: MoneySum): string {
  const parts = [...sums.map(describeMoney), ...(unknown > 0 ? [`${unknown} of unknown cost`] : [])];
  return parts.join(' + ') || 'nothing';
}
