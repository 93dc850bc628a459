import {
  CAP_SCOPES,
  type Cap,
  type CapScope,
  isMoney,
  isSeconds,
  isVideoCount,
  type ReachedCap,
  type Taken,
} from './caps';
import type { Money } from './money';
import { sha256 } from './sha256';
import { jsonBytes } from './sizes';

/** Where a video is counted. The cap travels with it: the ledger has no settings. */
export interface LedgerAccount {
  scope: Exclude<CapScope, 'job'>;
  /** Of the gateway key or the batch: see `accountName`. */
  name?: string;
  cap: Cap;
}

/**
 * One line for the ledger. `reserve`: a POST that may pay is about to be sent. `release`: it certainly made no task. `settle`:
 * it made one. A reservation that is neither released nor settled stays counted.
 */
export interface LedgerEntry {
  kind: 'reserve' | 'release' | 'settle';
  /** The submit: the same for its retries, so that they are counted once. */
  id: string;
  /** The attempt. A late release of an attempt that was given up does not touch the reservation of the next. */
  holder: string;
  /**
   * Of a reservation, what it repeats: an attempt of the same activity, or a lost submit that somebody decided to repeat. It takes
   * the place of that one. Without it, an open reservation of the same id is of an earlier job, and is counted beside it.
   */
  repeats?: 'attempt' | 'lost-submit';
  accounts: LedgerAccount[];
  seconds?: number;
  /** As estimated. */
  cost?: Money;
  /** What the service said when it settled. */
  charged?: Money;
}

/** `full`: why the ledger could not count the video. */
export type LedgerAnswer = { ok: true } | { reached: ReachedCap } | { full: string };

/** One account, as the query shows it. */
export interface LedgerCount {
  scope: LedgerAccount['scope'];
  name?: string;
  cap: Cap;
  /** Paid for, and reserved: sent, or about to be, with an end that is not known yet. */
  used: Taken;
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

/** What a ledger passes to its next run. Accounts are named by their position, which keeps it small. */
export interface CarriedLedger {
  day: string;
  accounts: CarriedAccount[];
  open: CarriedReservation[];
}

export interface CarriedAccount extends LedgerAccount, Taken {
  /** The day of its last change. */
  day: string;
}

export type CarriedReservation = [
  id: string,
  holder: string,
  accounts: number[],
  seconds: number | null,
  cost: [amount: number, currency: string] | null,
  /** It took the place of a lost submit. */
  mayBePaid?: true,
];

/** A message of Temporal's takes 2 MiB, and a codec may add a third. test/workflows/ledger.test.ts fills a ledger to these. */
export const MOST_OPEN_RESERVATIONS = 5_000;
export const MOST_ACCOUNTS = 2_000;
/** A service has one, or two. */
export const MOST_CURRENCIES = 4;
/** In one update: far below the size of a message. */
export const MOST_ENTRIES = 200;

const LONGEST_NAME_BYTES = 100;
const LONGEST_ID_CHARS = 80;

/** A name that fits into the ledger: long names of batches get a digest at their end. */
export function accountName(name: string): string {
  if (jsonBytes(name) <= LONGEST_NAME_BYTES) return name;
  // Some characters are six bytes as JSON.
  return `${name.replace(/[^\x20-\x7e]|["\\]/g, '_').slice(0, 50)}…${sha256(name).slice(0, 32)}`;
}

/** The parts of a cap in the input of a job, and their rules. */
export function isCap(value: unknown): value is Cap {
  if (typeof value !== 'object' || value === null) return false;
  const { videos, seconds, money }: { videos?: unknown; seconds?: unknown; money?: unknown } = value;
  return (
    (videos == null || isVideoCount(videos)) &&
    (seconds == null || isSeconds(seconds)) &&
    (money == null || isMoney(money))
  );
}

/** Any program can send an update, of any shape. */
export function isLedgerEntry(value: unknown): value is LedgerEntry {
  const { kind, id, holder, repeats, accounts, seconds, cost, charged }: Record<keyof LedgerEntry, unknown> =
    Object(value);
  return (
    (kind === 'reserve' || kind === 'release' || kind === 'settle') &&
    isId(id) &&
    isId(holder) &&
    (repeats == null || repeats === 'attempt' || repeats === 'lost-submit') &&
    Array.isArray(accounts) &&
    accounts.length > 0 &&
    accounts.length <= CAP_SCOPES.length &&
    accounts.every(isAccount) &&
    (seconds == null || isSeconds(seconds)) &&
    (cost == null || isMoney(cost)) &&
    (charged == null || isMoney(charged))
  );
}

function isAccount(value: unknown): value is LedgerAccount {
  const { scope, name, cap }: Record<keyof LedgerAccount, unknown> = Object(value);
  const isNamed = typeof name === 'string' && jsonBytes(name) <= LONGEST_NAME_BYTES + 2;
  return (scope === 'day' ? name == null : (scope === 'key' || scope === 'batch') && isNamed) && isCap(cap);
}

const isId = (value: unknown) =>
  typeof value === 'string' && value.length > 0 && value.length <= LONGEST_ID_CHARS;
