import { type CapAccount, type Caps, limitsOf, type Taken } from './caps';
import { fileName } from './digest';
import type { FailureDetails } from './failure-details';
import type { JobOptions } from './job';
import type { Money } from './money';

/** What a send cost: nothing if it made no task, or one without a video that was not charged. */
export type SendCost = 'nothing' | 'estimate' | Money;

/** One line for the ledger: the reservation of a send that may pay, or how it ended. The id is that of the send. */
export type LedgerEntry = { id: string } & ({ accounts: CapAccount[]; takes: Taken } | { cost: SendCost });

/** `refused`: what the failure of the submit says. */
export type LedgerAnswer = { ok: true } | { refused: FailureDetails };

/** One account, as the query shows it. */
export interface LedgerCount extends CapAccount {
  /** By tasks that have ended. */
  used: Taken;
  /** By lost submits, and by tasks that have not ended. */
  reserved: Taken;
  /** ISO 8601; unset for a batch. */
  resetsAt?: string;
}

/** The answer to the query of the ledger. */
export interface LedgerReport {
  /** The day of UTC. */
  day: string;
  counts: LedgerCount[];
}

/** `day` is that of its last change. */
export type CountedAccount = LedgerCount & { day: string };

/** What a ledger passes to its next run. Reservations name their accounts by index, to fit many into a message. */
export interface CarriedLedger {
  day: string;
  accounts: CountedAccount[];
  open: { id: string; takes: Taken; accounts: number[] }[];
}

/** A message of Temporal's takes 2 MiB, and a codec may add a third. test/workflows/ledger.test.ts fills a ledger to these. */
export const MOST_OPEN_RESERVATIONS = 3_000;
export const MOST_ACCOUNTS = 2_000;
/** In one update, and as many again that were late: far below the size of a message. */
export const MOST_ENTRIES = 200;

/** The day of UTC that a time is in, such as `2026-11-17`. */
export const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** The accounts of a job that have a limit. Others are not counted. */
export function accountsOf(
  { batch, key, keys = {}, day }: Caps,
  { sharedCap, caller }: Pick<JobOptions, 'sharedCap' | 'caller'>,
): CapAccount[] {
  const accounts: CapAccount[] = [{ scope: 'day', limits: limitsOf(day) }];
  if (caller != null) {
    const ofKey = Object.hasOwn(keys, caller) ? keys[caller] : key;
    accounts.unshift({ scope: 'key', name: caller, limits: limitsOf(ofKey) });
  }
  if (sharedCap != null) {
    const limits = limitsOf(batch, sharedCap.cap);
    // A long name would take too much of the ledger.
    accounts.unshift({ scope: 'batch', name: fileName(sharedCap.name), limits });
  }
  return accounts.filter(({ limits }) => limits.length > 0);
}
