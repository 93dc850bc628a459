import {
  dayEndsAt,
  dayOf,
  firstReached,
  NOTHING_TAKEN,
  type Taken,
  takeMore,
  type VideoTakes,
} from '../src/contract/caps';
import {
  type CarriedLedger,
  type LedgerAccount,
  type LedgerAnswer,
  type LedgerCount,
  type LedgerEntry,
  type LedgerReport,
  MOST_ACCOUNTS,
  MOST_CURRENCIES,
  MOST_OPEN_RESERVATIONS,
} from '../src/contract/ledger';

/** A batch that starts again after so long counts from zero. */
const BATCH_REMEMBERED_DAYS = 30;
const DAY_MS = 24 * 3_600_000;

interface Account extends LedgerAccount {
  /** Used and reserved together. */
  taken: Taken;
  /** The day of its last change. */
  day: string;
}

interface Reservation extends VideoTakes {
  holder: string;
  /** By their keys. */
  accounts: string[];
  /** It took the place of a lost submit, which may have been paid for: it is never released. */
  mayBePaid?: true;
}

/**
 * The counts behind the caps. What an account has taken includes its open reservations, so whatever becomes of a reservation
 * that is forgotten, it stays counted: a count may be too high, and never too low.
 */
export class Ledger {
  private day: string;
  private readonly accounts = new Map<string, Account>();
  private readonly open = new Map<string, Reservation>();

  constructor(nowMs: number, carried?: CarriedLedger) {
    this.day = carried?.day ?? dayOf(nowMs);
    const keys = (carried?.accounts ?? []).map(({ scope, name, cap, day, ...taken }) => {
      const key = keyOf({ scope, name });
      this.accounts.set(key, { scope, name, cap, day, taken });
      return key;
    });
    for (const [id, holder, accounts, seconds, cost, mayBePaid] of carried?.open ?? []) {
      this.open.set(id, {
        holder,
        accounts: accounts.flatMap((index) => keys[index] ?? []),
        ...(seconds !== null && { seconds }),
        ...(cost !== null && { cost: { amount: cost[0], currency: cost[1] } }),
        ...(mayBePaid && { mayBePaid }),
      });
    }
  }

  write(entries: readonly LedgerEntry[], nowMs: number): LedgerAnswer[] {
    this.turnDay(nowMs);
    return entries.map((entry) => this[entry.kind](entry) ?? { ok: true });
  }

  /** Changes nothing, because a query reads it: a day that has ended is shown as it ended. */
  report(): LedgerReport {
    const reserved = new Map<string, Taken>();
    for (const { accounts, ...video } of this.open.values()) {
      for (const key of accounts) reserved.set(key, takeMore(reserved.get(key) ?? NOTHING_TAKEN, video));
    }
    const counts = [...this.accounts].map(([key, account]): LedgerCount => {
      const { scope, name, cap, taken } = account;
      const held = reserved.get(key) ?? NOTHING_TAKEN;
      const resetsAt = scope === 'batch' ? undefined : dayEndsAt(this.day);
      return { scope, name, cap, used: without(taken, held), reserved: held, resetsAt };
    });
    return { day: this.day, counts };
  }

  carry(): CarriedLedger {
    const indexes = new Map([...this.accounts.keys()].map((key, index) => [key, index]));
    return {
      day: this.day,
      accounts: [...this.accounts.values()].map(({ taken, ...account }) => ({ ...account, ...taken })),
      open: [...this.open].map(([id, { holder, accounts, seconds, cost, mayBePaid }]) => {
        const positions = accounts.flatMap((key) => indexes.get(key) ?? []);
        const price: [amount: number, currency: string] | null = cost ? [cost.amount, cost.currency] : null;
        const known = [id, holder, positions, seconds ?? null, price] as const;
        return mayBePaid ? [...known, mayBePaid] : [...known];
      }),
    };
  }

  private reserve(entry: LedgerEntry): LedgerAnswer | undefined {
    const { id, holder, accounts, seconds, cost, repeats } = entry;
    const before = this.placeOf(entry);
    // A retry on another day is counted on that day too. Its batch has it already.
    const wanted = accounts.filter((account) => !before?.accounts.includes(keyOf(account)));
    const video = before ?? { seconds, cost };
    for (const account of wanted) {
      const { taken = NOTHING_TAKEN } = this.accounts.get(keyOf(account)) ?? {};
      const reached = firstReached(account.cap, taken, video);
      if (reached) {
        const resetsAt = account.scope === 'batch' ? undefined : dayEndsAt(this.day);
        return { reached: { scope: account.scope, name: account.name, ...reached, resetsAt } };
      }
    }
    const full = this.whyFull(wanted, video);
    if (full !== undefined) return { full };
    for (const account of wanted) {
      const key = keyOf(account);
      const { taken = NOTHING_TAKEN } = this.accounts.get(key) ?? {};
      this.accounts.set(key, { ...account, taken: takeMore(taken, video), day: this.day });
    }
    this.open.delete(id);
    this.open.set(id, {
      holder,
      accounts: [...(before?.accounts ?? []), ...wanted.map(keyOf)],
      seconds: video.seconds,
      cost: video.cost,
      ...((before?.mayBePaid || (before && repeats === 'lost-submit')) && { mayBePaid: true }),
    });
    this.forgetOldest();
    return undefined;
  }

  /** The reservation whose place this one takes. That of an earlier job, whose end nobody knows, stays counted beside it. */
  private placeOf({ id, holder, repeats }: LedgerEntry): Reservation | undefined {
    const before = this.open.get(id);
    return repeats == null && before?.holder !== holder ? undefined : before;
  }

  private release({ id, holder }: LedgerEntry): undefined {
    const reservation = this.open.get(id);
    if (reservation?.holder !== holder || reservation.mayBePaid) return;
    this.open.delete(id);
    for (const key of reservation.accounts) this.change(key, (taken) => takeMore(taken, reservation, -1));
  }

  /** What the service charged replaces what was reserved. */
  private settle({ id, holder, accounts, seconds, cost, charged }: LedgerEntry): undefined {
    const reservation = this.open.get(id);
    // Forgotten, and counted.
    if (reservation === undefined) return;
    if (reservation.holder !== holder) {
      // The next attempt holds the reservation, so this one paid beside it.
      for (const account of accounts)
        this.change(keyOf(account), (taken) => takeMore(taken, { seconds, cost: charged ?? cost }));
      return;
    }
    this.open.delete(id);
    if (charged == null) return;
    for (const key of reservation.accounts) {
      this.change(key, (taken) =>
        takeMore(takeMore(taken, reservation, -1), { seconds: reservation.seconds, cost: charged }),
      );
    }
  }

  private change(key: string, change: (taken: Taken) => Taken): void {
    const account = this.accounts.get(key);
    if (account) this.accounts.set(key, { ...account, taken: change(account.taken), day: this.day });
  }

  private whyFull(wanted: readonly LedgerAccount[], { cost }: VideoTakes): string | undefined {
    const known = wanted.map((account) => this.accounts.get(keyOf(account)));
    const isNewCurrency = (taken: Taken) =>
      cost && !(cost.currency in taken.money) && Object.keys(taken.money).length >= MOST_CURRENCIES;
    if (known.some((account) => account && isNewCurrency(account.taken)))
      return `it counts ${MOST_CURRENCIES} currencies already`;
    const added = known.filter((account) => account === undefined).length;
    return this.accounts.size + added > MOST_ACCOUNTS
      ? `it counts ${MOST_ACCOUNTS} batches and gateway keys already`
      : undefined;
  }

  /** They stay counted, and can no longer be released. */
  private forgetOldest(): void {
    for (const id of this.open.keys()) {
      if (this.open.size <= MOST_OPEN_RESERVATIONS) return;
      this.open.delete(id);
    }
  }

  /** Begins a new day. A clock that goes back begins none. */
  private turnDay(nowMs: number): void {
    const today = dayOf(nowMs);
    if (today <= this.day) return;
    this.day = today;
    const oldest = dayOf(nowMs - BATCH_REMEMBERED_DAYS * DAY_MS);
    for (const [key, { scope, day }] of this.accounts) {
      if (scope !== 'batch' || day < oldest) this.accounts.delete(key);
    }
    for (const [id, reservation] of this.open) {
      const accounts = reservation.accounts.filter((key) => this.accounts.has(key));
      if (accounts.length === 0) this.open.delete(id);
      else this.open.set(id, { ...reservation, accounts });
    }
  }
}

function keyOf({ scope, name = '' }: Pick<LedgerAccount, 'scope' | 'name'>): string {
  return `${scope}/${name}`;
}

function without(taken: Taken, held: Taken): Taken {
  const money = Object.entries(taken.money).map(([currency, amount]) => [
    currency,
    amount - (held.money[currency] ?? 0),
  ]);
  return { videos: taken.videos - held.videos, ms: taken.ms - held.ms, money: Object.fromEntries(money) };
}
