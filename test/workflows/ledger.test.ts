import { type Cap, limitsOf } from '../../src/contract/caps';
import {
  accountName,
  type CarriedLedger,
  type LedgerAccount,
  type LedgerEntry,
  MOST_ACCOUNTS,
  MOST_CURRENCIES,
  MOST_OPEN_RESERVATIONS,
} from '../../src/contract/ledger';
import { jsonBytes } from '../../src/contract/sizes';
import { Ledger } from '../../workflows/ledger';

const NOON = Date.parse('2026-11-17T12:00:00Z');
const HOUR = 3_600_000;
const TOMORROW = NOON + 24 * HOUR;
const RESETS = '2026-11-18T00:00:00.000Z';
const usd = (amount: number) => ({ amount, currency: 'USD' });

const day = (cap: Cap): LedgerAccount => ({ scope: 'day', limits: limitsOf(cap) });
const batch = (cap: Cap, name = 'foxes'): LedgerAccount => ({ scope: 'batch', name, limits: limitsOf(cap) });
const entry = (kind: LedgerEntry['kind'], id: string, more: Partial<LedgerEntry> = {}): LedgerEntry => ({
  kind,
  id,
  holder: 'first',
  accounts: [day({ videos: 3 })],
  ...more,
});

const write = (ledger: Ledger, nowMs: number, ...entries: LedgerEntry[]) => ledger.write(entries, nowMs);
const videosIn = (ledger: Ledger, scope = 'day') => {
  const count = ledger.report().counts.find((one) => one.scope === scope);
  return count && [count.used.videos, count.reserved.videos];
};

let ledger: Ledger;
beforeEach(() => {
  ledger = new Ledger(NOON);
});

describe('a ledger', () => {
  it('allows as many videos as the cap, and says what is left and when it resets', () => {
    const answers = write(ledger, NOON, ...['a', 'b', 'c', 'd'].map((id) => entry('reserve', id)));
    expect(answers).toEqual([
      { ok: true },
      { ok: true },
      { ok: true },
      { reached: { scope: 'day', unit: 'videos', limit: 3, left: 0, takes: 1, resetsAt: RESETS } },
    ]);
  });

  it('counts a retry once, and a reservation that was released not at all', () => {
    write(ledger, NOON, entry('reserve', 'a'), entry('reserve', 'a', { holder: 'second', isRetry: true }));
    expect(videosIn(ledger)).toEqual([0, 1]);
    write(ledger, NOON, entry('release', 'a', { holder: 'second' }));
    expect(videosIn(ledger)).toEqual([0, 0]);
  });

  it('does not let an attempt that was given up release the reservation of the next', () => {
    write(ledger, NOON, entry('reserve', 'a'), entry('reserve', 'a', { holder: 'second', isRetry: true }));
    write(ledger, NOON, entry('release', 'a', { holder: 'first' }));
    expect(videosIn(ledger)).toEqual([0, 1]);
  });

  it('counts a new job beside the lost submit of an earlier one with the same name and request', () => {
    write(ledger, NOON, entry('reserve', 'a'), entry('reserve', 'a', { holder: 'second' }));
    expect(videosIn(ledger)).toEqual([1, 1]);
    write(ledger, NOON, entry('release', 'a', { holder: 'second' }));
    expect(videosIn(ledger)).toEqual([1, 0]);
  });

  it('counts a reservation once that a worker writes twice', () => {
    write(ledger, NOON, entry('reserve', 'a'), entry('reserve', 'a'));
    expect(videosIn(ledger)).toEqual([0, 1]);
  });

  it('counts both when an attempt that was given up has paid after all', () => {
    write(ledger, NOON, entry('reserve', 'a'), entry('reserve', 'a', { holder: 'second', isRetry: true }));
    write(
      ledger,
      NOON,
      entry('settle', 'a', { holder: 'first' }),
      entry('settle', 'a', { holder: 'second' }),
    );
    expect(videosIn(ledger)).toEqual([2, 0]);
  });

  it('takes all of its accounts or none', () => {
    const accounts = [batch({ videos: 5 }), day({ videos: 0 })];
    expect(write(ledger, NOON, entry('reserve', 'a', { accounts }))).toMatchObject([
      { reached: { scope: 'day' } },
    ]);
    expect(ledger.report().counts).toEqual([]);
  });

  it('adds seconds and money without errors of rounding', () => {
    const accounts = [day({ seconds: 0.3, money: usd(0.3) })];
    const reserve = (id: string) => entry('reserve', id, { accounts, seconds: 0.1, cost: usd(0.1) });
    expect(write(ledger, NOON, reserve('a'), reserve('b'), reserve('c'))).toEqual(
      Array.from({ length: 3 }, () => ({ ok: true })),
    );
  });

  it('counts a few currencies, and goes on with those when it has no room for another', () => {
    const reserve = (id: string, cost?: LedgerEntry['cost']) =>
      write(ledger, NOON, entry('reserve', id, { cost, accounts: [day({})] }));
    for (let index = 0; index < MOST_CURRENCIES; index++) {
      expect(reserve(`${index}`, { amount: 1, currency: `C${index}` })).toEqual([{ ok: true }]);
    }
    expect(reserve('known', { amount: 1, currency: 'C0' })).toEqual([{ ok: true }]);
    expect(reserve('without a price')).toEqual([{ ok: true }]);
    expect(reserve('new', usd(1))).toEqual([{ full: `it counts ${MOST_CURRENCIES} currencies already` }]);
  });

  it('begins anew at midnight UTC, and keeps the counts of batches', () => {
    const accounts = [batch({ videos: 3 }), day({ videos: 3 })];
    write(ledger, NOON, ...['a', 'b', 'c'].map((id) => entry('reserve', id, { accounts })));
    expect(write(ledger, TOMORROW, entry('reserve', 'd', { accounts: [day({ videos: 3 })] }))).toEqual([
      { ok: true },
    ]);
    expect(videosIn(ledger)).toEqual([0, 1]);
    expect(videosIn(ledger, 'batch')).toEqual([0, 3]);
  });

  it('counts the retry of a submit on the day of the retry, and in its batch once', () => {
    const accounts = [batch({ videos: 1 }), day({ videos: 1 })];
    write(ledger, NOON, entry('reserve', 'a', { accounts }));
    expect(
      write(ledger, TOMORROW, entry('reserve', 'a', { accounts, holder: 'second', isRetry: true })),
    ).toEqual([{ ok: true }]);
    expect(videosIn(ledger)).toEqual([0, 1]);
    expect(videosIn(ledger, 'batch')).toEqual([0, 1]);
  });

  it('begins no day again when the clock goes back', () => {
    write(ledger, TOMORROW, entry('reserve', 'a'));
    write(ledger, NOON, entry('reserve', 'b'));
    write(ledger, TOMORROW, entry('reserve', 'c'));
    expect(videosIn(ledger)).toEqual([0, 3]);
  });

  it('forgets a batch that was not touched for a month', () => {
    write(ledger, NOON, entry('reserve', 'a', { accounts: [batch({ videos: 9 })] }));
    write(ledger, NOON + 29 * 24 * HOUR, entry('reserve', 'b'));
    expect(videosIn(ledger, 'batch')).toEqual([0, 1]);
    write(ledger, NOON + 32 * 24 * HOUR, entry('reserve', 'c'));
    expect(videosIn(ledger, 'batch')).toBeUndefined();
  });

  it('knows the same after it has continued as new', () => {
    const accounts = [batch({ videos: 9, money: usd(5) }), day({ videos: 3 })];
    const more = { accounts, seconds: 5, cost: usd(0.5) };
    write(ledger, NOON, entry('reserve', 'a', more), entry('reserve', 'b', more), entry('settle', 'a', more));
    const carried: CarriedLedger = JSON.parse(JSON.stringify(ledger.carry()));
    const next = new Ledger(NOON, carried);
    expect(next.report()).toEqual(JSON.parse(JSON.stringify(ledger.report())));
    write(next, NOON, entry('release', 'b', more));
    expect(videosIn(next)).toEqual([1, 0]);
  });

  it('fits into a message of Temporal when it is full, with room for a codec, and refuses further batches', () => {
    const name = (index: number) => accountName(`${'"ü'.repeat(60)}-${index}`);
    const cap = { videos: 1_000_000_000, seconds: 999_999_999.5, money: usd(999_999_999.123456) };
    const more = { holder: '0'.repeat(36), seconds: 9.999, cost: usd(123.456789) };
    const id = (index: number) => `${index}`.padStart(69, '0');
    const accounts = (index: number) => [
      // The limits of the worker beside those of the batch.
      { ...batch(cap, name(index % (MOST_ACCOUNTS - 2))), limits: limitsOf(cap, cap) },
      { scope: 'key' as const, name: 'k'.repeat(63), limits: limitsOf(cap) },
      day(cap),
    ];
    for (let index = 0; index < MOST_ACCOUNTS + 10; index++)
      write(ledger, NOON, entry('reserve', id(index), { ...more, accounts: accounts(index) }));
    expect((jsonBytes(ledger.carry()) * 4) / 3).toBeLessThan(2 * 1024 * 1024);
    expect(ledger.carry().open).toHaveLength(MOST_OPEN_RESERVATIONS);
    // Those that are forgotten stay counted.
    const forgotten = MOST_ACCOUNTS + 10 - MOST_OPEN_RESERVATIONS;
    expect(videosIn(ledger)).toEqual([forgotten, MOST_OPEN_RESERVATIONS]);
    const one = { ...more, accounts: [batch(cap, 'one more')] };
    expect(write(ledger, NOON, entry('reserve', 'x', one))).toEqual([
      { full: `it counts ${MOST_ACCOUNTS} batches and gateway keys already` },
    ]);
  });
});
