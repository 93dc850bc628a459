import {
  addSums,
  describeMoney,
  describeSum,
  LARGEST_AMOUNT,
  type Money,
  money,
  readMoney,
  sumOf,
} from '../../src/contract/money';
import { fc } from '../support/properties';

const currency = fc.constantFrom('USD', 'EUR', 'credits');
const anyMoney = fc.record({ millionths: fc.integer({ min: 0, max: 2_000_000_000 }), currency });
const moneyOf = ({ millionths, currency }: { millionths: number; currency: string }): Money =>
  money(millionths / 1_000_000, currency);
const costs = fc.array(fc.option(anyMoney.map(moneyOf), { nil: undefined }));

describe('a sum of costs', () => {
  it('is exact to the millionth in each currency', () => {
    fc.assert(
      fc.property(fc.array(anyMoney), (amounts) => {
        const expected = new Map<string, number>();
        for (const { millionths, currency } of amounts)
          expected.set(currency, (expected.get(currency) ?? 0) + millionths);
        for (const { amount, currency } of sumOf(amounts.map(moneyOf)).sums)
          expect(Math.round(amount * 1_000_000)).toBe(expected.get(currency));
      }),
    );
    expect(sumOf([money(0.1, 'USD'), money(0.2, 'USD')]).sums).toEqual([{ amount: 0.3, currency: 'USD' }]);
  });

  it('does not depend on the order or on how it was divided', () => {
    fc.assert(
      fc.property(costs, costs, (some, others) => {
        const inParts = addSums(sumOf(others), sumOf(some));
        expect(inParts).toEqual(sumOf([...some, ...others]));
        expect(sumOf([...some].reverse())).toEqual(sumOf(some));
      }),
    );
  });

  it('counts an unknown cost apart, and not as zero', () => {
    fc.assert(
      fc.property(costs, (known) => {
        const sum = sumOf([...known, undefined]);
        expect(sum.unknown).toBe(known.filter((cost) => cost === undefined).length + 1);
        expect(sum.sums).toEqual(sumOf(known).sums);
      }),
    );
  });

  it('never mixes currencies', () => {
    const sum = sumOf([money(1, 'USD'), money(2, 'EUR'), money(0.5, 'USD')]);
    expect(sum.sums).toEqual([money(2, 'EUR'), money(1.5, 'USD')]);
  });

  it('continues from an earlier sum', () => {
    const earlier = { sums: [money(1, 'USD')], unknown: 2 };
    const sum = addSums(earlier, sumOf([money(0.5, 'USD')]), { sums: [], unknown: 1 });
    expect(sum).toEqual({ sums: [money(1.5, 'USD')], unknown: 3 });
  });

  it('is described with everything in it', () => {
    expect(describeSum(sumOf([money(1.5, 'USD'), money(12, 'credits'), undefined]))).toBe(
      '1.50 USD + 12 credits + 1 of unknown cost',
    );
    expect(describeSum(sumOf([]))).toBe('nothing');
  });
});

describe('an amount', () => {
  it.each<[Money, string]>([
    [money(1, 'USD'), '1.00 USD'],
    [money(0.5, 'EUR'), '0.50 EUR'],
    [money(0.000125, 'USD'), '0.000125 USD'],
    [money(1234.5678, 'USD'), '1234.5678 USD'],
    [money(0, 'USD'), '0.00 USD'],
    [money(12, 'credits'), '12 credits'],
    [money(2.5, 'credits'), '2.5 credits'],
    [money(12, 'USDC'), '12 USDC'],
    [money(12, 'xUSD'), '12 xUSD'],
    [money(LARGEST_AMOUNT, 'USD'), '1000000000.00 USD'],
  ])('%j is shown as %s', (given, shown) => {
    expect(describeMoney(given)).toBe(shown);
  });

  it('may be as large as the largest', () => {
    expect(readMoney(money(LARGEST_AMOUNT, 'USD'))).toEqual(money(LARGEST_AMOUNT, 'USD'));
  });

  it('is rounded to millionths, but never to zero', () => {
    expect(money(1 / 3, 'USD').amount).toBe(0.333333);
    expect(money(1e-12, 'USD').amount).toBe(0.000001);
  });

  it.each<[unknown]>([[Number.NaN], [Number.POSITIVE_INFINITY], [-0.01], [1e300], ['0.5'], [null], [{}]])(
    'is no money: %p',
    (amount) => {
      expect(readMoney({ amount, currency: 'USD' })).toBeUndefined();
    },
  );

  it.each<[unknown]>([[''], ['US Dollar'], ['\u001b[31m'], ['x'.repeat(17)], [7], [undefined]])(
    'has no such currency: %p',
    (currency) => {
      expect(readMoney({ amount: 1, currency })).toBeUndefined();
    },
  );
});
