import {
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import {
  addTaken,
  type CapAccount,
  type CarriedLedger,
  type CountedAccount,
  capRefusal,
  dayOf,
  type LedgerAnswer,
  type LedgerEntry,
  type LedgerReport,
  MOST_ACCOUNTS,
  MOST_OPEN_RESERVATIONS,
  type SendCost,
  type Taken,
} from '../src/contract/caps';
import { LEDGER_QUERY, LEDGER_UPDATE } from '../src/contract/names';
import { LONGEST_HISTORY_EVENTS, LONGEST_LEDGER_RUN_MS } from '../src/contract/policies';
import { createFailure } from '../src/contract/video-failure';
import { logEvent } from './log-event';
import { historyIsLong, ifContinued } from './runs';

/** Update: reserves and settles videos under caps. Workers send it before a submit, and when its task has ended. */
export const writeLedger = defineUpdate<LedgerAnswer[], [LedgerEntry[]]>(LEDGER_UPDATE);
/** Query: what was taken of each cap. */
export const ledgerCounts = defineQuery<LedgerReport>(LEDGER_QUERY);

/**
 * Counts what the caps of a task queue allow. Workers start it with their first update, and it never ends: if you terminate
 * it, it counts from zero.
 *
 * @example
 * ```ts
 * const { counts } = await client.workflow.getHandle(ledgerIdOf('films')).query(ledgerCounts);
 * ```
 */
export async function keepLedger(carried?: CarriedLedger): Promise<void> {
  const ledger = new Ledger(Date.now(), ifContinued(carried));
  setHandler(ledgerCounts, () => ledger.report(), {
    description: 'Returns what was taken of each cap',
  });
  setHandler(
    writeLedger,
    // It awaits nothing, so entries are written one after the other, and none is under way when the workflow continues as new.
    (entries) => {
      try {
        return ledger.write(entries, Date.now());
      } catch (error) {
        // Any program can send an update, of any shape. It must not keep the workflow from going on.
        throw createFailure('InvalidRequest', { message: `these are no entries of a ledger: ${error}` });
      }
    },
    { description: 'Reserves and settles videos; sent by workers' },
  );
  await condition(() => historyIsLong(LONGEST_HISTORY_EVENTS), LONGEST_LEDGER_RUN_MS);
  logEvent('continuedAsNew');
  await continueAsNew<typeof keepLedger>(ledger.carry());
}

// It outlives every version of a worker: pinned to one, it would end all submits when the last worker of that version ends.
// The server refuses a behaviour from workers without versions.
setWorkflowOptions(
  () =>
    workflowInfo().currentDeploymentVersion?.deploymentName ? { versioningBehavior: 'AUTO_UPGRADE' } : {},
  keepLedger,
);

/** A batch that starts again after this long counts from zero. */
const BATCH_REMEMBERED_DAYS = 30;
const DAY_MS = 24 * 3_600_000;

/** The counts behind the caps. A count may be too high, and never too low: what nobody settles stays counted. */
export class Ledger {
  private day: string;
  private readonly accounts: Map<string, CountedAccount>;
  /** The sends whose end is not known yet. They refer to their accounts, which stay the same objects. */
  private readonly open: Map<string, { takes: Taken; accounts: CountedAccount[] }>;

  constructor(nowMs: number, carried?: CarriedLedger) {
    const { day, accounts, open } = carried ?? { day: dayOf(nowMs), accounts: [], open: [] };
    this.day = day;
    this.accounts = new Map(accounts.map((account) => [keyOf(account), account]));
    this.open = new Map(
      open.map(({ id, takes, accounts: own }) => [
        id,
        { takes, accounts: own.flatMap((index) => accounts[index] ?? []) },
      ]),
    );
  }

  carry(): CarriedLedger {
    const accounts = [...this.accounts.values()];
    const open = [...this.open].map(([id, { takes, accounts: own }]) => ({
      id,
      takes,
      // Those of a day that has ended are gone.
      accounts: own.map((account) => accounts.indexOf(account)).filter((index) => index >= 0),
    }));
    return { day: this.day, accounts, open: open.filter(({ accounts: left }) => left.length > 0) };
  }

  write(entries: readonly LedgerEntry[], nowMs: number): LedgerAnswer[] {
    this.turnDay(dayOf(nowMs), dayOf(nowMs - BATCH_REMEMBERED_DAYS * DAY_MS));
    return entries.map((entry) => {
      if ('accounts' in entry) return this.reserve(entry);
      this.settle(entry.id, entry.cost);
      return { ok: true };
    });
  }

  /** Changes nothing, because a query reads it: a day that has ended is shown as it ended. */
  report(): LedgerReport {
    const accounts = [...this.accounts.values()];
    return {
      day: this.day,
      counts: accounts.map(({ day: _, ...count }) => ({ ...count, resetsAt: this.resetOf(count) })),
    };
  }

  private reserve({ id, accounts, takes }: Extract<LedgerEntry, { accounts: unknown }>): LedgerAnswer {
    if (this.open.has(id)) return { ok: true };
    const counted = accounts.map((account) => ({
      account,
      count: this.accounts.get(keyOf(account)) ?? { ...account, ...UNUSED, day: this.day },
    }));
    for (const { account, count } of counted) {
      const taken = addTaken(count.used, count.reserved);
      const refused = capRefusal(account, taken, takes, this.resetOf(account));
      if (refused) return { refused };
    }
    const added = accounts.filter((account) => !this.accounts.has(keyOf(account)));
    if (this.accounts.size + added.length > MOST_ACCOUNTS) return { refused: FULL };
    for (const { account, count } of counted) {
      const reserved = addTaken(count.reserved, takes);
      this.accounts.set(keyOf(account), Object.assign(count, account, { reserved, day: this.day }));
    }
    this.open.set(id, { takes, accounts: counted.map(({ count }) => count) });
    const [oldest] = this.open.keys();
    if (oldest !== undefined && this.open.size > MOST_OPEN_RESERVATIONS) this.settle(oldest, 'estimate');
    return { ok: true };
  }

  private settle(id: string, cost: SendCost): void {
    const { takes = {}, accounts = [] } = this.open.get(id) ?? {};
    this.open.delete(id);
    for (const account of accounts) {
      account.reserved = addTaken(account.reserved, takes, -1);
      account.used = addTaken(account.used, takenAt(cost, takes));
    }
  }

  private resetOf({ scope }: Pick<CapAccount, 'scope'>): string | undefined {
    return scope === 'batch' ? undefined : new Date(Date.parse(this.day) + DAY_MS).toISOString();
  }

  /** Begins a new day. A clock that goes back begins none. */
  private turnDay(today: string, oldest: string): void {
    if (today <= this.day) return;
    this.day = today;
    for (const [key, { scope, day }] of this.accounts) {
      if (scope !== 'batch' || day < oldest) this.accounts.delete(key);
    }
  }
}

const UNUSED = { used: { videos: 0 }, reserved: { videos: 0 } };

const FULL = { message: 'the ledger of the caps is full: it counts too many batches and gateway keys' };

/** What a video took at this cost. One in another currency says nothing about the estimate, unless it is zero. */
function takenAt(cost: SendCost, takes: Taken): Taken {
  if (cost === 'nothing') return {};
  if (cost === 'estimate') return takes;
  const { videos = 0, seconds = 0 } = takes;
  if (cost.amount === 0) return { videos, seconds };
  return Object.hasOwn(takes, cost.currency) ? { ...takes, [cost.currency]: cost.amount } : takes;
}

function keyOf({ scope, name = '' }: Pick<CapAccount, 'scope' | 'name'>): string {
  return `${scope}/${name}`;
}
