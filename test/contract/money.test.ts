import {
  chargesOf,
  describeBatchCost,
  describeCost,
  type JobCost,
  mergeCosts,
  readCost,
} from '../../src/contract/job-cost';
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

describe('a sum of costs', () => {
  const currency = fc.constantFrom('USD', 'EUR', 'credits');
  const anyMoney = fc.record({ millionths: fc.integer({ min: 0, max: 2_000_000_000 }), currency });
  const costs = fc.array(
    fc.option(
      anyMoney.map((given) => money(given.millionths / 1_000_000, given.currency)),
      { nil: undefined },
    ),
  );

  it('is exact to the millionth in each currency, and counts an unknown cost apart', () => {
    fc.assert(
      fc.property(costs, (given) => {
        const expected = new Map<string, number>();
        for (const { amount, currency: unit } of given.filter((cost) => cost !== undefined))
          expected.set(unit, (expected.get(unit) ?? 0) + Math.round(amount * 1_000_000));
        const { sums, unknown } = sumOf(given);
        expect(new Map(sums.map((sum) => [sum.currency, Math.round(sum.amount * 1_000_000)]))).toEqual(
          expected,
        );
        expect(unknown).toBe(given.filter((cost) => cost === undefined).length);
      }),
    );
    expect(sumOf([money(0.1, 'USD'), money(0.2, 'USD')]).sums).toEqual([{ amount: 0.3, currency: 'USD' }]);
  });

  it('does not depend on the order or on how it was divided', () => {
    fc.assert(
      fc.property(costs, costs, (some, others) => {
        expect(addSums(sumOf(others), sumOf(some))).toEqual(sumOf([...some, ...others]));
        expect(sumOf([...some].reverse())).toEqual(sumOf(some));
      }),
    );
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
    [money(0.000125, 'USD'), '0.000125 USD'],
    [money(1234.5678, 'EUR'), '1234.5678 EUR'],
    [money(0, 'USD'), '0.00 USD'],
    [money(12, 'credits'), '12 credits'],
    [money(2.5, 'credits'), '2.5 credits'],
    [money(12, 'USDC'), '12 USDC'],
    [money(12, 'xUSD'), '12 xUSD'],
    [money(LARGEST_AMOUNT, 'USD'), '1000000000.00 USD'],
  ])('%j is shown as %s, and read back', (given, shown) => {
    expect(describeMoney(given)).toBe(shown);
    expect(readMoney(given)).toEqual(given);
  });

  it('is rounded to millionths, but never to zero', () => {
    expect(money(1 / 3, 'USD').amount).toBe(0.333333);
    expect(money(1e-12, 'USD').amount).toBe(0.000001);
  });

  it.each<unknown>([
    ...[Number.NaN, Number.POSITIVE_INFINITY, -0.01, 1e300, '0.5', null, {}].map((amount) => ({
      amount,
      currency: 'USD',
    })),
    ...['', 'US Dollar', '\u001b[31m', 'x'.repeat(17), 7, undefined].map((unit) => ({
      amount: 1,
      currency: unit,
    })),
  ])('is not %j', (given) => {
    expect(readMoney(given)).toBeUndefined();
  });
});

describe('the cost of a job', () => {
  const estimated = money(0.4, 'USD');
  const charged = money(0.5, 'USD');

  it.each<[JobCost, string]>([
    [{ estimated }, '0.40 USD estimated'],
    [{ charged }, '0.50 USD charged'],
    [{ estimated, charged }, '0.50 USD charged (estimated 0.40 USD)'],
    [{ unknown: 'the request has no duration' }, 'unknown: the request has no duration'],
    [{}, 'unknown'],
    [
      { estimated, charged, lostSubmits: 1 },
      '0.50 USD charged (estimated 0.40 USD), and a lost submit may have cost 0.40 USD more',
    ],
    [{ estimated, lostSubmits: 2 }, '0.40 USD estimated, and 2 lost submits may have cost 0.80 USD more'],
    [{ lostSubmits: 1 }, 'unknown, and a lost submit may have cost more'],
  ])('%j is described as %s', (cost, described) => {
    expect(describeCost(cost)).toBe(described);
  });

  it.each<[cost: JobCost | undefined, hasTask: boolean, charges: (Money | undefined)[]]>([
    [{ estimated, charged }, true, [charged]],
    [{ unknown: 'why' }, true, [undefined]],
    [undefined, true, [undefined]],
    // Each lost submit may have cost the estimate, whatever the task was charged.
    [{ estimated, charged, lostSubmits: 2 }, true, [charged, estimated, estimated]],
    [{ charged, lostSubmits: 1 }, true, [charged, undefined]],
    // Without a task, each of its lost submits may have been paid for, and there is one at least.
    [{ estimated, lostSubmits: 2 }, false, [estimated, estimated]],
    [{ estimated }, false, [estimated]],
    [undefined, false, [undefined]],
  ])('%j, with a task: %j, may have paid for %j', (cost, hasTask, charges) => {
    expect(chargesOf(cost, hasTask)).toEqual(charges);
  });

  it.each<[JobCost | undefined, JobCost | undefined, JobCost | undefined]>([
    [{ estimated, service: 'Ark' }, { charged }, { estimated, charged, service: 'Ark' }],
    [{ unknown: 'why' }, { estimated }, { estimated }],
    [{ unknown: 'why' }, { charged }, { unknown: 'why', charged }],
    [{ unknown: 'why' }, undefined, { unknown: 'why' }],
    [undefined, { unknown: 'why' }, { unknown: 'why' }],
    [{ charged }, {}, { charged }],
    [undefined, undefined, undefined],
  ])('is one of two reports: %j and then %j is %j', (earlier, later, merged) => {
    expect(mergeCosts(earlier, later)).toStrictEqual(merged);
  });

  it('of a batch says what was spent, and of how much', () => {
    const spent = { sums: [estimated], unknown: 1 };
    const estimate = { sums: [charged], unknown: 0 };
    expect(describeBatchCost({ spent, estimated: estimate })).toBe(
      '0.40 USD + 1 of unknown cost (estimated 0.50 USD)',
    );
    expect(describeBatchCost({ estimated: estimate })).toBe('estimated 0.50 USD');
    expect(describeBatchCost({})).toBe('unknown');
  });

  it('is read back as it was written, and what is no cost is left out', () => {
    for (const cost of [
      { estimated, charged },
      { charged, unknown: 'why', service: 'Ark' },
      { lostSubmits: 2 },
    ])
      expect(readCost(JSON.parse(JSON.stringify(cost)))).toStrictEqual(cost);
    expect(readCost({ estimated, unknown: 'why' })).toEqual({ estimated });
    expect(readCost({ estimated: { amount: 'many', currency: 'USD' }, charged })).toEqual({ charged });
    const shown = readCost({ unknown: `why\u001b[31m${'y'.repeat(10_000)}` })?.unknown;
    expect(shown?.length).toBeLessThan(210);
    expect(shown).not.toContain('\u001b');
    for (const nothing of [undefined, null, 7, 'free', [], {}, { charged: -1 }, { lostSubmits: 1e9 }])
      expect(readCost(nothing)).toBeUndefined();
  });
});
