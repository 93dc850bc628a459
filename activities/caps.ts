import { type ApplicationFailure, activityInfo } from '@temporalio/activity';
import {
  accountsOf,
  addTaken,
  type Cap,
  type CapAccount,
  type Caps,
  capRefusal,
  fieldOf,
  limitsOf,
  type SendCost,
  type Taken,
  takenBy,
} from '../src/contract/caps';
import { cleanText } from '../src/contract/clean-text';
import type { FailureDetails } from '../src/contract/failure-details';
import type { JobOptions, TaskStatus } from '../src/contract/job';
import { mergeCosts } from '../src/contract/job-cost';
import type { VideoRequest } from '../src/contract/request';
import { type CreateFailureOptions, createFailure } from '../src/contract/video-failure';
import { type Estimate, estimateCost } from '../src/service/prices';
import type { Prices } from '../src/service/profile';
import type { VideoStorage } from '../src/storage/storage';
import { logEvent } from './attempt';
import type { LedgerWriter } from './ledger-client';
import type { PollVideoInput } from './poll-video';
import { openRecord, warnNotRecorded } from './record-task';

/** What counts submits under caps. A submit that is not settled stays counted, whatever crashes. */
export type SubmitCaps = ReturnType<typeof createSubmitCaps>;

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

/** Caps of a worker, besides those in the input of each submit. */
export function createSubmitCaps({ caps, ledger }: { caps: Caps; ledger: LedgerWriter }) {
  return {
    /** Counts a submit under every cap before its POST. Throws CapReached, or a retryable failure when the ledger does not answer. */
    async reserve(submit: CountedSubmit): Promise<void> {
      const refuseIf = (refused: FailureDetails | undefined) => {
        if (refused) throw capReached({ ...refused, ...(submit.lostSubmits > 0 && { advice: LOST_ADVICE }) });
      };
      const accounts = accountsOf(caps, submit);
      const ofJob = [caps.job, submit.cap].map((cap) => ({ scope: 'job' as const, limits: limitsOf(cap) }));
      const estimate = estimateCost(submit.service.profile?.prices, submit.request);
      const takes = takenBy(estimate);
      for (const account of [...ofJob, ...accounts]) refuseIf(unknownTakes(account, takes, estimate));
      const lost = addTaken({}, takes, submit.lostSubmits);
      for (const account of ofJob) refuseIf(capRefusal(account, lost, takes));
      if (accounts.length === 0) return;
      const entry = { id: submit.sendId, accounts, takes };
      const answer = await ledger.write(submit.ledgerQueue, entry).catch(throwUnreachable);
      if ('refused' in answer) refuseIf(answer.refused);
    },
    /** Says what a submit cost, once that is known. Never throws. */
    async settle({ sendId: id, ledgerQueue, ...job }: CountedSend, cost: SendCost): Promise<void> {
      if (accountsOf(caps, job).length === 0) return;
      await ledger.write(ledgerQueue, { id, cost }).catch((error: unknown) => {
        logEvent('ledgerNotWritten', { error: reasonOf(error) });
      });
    },
  };
}

/** Says what a task cost whose end a poll has found: to the caps, and to the record, for `videogen spend`. */
export function createSettleTask(storage: VideoStorage, caps: SubmitCaps, ofWorker: Caps) {
  return async function settleTask(input: PollVideoInput, { state, charged }: TaskStatus): Promise<void> {
    const { taskId, service, record: id, sharedCap, caller } = input;
    const isAsked = charged !== undefined || accountsOf(ofWorker, input).length > 0;
    if (id === undefined || !isAsked) return;
    const record = openRecord(storage, id);
    try {
      const { task, openSends } = await record.read();
      if (task?.taskId !== taskId) return;
      // An adopted task is taken for that of the lost submit.
      const { send = openSends.at(-1)?.id, cost } = task;
      const madeVideo = state === 'succeeded';
      const ledgerQueue = activityInfo().taskQueue;
      const spent = charged?.amount === 0 && !madeVideo ? 'nothing' : (charged ?? 'estimate');
      // Not awaited: the ledger runs on this queue too, and must not wait for the workflow task of a local poll.
      if (send !== undefined) void caps.settle({ sendId: send, sharedCap, caller, ledgerQueue }, spent);
      // The charge of a video goes into its own entry.
      if (!madeVideo && charged && cost?.charged === undefined)
        await record.add({ event: 'task', send, taskId, service, cost: mergeCosts(cost, { charged }) });
    } catch (error) {
      warnNotRecorded(record, error, taskId);
    }
  };
}

/** Whatever a cap refuses after a lost submit, that one may have been paid for. */
const LOST_ADVICE =
  'An earlier submit was lost, so a task may exist: search for it at the service and adopt it. To submit again, raise the cap.';

/** The refusal of a video that does not say what it takes of a limit; undefined when it says that of all. */
function unknownTakes({ scope, limits }: CapAccount, takes: Taken, estimate: Estimate) {
  const unit = limits.map((limit) => limit.unit).find((one) => !Object.hasOwn(takes, one));
  if (unit === undefined) return undefined;
  const field = fieldOf(unit);
  const cap = `${scope}.${field}`;
  const { estimated, unknown } = estimate;
  const cost = estimated ? `in ${estimated.currency} and the cap in ${unit}` : `not known: ${unknown}`;
  const [why, advice] =
    field === 'seconds'
      ? ['the duration of the video is not known: the request has none', DURATION_ADVICE]
      : [`the cost of the video is ${cost}`, PRICES_ADVICE];
  return { message: `${why}, and there is a cap on ${field} (${cap})`, cap, advice };
}

const DURATION_ADVICE =
  'Give the request a duration, or prices.defaults.duration to the profile of the service.';
const PRICES_ADVICE =
  'Give the profile of the service prices in the currency of the cap, and the request what they depend on.';

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
