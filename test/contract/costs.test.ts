import {
  accountsOf,
  addTaken,
  CAP_FIELDS,
  type Cap,
  capRefusal,
  describeCount,
  limitsOf,
  type Taken,
  takenBy,
} from '../../src/contract/caps';
import { chargesOf, describeCost, type JobCost, readCost } from '../../src/contract/job-cost';
import {
  addSums,
  describeMoney,
  LARGEST_AMOUNT,
  type Money,
  money,
  readMoney,
  sumOf,
} from '../../src/contract/money';
import { jsonBytes } from '../../src/contract/sizes';
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
});

describe('an amount', () => {
  it.each<[Money, string]>([
    [money(1, 'USD'), '1.00 USD'],
    [money(0.000125, 'USD'), '0.000125 USD'],
    [money(0, 'USD'), '0.00 USD'],
    [money(12, 'credits'), '12 credits'],
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
    [{ unknown: 'the request has no duration' }, 'unknown: the request has no duration'],
    [{}, 'unknown'],
    [
      { estimated, charged, lostSubmits: 1 },
      '0.50 USD charged (estimated 0.40 USD), and a lost submit may have cost 0.40 USD more',
    ],
    [{ lostSubmits: 1 }, 'unknown, and a lost submit may have cost more'],
  ])('%j is described as %s', (cost, described) => {
    expect(describeCost(cost)).toBe(described);
  });

  it.each<[cost: JobCost | undefined, hasTask: boolean, charges: (Money | undefined)[]]>([
    [{ estimated, charged }, true, [charged]],
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

const usd = (amount: number) => ({ amount, currency: 'USD' });
const eur = (amount: number) => ({ amount, currency: 'EUR' });
/** As SDKs of other languages send an unset field. */
const NULLS: Record<string, unknown> = { videos: null, seconds: null, money: null };

it.each<[field: keyof typeof CAP_FIELDS, fine: unknown[], wrong: unknown[]]>([
  ['videos', [0, 1, 1_000_000_000], [-1, 0.5, 1_000_000_001, '3', Number.NaN, null, undefined]],
  [
    'seconds',
    [0, 0.5, 1_000_000_000],
    [-0.5, 1_000_000_000.5, '5', Number.NaN, Number.POSITIVE_INFINITY, null],
  ],
  ['money', [usd(2.5)], [{ amount: 2.5 }]],
])('a limit of %s is one of %j, and none of %j', (field, fine, wrong) => {
  expect(fine.filter((value) => !CAP_FIELDS[field].accepts(value))).toEqual([]);
  expect(wrong.filter((value) => CAP_FIELDS[field].accepts(value))).toEqual([]);
});

describe('what is taken', () => {
  it('grows by each video, its seconds and its cost, as far as they are known', () => {
    const one = takenBy({ seconds: 5, estimated: usd(0.25) });
    expect(one).toEqual({ videos: 1, seconds: 5, USD: 0.25 });
    expect(addTaken(one, takenBy({ seconds: 2.5, estimated: usd(0.5) }), 2)).toEqual({
      videos: 3,
      seconds: 10,
      USD: 1.25,
    });
    expect(addTaken(one, takenBy({ estimated: eur(1) }))).toMatchObject({ USD: 0.25, EUR: 1 });
    expect(addTaken(one, one, -1)).toEqual({ videos: 0, seconds: 0, USD: 0 });
    expect(addTaken({}, takenBy({}))).toEqual({ videos: 1 });
  });

  it('adds without an error in the last digit, whatever the currency is called', () => {
    const tenth = takenBy({ seconds: 0.1, estimated: { amount: 0.1, currency: 'constructor' } });
    const thrice = addTaken(addTaken(addTaken({}, tenth), tenth), tenth);
    expect(thrice).toEqual({ videos: 3, seconds: 0.3, constructor: 0.3 });
    expect(takenBy({ seconds: 0.1 + 0.2 }).seconds).toBe(0.3);
  });
});

describe('a video', () => {
  const taken: Taken = { videos: 2, seconds: 12, USD: 1 };
  const video = takenBy({ seconds: 5, estimated: usd(0.5) });
  const refusedBy = (cap: Cap, one = video) =>
    capRefusal({ scope: 'day', limits: limitsOf(cap) }, taken, one);

  it.each<[Cap]>([[{}], [{ money: eur(0.5) }], [{ videos: 3, seconds: 17, money: usd(1.5) }], [NULLS]])(
    'is allowed by %j, up to the last of it',
    (cap) => {
      expect(refusedBy(cap)).toBeUndefined();
    },
  );

  it.each<[Cap, string, number]>([
    [{ videos: 2 }, 'day.videos', 0],
    [{ seconds: 16.999 }, 'day.seconds', 4.999],
    [{ videos: 9, seconds: 16, money: usd(1) }, 'day.seconds', 4],
  ])('is not allowed by %j', (given, cap, capLeft) => {
    expect(refusedBy(given)).toMatchObject({ cap, capLeft });
  });

  it('that costs nothing is allowed by a cap that is reached, and one that takes something is not', () => {
    const cap = { money: usd(1) };
    expect(refusedBy(cap, takenBy({ estimated: usd(0) }))).toBeUndefined();
    expect(refusedBy(cap, takenBy({ estimated: usd(0.000001) }))).toMatchObject({ capLeft: 0 });
  });
});

it('what is left of a limit is without what is used and reserved, and never less than nothing', () => {
  const used = { videos: 1, seconds: 5, USD: 0.3 };
  const reserved = { videos: 2, seconds: 2.5, USD: 0.2 };
  const limits = limitsOf({ videos: 2, seconds: 20.5, money: usd(2) });
  expect(describeCount({ scope: 'day', limits, used, reserved })).toEqual([
    'the daily cap of 2 videos: 0 videos left, 1 video used, 2 videos reserved',
    'the daily cap of 20.5 seconds: 13 seconds left, 5 seconds used, 2.5 seconds reserved',
    'the daily cap of 2.00 USD: 1.50 USD left, 0.30 USD used, 0.20 USD reserved',
  ]);
});

describe('a job is counted under the limits', () => {
  it('of a batch under its name if that is short, and else under one that no other batch has', () => {
    const nameOf = (name: string) => accountsOf({}, { sharedCap: { name, cap: { videos: 1 } } })[0]?.name;
    for (const name of ['red foxes', 'Füchse/2', '狐'.repeat(32), 'x'.repeat(98)])
      expect(nameOf(name)).toBe(name);
    const long = ['a', 'b'].flatMap((end) => ['x', '狐', '"', '\u0001'].map((one) => one.repeat(299) + end));
    expect(new Set(long.map(nameOf)).size).toBe(long.length);
    for (const name of long) expect(jsonBytes(nameOf(name))).toBeLessThanOrEqual(202);
  });
});
