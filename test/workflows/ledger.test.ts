import {
  accountsOf,
  addTaken,
  CAP_FIELDS,
  type Cap,
  type CapAccount,
  type CarriedLedger,
  capRefusal,
  describeCount,
  type LedgerEntry,
  limitsOf,
  MOST_ACCOUNTS,
  MOST_OPEN_RESERVATIONS,
  type SendCost,
  takenBy,
} from '../../src/contract/caps';
import {
  type BatchCost,
  chargesOf,
  describeBatchCost,
  describeCost,
  type JobCost,
  readCost,
} from '../../src/contract/job-cost';
import { addSums, describeMoney, LARGEST_AMOUNT, money, readMoney, sumOf } from '../../src/contract/money';
import { jsonBytes } from '../../src/contract/sizes';
import { Ledger } from '../../workflows/ledger';
import { fc } from '../support/properties';

const usd = (amount: number) => ({ amount, currency: 'USD' });
const eur = (amount: number) => ({ amount, currency: 'EUR' });

describe('an amount', () => {
  it('is shown with all its digits, and read back', () => {
    for (const [given, shown] of [
      [usd(1), '1.00 USD'],
      [usd(0.000125), '0.000125 USD'],
      [usd(0), '0.00 USD'],
      [money(12, 'credits'), '12 credits'],
      [usd(LARGEST_AMOUNT), '1000000000.00 USD'],
    ] as const) {
      expect(describeMoney(given)).toBe(shown);
      expect(readMoney(given)).toEqual(given);
    }
  });

  it('is rounded to millionths, but never to zero', () => {
    expect(money(1 / 3, 'USD').amount).toBe(0.333333);
    expect(money(1e-12, 'USD').amount).toBe(0.000001);
  });

  it('is not read from what has no amount or no currency', () => {
    for (const amount of [Number.NaN, Number.POSITIVE_INFINITY, -0.01, 1e300, '0.5', null, {}])
      expect([amount, readMoney({ amount, currency: 'USD' })]).toEqual([amount, undefined]);
    for (const currency of ['', 'US Dollar', '\u001b[31m', 'x'.repeat(17), 7, undefined])
      expect([currency, readMoney({ amount: 1, currency })]).toEqual([currency, undefined]);
  });
});

describe('a sum of costs', () => {
  const currencies = fc.constantFrom('USD', 'EUR', 'credits');
  const anyMoney = fc
    .record({ millionths: fc.integer({ min: 0, max: 2_000_000_000 }), currency: currencies })
    .map(({ millionths, currency }) => money(millionths / 1_000_000, currency));
  const costs = fc.array(fc.option(anyMoney, { nil: undefined }));

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

describe('the cost of a job', () => {
  const estimated = usd(0.4);
  const charged = usd(0.5);

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

  it.each<[BatchCost, string]>([
    [{}, 'unknown'],
    [{ estimated: sumOf([usd(2)]) }, 'estimated 2.00 USD'],
    [{ spent: sumOf([usd(1.2)]) }, '1.20 USD'],
    [{ estimated: sumOf([usd(2)]), spent: sumOf([usd(1.2)]) }, '1.20 USD (estimated 2.00 USD)'],
  ])('of a batch, %j, is described as %s', (cost, described) => {
    expect(describeBatchCost(cost)).toBe(described);
  });

  it.each<[cost: JobCost | undefined, hasTask: boolean, charges: (object | undefined)[]]>([
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

it('what is taken adds up without an error in the last digit, whatever the currency is called', () => {
  const tenth = takenBy({ seconds: 0.1, estimated: { amount: 0.1, currency: 'constructor' } });
  const thrice = addTaken(addTaken({}, tenth, 2), tenth);
  expect(thrice).toEqual({ videos: 3, seconds: 0.3, constructor: 0.3 });
  expect(addTaken(thrice, thrice, -1)).toEqual({ videos: 0, seconds: 0, constructor: 0 });
  expect(takenBy({ seconds: 0.1 + 0.2 }).seconds).toBe(0.3);
  expect(takenBy({})).toEqual({ videos: 1 });
});

describe('a video under a cap', () => {
  const taken = { videos: 2, seconds: 12, USD: 1 };
  const video = takenBy({ seconds: 5, estimated: usd(0.5) });
  const refusedBy = (cap: Cap, one = video) =>
    capRefusal({ scope: 'day', limits: limitsOf(cap) }, taken, one);

  it('is allowed up to the last of each limit, and nulls are no limits', () => {
    // As SDKs of other languages send an unset field.
    const nulls: Record<string, unknown> = { videos: null, seconds: null, money: null };
    for (const cap of [{}, { money: eur(0.5) }, { videos: 3, seconds: 17, money: usd(1.5) }, nulls])
      expect(refusedBy(cap)).toBeUndefined();
  });

  it.each<[Cap, string, number]>([
    [{ videos: 2 }, 'day.videos', 0],
    [{ seconds: 16.999 }, 'day.seconds', 4.999],
    [{ videos: 9, seconds: 16, money: usd(1) }, 'day.seconds', 4],
  ])('is not allowed by %j', (given, cap, capLeft) => {
    expect(refusedBy(given)).toMatchObject({ cap, capLeft });
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

const NOON = Date.parse('2026-11-17T12:00:00Z');
const HOUR = 3_600_000;
const TOMORROW = NOON + 24 * HOUR;
const RESETS = '2026-11-18T00:00:00.000Z';

const day = (cap: Cap): CapAccount => ({ scope: 'day', limits: limitsOf(cap) });
const batch = (cap: Cap, name = 'foxes'): CapAccount => ({ scope: 'batch', name, limits: limitsOf(cap) });
type Reserved = Parameters<typeof takenBy>[0] & { accounts?: CapAccount[] };
const reserve = (id: string, { accounts = [day({ videos: 3 })], ...video }: Reserved = {}): LedgerEntry => ({
  id,
  accounts,
  takes: takenBy(video),
});
const settle = (id: string, cost: SendCost = 'estimate'): LedgerEntry => ({ id, cost });

const write = (ledger: Ledger, nowMs: number, ...entries: LedgerEntry[]) => ledger.write(entries, nowMs);
const countOf = (ledger: Ledger, scope = 'day') => ledger.report().counts.find((one) => one.scope === scope);
const videosIn = (ledger: Ledger, scope = 'day') => {
  const count = countOf(ledger, scope);
  return count && [count.used.videos, count.reserved.videos];
};

let ledger: Ledger;
beforeEach(() => {
  ledger = new Ledger(NOON);
});

describe('a ledger', () => {
  it('allows as many videos as the cap, and says what is left and when it resets', () => {
    const answers = write(ledger, NOON, ...['a', 'b', 'c', 'd'].map((id) => reserve(id)));
    expect(answers).toEqual([
      { ok: true },
      { ok: true },
      { ok: true },
      { refused: expect.objectContaining({ cap: 'day.videos', capLeft: 0, capResetsAt: RESETS }) },
    ]);
  });

  it('counts a send from its reservation on, until somebody says that it cost nothing', () => {
    write(ledger, NOON, reserve('a'), reserve('b'), reserve('c'));
    expect(videosIn(ledger)).toEqual([0, 3]);
    write(ledger, NOON, settle('a'), settle('b', 'nothing'));
    expect(videosIn(ledger)).toEqual([1, 1]);
  });

  it('counts once what a worker writes twice', () => {
    write(ledger, NOON, reserve('a'), reserve('a'), reserve('b'));
    expect(videosIn(ledger)).toEqual([0, 2]);
    write(ledger, NOON, settle('a', 'nothing'), settle('a', 'nothing'));
    expect(videosIn(ledger)).toEqual([0, 1]);
  });

  it.each<[string, SendCost, object]>([
    ['less than was estimated', usd(0.2), { videos: 1, seconds: 5, USD: 0.2 }],
    ['more than was estimated', usd(0.9), { videos: 1, seconds: 5, USD: 0.9 }],
    [
      'in a currency that says nothing about the estimate',
      { amount: 3, currency: 'credits' },
      { videos: 1, seconds: 5, USD: 0.5 },
    ],
    ['nothing, in any currency', { amount: 0, currency: 'credits' }, { videos: 1, seconds: 5 }],
  ])('counts what the service charged: %s', (_what, cost, used) => {
    write(ledger, NOON, reserve('a', { seconds: 5, estimated: usd(0.5) }), settle('a', cost));
    expect(countOf(ledger)?.used).toEqual(used);
    expect(countOf(ledger)?.reserved).toMatchObject({ videos: 0, seconds: 0, USD: 0 });
  });

  it('counts what was charged too much beyond a cap, and then allows only what costs nothing', () => {
    const accounts = [day({ money: usd(1) })];
    write(ledger, NOON, reserve('a', { accounts, estimated: usd(0.5) }), settle('a', usd(2)));
    const [free, paid] = [0, 0.1].map((amount) => reserve(`${amount}`, { accounts, estimated: usd(amount) }));
    expect(write(ledger, NOON, ...[free, paid].flatMap((one) => one ?? []))).toMatchObject([
      { ok: true },
      { refused: { capLeft: 0 } },
    ]);
  });

  it('allows nothing that is no number', () => {
    const accounts = [day({ seconds: 10 })];
    expect(write(ledger, NOON, reserve('a', { accounts, seconds: Number.NaN }))).toMatchObject([
      { refused: { cap: 'day.seconds' } },
    ]);
  });

  it('takes all of its accounts or none', () => {
    const accounts = [batch({ videos: 5 }), day({ videos: 0 })];
    expect(write(ledger, NOON, reserve('a', { accounts }))).toMatchObject([
      { refused: { cap: 'day.videos' } },
    ]);
    expect(ledger.report().counts).toEqual([]);
  });

  it('begins anew at midnight UTC, and keeps and settles what it counted in a batch', () => {
    const accounts = [batch({ videos: 3 }), day({ videos: 2 })];
    write(ledger, NOON, reserve('a', { accounts }), reserve('b', { accounts }));
    write(ledger, TOMORROW, settle('a', 'nothing'), reserve('c', { accounts }));
    expect(videosIn(ledger)).toEqual([0, 1]);
    expect(videosIn(ledger, 'batch')).toEqual([0, 2]);
    const next = new Ledger(TOMORROW, JSON.parse(JSON.stringify(ledger.carry())));
    write(next, TOMORROW, settle('b'), settle('c'));
    expect([videosIn(next), videosIn(next, 'batch')]).toEqual([
      [1, 0],
      [2, 0],
    ]);
  });

  it('begins no day again when the clock goes back', () => {
    write(ledger, TOMORROW, reserve('a'));
    write(ledger, NOON, reserve('b'));
    write(ledger, TOMORROW, reserve('c'));
    expect(videosIn(ledger)).toEqual([0, 3]);
  });

  it('forgets a batch that was not touched for a month', () => {
    write(ledger, NOON, reserve('a', { accounts: [batch({ videos: 9 })] }));
    write(ledger, NOON + 29 * 24 * HOUR, reserve('b'));
    expect(videosIn(ledger, 'batch')).toEqual([0, 1]);
    write(ledger, NOON + 32 * 24 * HOUR, reserve('c'));
    expect(videosIn(ledger, 'batch')).toBeUndefined();
  });

  it('knows the same after it has continued as new', () => {
    const accounts = [batch({ videos: 9, money: usd(5) }), day({ videos: 3 })];
    const more = { accounts, seconds: 5, estimated: usd(0.5) };
    write(ledger, NOON, reserve('a', more), reserve('b', more), settle('a'));
    const carried: CarriedLedger = JSON.parse(JSON.stringify(ledger.carry()));
    const next = new Ledger(NOON, carried);
    expect(next.report()).toEqual(JSON.parse(JSON.stringify(ledger.report())));
    write(next, NOON, settle('b', 'nothing'));
    expect(videosIn(next)).toEqual([1, 0]);
  });

  it('fits into a message of Temporal when it is full, with room for a codec, and refuses further batches', () => {
    const cap = { videos: 1_000_000_000, seconds: 999_999_999.5, money: usd(999_999_999.123456) };
    const more = { seconds: 9.999, estimated: usd(123.456789) };
    const id = (index: number) => `${index}`.padStart(36, '0');
    const accounts = (index: number) => {
      const name = `${'"ü'.repeat(60)}-${index % (MOST_ACCOUNTS - 2)}`;
      // The limits of the worker beside those of the batch.
      const caps = { batch: cap, key: cap, day: cap };
      return accountsOf(caps, { sharedCap: { name, cap }, caller: 'k'.repeat(63) });
    };
    const sends = MOST_OPEN_RESERVATIONS + 10;
    for (let index = 0; index < sends; index++)
      write(ledger, NOON, reserve(id(index), { ...more, accounts: accounts(index) }));
    expect((jsonBytes(ledger.carry()) * 4) / 3).toBeLessThan(2 * 1024 * 1024);
    expect(ledger.carry().open).toHaveLength(MOST_OPEN_RESERVATIONS);
    // Those that are forgotten stay counted.
    expect(videosIn(ledger)).toEqual([10, MOST_OPEN_RESERVATIONS]);
    const one = { ...more, accounts: [batch(cap, 'one more')] };
    expect(write(ledger, NOON, reserve('x', one))).toEqual([
      { refused: { message: expect.stringContaining('the ledger of the caps is full') } },
    ]);
  });
});
