import {
  accountsOf,
  type Cap,
  type CapAccount,
  type CarriedLedger,
  type LedgerEntry,
  limitsOf,
  MOST_ACCOUNTS,
  MOST_OPEN_RESERVATIONS,
  type SendCost,
  takenBy,
} from '../../src/contract/caps';
import { jsonBytes } from '../../src/contract/sizes';
import { Ledger } from '../../workflows/ledger';

const NOON = Date.parse('2026-11-17T12:00:00Z');
const HOUR = 3_600_000;
const TOMORROW = NOON + 24 * HOUR;
const RESETS = '2026-11-18T00:00:00.000Z';
const usd = (amount: number) => ({ amount, currency: 'USD' });

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
    ['nothing, for a video that was made', usd(0), { videos: 1, seconds: 5 }],
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

  it('adds seconds and money without errors of rounding', () => {
    const accounts = [day({ seconds: 0.3, money: usd(0.3) })];
    const tenth = (id: string) => reserve(id, { accounts, seconds: 0.1, estimated: usd(0.1) });
    expect(write(ledger, NOON, tenth('a'), tenth('b'), tenth('c'))).toEqual(
      Array.from({ length: 3 }, () => ({ ok: true })),
    );
  });

  it('begins anew at midnight UTC, and keeps the counts of batches', () => {
    const accounts = [batch({ videos: 3 }), day({ videos: 3 })];
    write(ledger, NOON, ...['a', 'b', 'c'].map((id) => reserve(id, { accounts })));
    expect(write(ledger, TOMORROW, reserve('d', { accounts: [day({ videos: 3 })] }))).toEqual([{ ok: true }]);
    expect(videosIn(ledger)).toEqual([0, 1]);
    expect(videosIn(ledger, 'batch')).toEqual([0, 3]);
  });

  it('settles on the next day what it counted in a batch', () => {
    const accounts = [batch({ videos: 3 }), day({ videos: 3 })];
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
