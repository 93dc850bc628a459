import {
  type CapLimit,
  type CapScope,
  isMoney,
  isSeconds,
  isVideoCount,
  type ReachedCap,
  type Taken,
} from './caps';
import { sha256 } from './digest';
import type { Money } from './money';
import { jsonBytes } from './sizes';

/** Where a video is counted. The limits travel with it: the ledger has no settings. */
export interface LedgerAccount {
  scope: Exclude<CapScope, 'job'>;
  /** Of the gateway key or the batch: see `accountName`. */
  name?: string;
  limits: CapLimit[];
}

/**
 * One line for the ledger. `reserve`: a POST that may pay is about to be sent. `release`: it certainly made no task. `settle`:
 * it made one. A reservation that is neither released nor settled stays counted.
 */
export interface LedgerEntry {
  kind: 'reserve' | 'release' | 'settle';
  /** The same for the attempts of a submit, so that they are counted once. One that repeats a lost submit has its own. */
  id: string;
  /** The attempt. A late release of an attempt that was given up does not touch the reservation of the next. */
  holder: string;
  /**
   * An attempt of the same activity came before, and certainly made no task: its reservation is taken over. Otherwise an open
   * reservation of the same id is of an earlier job, and is counted beside it.
   */
  isRetry?: boolean;
  accounts: LedgerAccount[];
  seconds?: number;
  /** As estimated. */
  cost?: Money;
}

/** `full`: why the ledger could not count the video. */
export type LedgerAnswer = { ok: true } | { reached: ReachedCap } | { full: string };

/** One account, as the query shows it. */
export interface LedgerCount extends LedgerAccount {
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

/** An account with what was taken of it, its open reservations included. */
export interface CountedAccount extends LedgerAccount {
  taken: Taken;
  /** The day of its last change. */
  day: string;
}

/** A submit whose end is not known yet. */
export interface LedgerReservation extends Pick<LedgerEntry, 'holder' | 'seconds' | 'cost'> {
  /** By their keys. */
  accounts: string[];
}

/** What a ledger passes to its next run. */
export interface CarriedLedger {
  day: string;
  accounts: CountedAccount[];
  open: [id: string, LedgerReservation][];
}

/** A message of Temporal's takes 2 MiB, and a codec may add a third. test/workflows/ledger.test.ts fills a ledger to these. */
export const MOST_OPEN_RESERVATIONS = 1_000;
export const MOST_ACCOUNTS = 2_000;
/** A service has one, or two. */
export const MOST_CURRENCIES = 4;
/** In one update: far below the size of a message. */
export const MOST_ENTRIES = 200;

/** Those of the worker, and those of the batch. */
const MOST_LIMITS = 6;
const LONGEST_NAME_BYTES = 100;
const LONGEST_ID_CHARS = 80;

/** A name that fits into the ledger: long names of batches get a digest at their end. */
export function accountName(name: string): string {
  if (jsonBytes(name) <= LONGEST_NAME_BYTES) return name;
  // Some characters are six bytes as JSON.
  return `${name.replace(/[^\x20-\x7e]|["\\]/g, '_').slice(0, 50)}…${sha256(name).slice(0, 32)}`;
}

/** Any program can send an update, of any shape. */
export function isLedgerEntry(value: unknown): value is LedgerEntry {
  const { kind, id, holder, isRetry, accounts, seconds, cost }: Record<keyof LedgerEntry, unknown> =
    Object(value);
  return (
    (kind === 'reserve' || kind === 'release' || kind === 'settle') &&
    [id, holder].every(
      (text) => typeof text === 'string' && text !== '' && text.length <= LONGEST_ID_CHARS,
    ) &&
    (isRetry == null || typeof isRetry === 'boolean') &&
    isListOf(accounts, isAccount) &&
    accounts.length > 0 &&
    (seconds == null || isSeconds(seconds)) &&
    (cost == null || isMoney(cost))
  );
}

function isAccount(value: unknown): value is LedgerAccount {
  const { scope, name, limits }: Record<keyof LedgerAccount, unknown> = Object(value);
  const isNamed = typeof name === 'string' && jsonBytes(name) <= LONGEST_NAME_BYTES + 2;
  return (
    (scope === 'day' ? name == null : (scope === 'key' || scope === 'batch') && isNamed) &&
    isListOf(limits, isLimit)
  );
}

function isLimit(value: unknown): value is CapLimit {
  const { unit, limit, currency }: Record<keyof CapLimit, unknown> = Object(value);
  if (unit === 'money') return isMoney({ amount: limit, currency });
  return unit === 'videos' ? isVideoCount(limit) : unit === 'seconds' && isSeconds(limit);
}

function isListOf<T>(value: unknown, isOne: (one: unknown) => one is T): value is T[] {
  return Array.isArray(value) && value.length <= MOST_LIMITS && value.every(isOne);
}
