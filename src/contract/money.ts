/** An amount in units of a currency, with at most 6 decimals. */
export interface Money {
  amount: number;
  /** Such as `USD`, or the unit of a service that counts in its own, such as `credits`. */
  currency: string;
}

/** Sums are made of whole millionths: sums of fractions would be wrong in their last digits. */
const MILLIONTHS = 1_000_000;

/** The largest amount of one cost. Its millionths are still exact. */
export const LARGEST_AMOUNT = 1_000_000_000;

/** The currency is shown everywhere, so it is a short word. */
const CURRENCY = /^[A-Za-z][A-Za-z0-9_-]{0,15}$/;

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

/** Rounded to millionths, but never to nothing. */
export function money(amount: number, currency: string): Money {
  return fromMillionths(toMillionths(amount), currency);
}

/** The amount as a whole number of millionths. */
export function toMillionths(amount: number): number {
  return amount > 0 ? Math.max(1, Math.round(amount * MILLIONTHS)) : 0;
}

export function fromMillionths(millionths: number, currency: string): Money {
  return { amount: millionths / MILLIONTHS, currency };
}

/** `1.50 USD`, `0.000125 USD`, `12 credits`: no digit is left out. */
export function describeMoney({ amount, currency }: Money): string {
  const exact = amount.toFixed(6).replace(/0+$/, '').replace(/\.$/, '');
  // Codes of real currencies have three capitals.
  const isCounted = !/^[A-Z]{3}$/.test(currency);
  return `${isCounted ? exact : atLeastCents(exact)} ${currency}`;
}

function atLeastCents(exact: string): string {
  const [units = '0', decimals = ''] = exact.split('.');
  return `${units}.${decimals.padEnd(2, '0')}`;
}

/** The sum of some costs. Different currencies are never added, and an unknown cost makes the sum incomplete. */
export interface MoneySum {
  /** One amount for each currency, by its name. */
  sums: Money[];
  /** How many costs are unknown: they are in no sum, and are never taken for zero. */
  unknown: number;
}

/** Adds costs. Exact, whatever their order. */
export class MoneyCounter {
  private readonly millionths = new Map<string, bigint>();
  private unknown = 0;

  constructor(sum?: MoneySum) {
    if (sum) this.addSum(sum);
  }

  /** Undefined is an unknown cost. */
  add(cost: Money | undefined): this {
    if (cost === undefined) this.unknown++;
    else this.addMillionths(BigInt(toMillionths(cost.amount)), cost.currency);
    return this;
  }

  addSum({ sums, unknown }: MoneySum): this {
    for (const { amount, currency } of sums) this.addMillionths(BigInt(toMillionths(amount)), currency);
    this.unknown += unknown;
    return this;
  }

  get sum(): MoneySum {
    const sums = [...this.millionths].map(([currency, millionths]) =>
      fromMillionths(Number(millionths), currency),
    );
    return { sums: sums.sort((a, b) => (a.currency < b.currency ? -1 : 1)), unknown: this.unknown };
  }

  private addMillionths(millionths: bigint, currency: string): void {
    this.millionths.set(currency, (this.millionths.get(currency) ?? 0n) + millionths);
  }
}

export function sumOf(costs: Iterable<Money | undefined>): MoneySum {
  const counter = new MoneyCounter();
  for (const cost of costs) counter.add(cost);
  return counter.sum;
}

/** `1.50 USD + 12 credits + 3 of unknown cost`. */
export function describeSum({ sums, unknown }: MoneySum): string {
  const parts = [...sums.map(describeMoney), ...(unknown > 0 ? [`${unknown} of unknown cost`] : [])];
  return parts.join(' + ') || 'nothing';
}
