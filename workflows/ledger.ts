import {
  addTaken,
  dayEndsAt,
  dayOf,
  firstReached,
  NOTHING_TAKEN,
  type Taken,
  takenBy,
} from '../src/contract/caps';
import {
  type CarriedLedger,
  type CountedAccount,
  type LedgerAccount,
  type LedgerAnswer,
  type LedgerEntry,
  type LedgerReport,
  type LedgerReservation,
  MOST_ACCOUNTS,
  MOST_CURRENCIES,
  MOST_OPEN_RESERVATIONS,
} from '../src/contract/ledger';

/** A batch that starts again after so long counts from zero. */
const BATCH_REMEMBERED_DAYS = 30;
const DAY_MS = 24 * 3_600_000;

/**
 * The counts behind the caps. What an account has taken includes its open reservations, so whatever becomes of a reservation
 * that is forgotten, it stays counted: a count may be too high, and never too low.
 */
export class Ledger {
  private day: string;
  private readonly accounts: Map<string, CountedAccount>;
  private readonly open: Map<string, LedgerReservation>;

  constructor(nowMs: number, carried: CarriedLedger = { day: dayOf(nowMs), accounts: [], open: [] }) {
    this.day = carried.day;
    this.accounts = new Map(carried.accounts.map((account) => [keyOf(account), account]));
    this.open = new Map(carried.open);
  }

  carry(): CarriedLedger {
    return { day: this.day, accounts: [...this.accounts.values()], open: [...this.open] };
  }

  write(entries: readonly LedgerEntry[], nowMs: number): LedgerAnswer[] {
    this.turnDay(nowMs);
    return entries.map((entry) => this[entry.kind](entry) ?? { ok: true });
  }

  /** Changes nothing, because a query reads it: a day that has ended is shown as it ended. */
  report(): LedgerReport {
    const reserved = new Map<string, Taken>();
    for (const { accounts, ...video } of this.open.values()) {
      for (const key of accounts)
        reserved.set(key, addTaken(reserved.get(key) ?? NOTHING_TAKEN, takenBy(video)));
    }
    const counts = [...this.accounts].map(([key, { taken, day: _, ...account }]) => {
      const held = reserved.get(key) ?? NOTHING_TAKEN;
      return { ...account, used: addTaken(taken, held, -1), reserved: held, ...this.resetOf(account) };
    });
    return { day: this.day, counts };
  }

  private reserve(entry: LedgerEntry): LedgerAnswer | undefined {
    const { id, holder, isRetry, accounts } = entry;
    const known = this.open.get(id);
    const before = isRetry || known?.holder === holder ? known : undefined;
    // A retry on another day is counted on that day too. Its batch has it already.
    const wanted = accounts.filter((account) => !before?.accounts.includes(keyOf(account)));
    const { seconds, cost } = before ?? entry;
    const video = takenBy({ seconds, cost });
    for (const account of wanted) {
      const reached = firstReached(account.limits, this.takenOf(account), video);
      const { scope, name } = account;
      if (reached) return { reached: { scope, name, ...reached, ...this.resetOf(account) } };
    }
    const full = this.whyFull(wanted, video);
    if (full !== undefined) return { full };
    for (const account of wanted) {
      const taken = addTaken(this.takenOf(account), video);
      this.accounts.set(keyOf(account), { ...account, taken, day: this.day });
    }
    // The last one is the newest.
    this.open.delete(id);
    this.open.set(id, {
      holder,
      accounts: [...(before?.accounts ?? []), ...wanted.map(keyOf)],
      seconds,
      cost,
    });
    for (const oldest of this.open.keys()) {
      if (this.open.size <= MOST_OPEN_RESERVATIONS) break;
      // It stays counted, and can no longer be released.
      this.open.delete(oldest);
    }
    return undefined;
  }

  private release({ id, holder }: LedgerEntry): undefined {
    const reservation = this.open.get(id);
    if (reservation?.holder !== holder) return;
    this.open.delete(id);
    this.add(reservation.accounts, takenBy(reservation), -1);
  }

  private settle({ id, holder, accounts, ...video }: LedgerEntry): undefined {
    const reservation = this.open.get(id);
    if (reservation?.holder === holder) this.open.delete(id);
    // The next attempt holds the reservation, so this one paid beside it. Without one, it was forgotten and is counted.
    else if (reservation) this.add(accounts.map(keyOf), takenBy(video));
  }

  private add(keys: readonly string[], video: Taken, times = 1): void {
    for (const key of keys) {
      const account = this.accounts.get(key);
      if (account)
        this.accounts.set(key, { ...account, taken: addTaken(account.taken, video, times), day: this.day });
    }
  }

  private takenOf(account: LedgerAccount): Taken {
    return this.accounts.get(keyOf(account))?.taken ?? NOTHING_TAKEN;
  }

  private resetOf({ scope }: LedgerAccount): { resetsAt?: string } {
    return scope === 'batch' ? {} : { resetsAt: dayEndsAt(this.day) };
  }

  private whyFull(wanted: readonly LedgerAccount[], video: Taken): string | undefined {
    const currencies = wanted.map(
      (account) => Object.keys(addTaken(this.takenOf(account), video).money).length,
    );
    if (Math.max(...currencies) > MOST_CURRENCIES) return `it counts ${MOST_CURRENCIES} currencies already`;
    const added = wanted.filter((account) => !this.accounts.has(keyOf(account))).length;
    return this.accounts.size + added > MOST_ACCOUNTS
      ? `it counts ${MOST_ACCOUNTS} batches and gateway keys already`
      : undefined;
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
