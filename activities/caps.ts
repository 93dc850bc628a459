import { type ApplicationFailure, activityInfo } from '@temporalio/activity';
import {
  addTaken,
  type Cap,
  type CapLimit,
  type Caps,
  capDetails,
  firstReached,
  LOST_ADVICE,
  limitsOf,
  NOTHING_TAKEN,
  takenBy,
} from '../src/contract/caps';
import { cleanText } from '../src/contract/clean-text';
import type { FailureDetails } from '../src/contract/failure-details';
import type { JobOptions } from '../src/contract/job';
import { accountsOf, type LedgerAccount, type SendCost } from '../src/contract/ledger';
import type { VideoRequest } from '../src/contract/request';
import { type CreateFailureOptions, createFailure } from '../src/contract/video-failure';
import { type Estimate, estimateCost, type Prices } from '../src/service/prices';
import type { LedgerWriter } from './ledger-client';
import { logEvent } from './log-event';

/** What counts submits under caps. A submit that is not settled stays counted, whatever crashes. */
export interface SubmitCaps {
  /** Counts a submit under every cap before its POST. Throws CapReached, or a retryable failure when the ledger does not answer. */
  reserve(submit: CountedSubmit): Promise<void>;
  /** Says what a submit cost, once that is known. Never throws. */
  settle(send: CountedSend, cost: SendCost): Promise<void>;
}

/** A POST, with whose job it is of and the cap that the job shares with others. */
export interface CountedSend extends Pick<JobOptions, 'sharedCap' | 'caller'> {
  /** Names the POST. */
  sendId: string;
  /** The task queue of the workflow, on which the ledger runs. */
  ledgerQueue: string;
}

export interface CountedSubmit extends CountedSend {
  /** How many lost submits of this job this send repeats (by policy or by decision): each may have been paid. */
  lostSubmits: number;
  request: VideoRequest;
  service: { readonly profile?: { readonly prices?: Prices } };
  /** Of this job alone. */
  cap?: Cap;
}

/** Caps of a worker, beside those in the input of each submit. */
export function createSubmitCaps({ caps, ledger }: { caps: Caps; ledger: LedgerWriter }): SubmitCaps {
  return {
    async reserve(submit) {
      const accounts = accountsOf(caps, submit);
      const estimate = estimateCost(submit.service.profile?.prices, submit.request);
      refuseByItself(caps, accounts, submit, estimate);
      if (accounts.length === 0) return;
      const { seconds, estimated } = estimate;
      const entry = { id: submit.sendId, accounts, seconds, estimated };
      const answer = await ledger.write(submit.ledgerQueue, entry).catch(throwUnreachable);
      if ('reached' in answer) throw capReached(capDetails(answer.reached, submit.lostSubmits));
      if ('full' in answer)
        throw capReached({
          message: 'the ledger of the caps is full: it counts too many batches and gateway keys',
          ...lostAdvice(submit),
        });
    },
    async settle({ sendId: id, ledgerQueue, ...job }, cost) {
      if (accountsOf(caps, job).length === 0) return;
      await ledger.write(ledgerQueue, { id, cost }).catch((error: unknown) => {
        logEvent('ledgerNotWritten', { error: reasonOf(error) });
      });
    },
  };
}

/** What needs no count: the caps of a job alone, and a video that says too little for the other ones. */
function refuseByItself(
  caps: Caps,
  accounts: readonly LedgerAccount[],
  submit: CountedSubmit,
  estimate: Estimate,
): void {
  const ofJob = [
    { scope: 'job' as const, limits: limitsOf(caps.job) },
    { scope: 'job' as const, isOwn: true, limits: limitsOf(submit.cap) },
  ];
  for (const { scope, limits } of [...ofJob, ...accounts]) {
    for (const limit of limits) {
      const why = whyUnknown(limit, estimate);
      if (why === undefined) continue;
      const cap = `${scope}.${limit.unit}`;
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

/** What must be known of a video under this limit and is not, as half a sentence; undefined when enough is known. */
function whyUnknown({ unit, currency }: CapLimit, { seconds, estimated, unknown }: Estimate) {
  if (unit === 'seconds' && seconds === undefined)
    return 'the duration of the video is not known: the request has none';
  if (unit !== 'money' || estimated?.currency === currency) return undefined;
  return estimated === undefined
    ? `the cost of the video is not known: ${unknown}`
    : `the cost of the video is in ${estimated.currency} and the cap in ${currency}`;
}

const UNKNOWN_ADVICE = {
  videos: undefined,
  seconds: 'Give the request a duration, or prices.defaults.duration to the profile of the service.',
  money:
    'Give the profile of the service prices in the currency of the cap, and the request what they depend on.',
};

const lostAdvice = ({ lostSubmits }: CountedSubmit) => (lostSubmits > 0 ? { advice: LOST_ADVICE } : {});

function capReached(details: FailureDetails, options?: CreateFailureOptions): ApplicationFailure {
  return createFailure('CapReached', { ...details, attempt: activityInfo().attempt }, options);
}

/** What cannot be counted is not paid for. It is no verdict of a cap, so Temporal tries again until the deadline. */
function throwUnreachable(cause: Error): never {
  const message = `nothing was sent, because the ledger of the caps cannot be reached: ${reasonOf(cause)}`;
  const advice = 'The submit is retried until the deadline.';
  throw capReached({ message, advice }, { retryable: true, cause });
}

/** The SDK's own sentence says only which call failed; the server says why. */
const reasonOf = (error: unknown) => cleanText(String(Object(error).cause?.message ?? Object(error).message));
