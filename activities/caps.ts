import { type ApplicationFailure, activityInfo } from '@temporalio/activity';
import {
  addTaken,
  type Cap,
  type Caps,
  capDetails,
  capOfKey,
  firstReached,
  LOST_ADVICE,
  limitsOf,
  NOTHING_TAKEN,
  nameOfLimit,
  takenBy,
  whyUnknown,
} from '../src/contract/caps';
import { cleanText } from '../src/contract/clean-text';
import type { FailureDetails } from '../src/contract/failure-details';
import { accountName, type LedgerAccount, type LedgerEntry } from '../src/contract/ledger';
import { estimateCost, type Prices } from '../src/contract/prices';
import type { VideoRequest } from '../src/contract/request';
import { type CreateFailureOptions, createFailure } from '../src/contract/video-failure';
import type { LedgerWriter } from './ledger-client';
import { logEvent } from './log-event';

/** What counts submits under caps. A submit that is neither settled nor given back stays counted, whatever crashes. */
export interface SubmitCaps {
  /** Counts a submit under every cap before its POST. Throws CapReached, or a retryable failure when the ledger does not answer. */
  reserve(submit: CountedSubmit): Promise<void>;
  /** After the POST. 'task': it stays counted. 'none': certainly no task, so it is given back. Never throws. */
  settle(submit: CountedSubmit, outcome: 'task' | 'none'): Promise<void>;
}

/** A submit that was reserved must be settled with the same values. */
export interface CountedSubmit {
  /** Names the POST. */
  sendId: string;
  /** The same for all sends of a job (digest of namespace, name, request). */
  digest: string;
  /** How many lost submits of this job this send repeats (by policy or by decision): each may have been paid. */
  lostSubmits: number;
  request: VideoRequest;
  service: { readonly profile?: { readonly prices?: Prices | undefined } | undefined };
  /** Of this job alone. */
  cap?: Cap | undefined;
  /** Of several jobs together, counted under its name. Without limits, those of the worker for a batch hold. */
  sharedCap?: { name: string; cap: Cap } | undefined;
  /** Whose job it is. */
  caller?: string | undefined;
  /** The task queue of the workflow, on which the ledger runs. */
  ledgerQueue: string;
}

const DIGEST_CHARS = 32;

/** Caps of a worker, beside those in the input of each submit. */
export function createSubmitCaps({ caps, ledger }: { caps: Caps; ledger: LedgerWriter }): SubmitCaps {
  return {
    async reserve(submit) {
      const accounts = accountsOf(caps, submit);
      refuseByItself(caps, accounts, submit);
      if (accounts.length === 0) return;
      const entry = entryOf('reserve', accounts, submit);
      const answer = await ledger.write(submit.ledgerQueue, entry).catch(throwUnreachable);
      if ('reached' in answer) throw capReached(capDetails(answer.reached, submit.lostSubmits));
      if ('full' in answer)
        throw capReached({
          message: `the ledger of the caps is full: ${answer.full}`,
          ...lostAdvice(submit),
        });
    },
    async settle(submit, outcome) {
      const accounts = accountsOf(caps, submit);
      if (accounts.length === 0) return;
      const entry = entryOf(outcome === 'task' ? 'settle' : 'release', accounts, submit);
      await ledger.write(submit.ledgerQueue, entry).catch((error: unknown) => {
        logEvent('ledgerNotWritten', { error: cleanText(String(error)) });
      });
    },
  };
}

/** The accounts that have a limit. Others are not counted. */
function accountsOf(caps: Caps, { sharedCap, caller }: CountedSubmit): LedgerAccount[] {
  const accounts: LedgerAccount[] = [{ scope: 'day', limits: limitsOf(caps.day) }];
  if (caller !== undefined)
    accounts.unshift({ scope: 'key', name: caller, limits: limitsOf(capOfKey(caps, caller)) });
  if (sharedCap) {
    const limits = limitsOf(caps.batch, sharedCap.cap);
    accounts.unshift({ scope: 'batch', name: accountName(sharedCap.name), limits });
  }
  return accounts.filter(({ limits }) => limits.length > 0);
}

/** What needs no count: the caps of a job alone, and a video that says too little for the other ones. */
function refuseByItself(caps: Caps, accounts: readonly LedgerAccount[], submit: CountedSubmit): void {
  const estimate = estimateOf(submit);
  const ofJob = [
    { scope: 'job' as const, limits: limitsOf(caps.job) },
    { scope: 'job' as const, isOwn: true, limits: limitsOf(submit.cap) },
  ];
  for (const { scope, limits } of [...ofJob, ...accounts]) {
    for (const limit of limits) {
      const why = whyUnknown(limit, estimate);
      if (why === undefined) continue;
      const cap = nameOfLimit({ scope, unit: limit.unit });
      const message = `${why}, and there is a cap on ${limit.unit} (${cap})`;
      throw capReached({ message, cap, advice: UNKNOWN_ADVICE[limit.unit], ...lostAdvice(submit) });
    }
  }
  const video = takenBy(estimate);
  const before = addTaken(NOTHING_TAKEN, video, submit.lostSubmits);
  for (const { limits, ...whose } of ofJob) {
    const reached = firstReached(limits, before, video);
    if (reached) throw capReached(capDetails({ ...whose, ...reached }, submit.lostSubmits));
  }
}

const UNKNOWN_ADVICE = {
  videos: undefined,
  seconds: 'Give the request a duration, or prices.defaults.duration to the profile of the service.',
  money:
    'Give the profile of the service prices in the currency of the cap, and the request what they depend on.',
};

const lostAdvice = ({ lostSubmits }: CountedSubmit) => (lostSubmits > 0 ? { advice: LOST_ADVICE } : {});

const estimateOf = ({ service, request }: CountedSubmit) => estimateCost(service.profile?.prices, request);

function entryOf(kind: LedgerEntry['kind'], accounts: LedgerAccount[], submit: CountedSubmit): LedgerEntry {
  const { digest, sendId, lostSubmits } = submit;
  const { seconds, cost } = { cost: undefined, ...estimateOf(submit) };
  const id = digest.slice(0, DIGEST_CHARS);
  return {
    kind,
    // A submit that repeats a lost one may be the second that is paid for, so it is counted beside it.
    id: lostSubmits > 0 ? `${id}.${sendId}` : id,
    holder: sendId,
    ...(activityInfo().attempt > 1 && { isRetry: true }),
    accounts,
    ...(seconds !== undefined && { seconds }),
    ...(cost && { cost }),
  };
}

function capReached(details: FailureDetails, options?: CreateFailureOptions): ApplicationFailure {
  return createFailure('CapReached', { ...details, attempt: activityInfo().attempt }, options);
}

/** What cannot be counted is not paid for. It is no verdict of a cap, so Temporal tries again until the deadline. */
function throwUnreachable(cause: Error): never {
  const message = `nothing was sent, because the ledger of the caps cannot be reached: ${cause.message}`;
  const advice = 'The submit is retried until the deadline.';
  throw capReached({ message, advice }, { retryable: true, cause });
}
