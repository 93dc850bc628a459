import { activityInfo } from '@temporalio/activity';
import {
  type Cap,
  type Caps,
  capDetails,
  capOfKey,
  firstReached,
  limits,
  NOTHING_TAKEN,
  nameOfLimit,
  type ReachedCap,
  strictest,
  takeMore,
  unknownUnder,
  type VideoTakes,
} from '../../src/contract/caps';
import { cleanText } from '../../src/contract/clean-text';
import { accountName, type LedgerAccount, type LedgerEntry } from '../../src/contract/ledger';
import { estimateCost } from '../../src/contract/prices';
import type { VideoRequest } from '../../src/contract/request';
import { createFailure } from '../../src/contract/video-failure';
import type { VideoService } from '../../src/service';
import { logEvent } from '../log-event';
import { createCallFailure } from '../to-failure';
import { LedgerUnreachable, type LedgerWriter } from './ledger-line';

/** What a submit needs to know of caps. */
export interface CapDeps {
  /** Those of the worker. */
  caps: Caps;
  ledger: LedgerWriter;
}

/** The caps in the input of a submit. */
export interface CapInput {
  /** The name of the item, in a batch. */
  job?: string;
  /** Of this job alone. */
  cap?: Cap;
  /** Of all items of its batch together. */
  batchCap?: Cap;
  /** Whose job it is. */
  caller?: string;
  /** The task queue of the workflow, on which the ledger runs. */
  ledgerQueue?: string;
  /** An operator decided to submit again after a lost submit. */
  resubmits?: boolean;
}

interface Submit {
  request: VideoRequest;
  /** The digest of namespace, name and request: the same for each retry, also for one that an operator decided. */
  digest: string;
  /** The id of the POST. */
  sendId: string;
  /** How many submits of this job are lost that this one repeats by itself: they may have been paid for. */
  lostSubmits: number;
}

const DIGEST_CHARS = 32;
const HOLDER_CHARS = 8;

/**
 * Counts a submit under every cap, before its POST. It is released only when the POST certainly made no task; whatever else
 * happens, a kill included, it stays counted. Without a cap it costs nothing.
 */
export class Reservation {
  private readonly accounts: LedgerAccount[];
  private readonly takes: VideoTakes & { whyUnknown?: string };
  private readonly id: string;
  private readonly holder: string;
  private isTaken = false;

  constructor(
    private readonly deps: CapDeps & { service: VideoService },
    private readonly input: CapInput,
    private readonly submit: Submit,
  ) {
    this.accounts = accountsOf(deps.caps, input);
    this.takes = takesOf(deps.service, submit.request);
    const digest = submit.digest.slice(0, DIGEST_CHARS);
    // A submit that repeats a lost one may be the second that is paid for, so it is counted beside it.
    this.id = submit.lostSubmits > 0 ? `${digest}.${submit.sendId}` : digest;
    this.holder = submit.sendId.slice(0, HOLDER_CHARS);
  }

  /** Throws CapReached, or a failure to retry when the ledger does not answer. */
  async take(): Promise<void> {
    const ofJob = [this.deps.caps.job, this.input.cap].filter(limits);
    for (const { scope, cap } of [...ofJob.map((cap) => ({ scope: 'job' as const, cap })), ...this.shared]) {
      const unknown = unknownUnder(cap, this.takes);
      if (unknown === undefined) continue;
      const name = nameOfLimit({ scope, unit: unknown.unit });
      const message = `${unknown.why}, and there is a cap on ${unknown.unit} (${name})`;
      throw capReached({ message, cap: name, advice: UNKNOWN_ADVICE[unknown.unit] });
    }
    const before = takeMore(NOTHING_TAKEN, this.takes, this.submit.lostSubmits);
    for (const cap of ofJob) {
      const reached = firstReached(cap, before, this.takes);
      if (reached) throw reachedFailure({ scope: 'job', ...reached });
    }
    if (this.accounts.length === 0) return;
    const answer = await this.write('reserve').catch(throwUnreachable);
    if ('reached' in answer) throw reachedFailure(answer.reached);
    if ('full' in answer) throw capReached({ message: `the ledger of the caps is full: ${answer.full}` });
    this.isTaken = true;
  }

  /** Only for a POST that certainly made no task. If it fails, the reservation stays counted. */
  async release(): Promise<void> {
    if (this.isTaken) await this.write('release').catch(stayCounted);
    this.isTaken = false;
  }

  /** The POST made a task. */
  async settle(): Promise<void> {
    if (this.isTaken) await this.write('settle').catch(stayCounted);
    this.isTaken = false;
  }

  private write(kind: LedgerEntry['kind']) {
    const { seconds, cost } = this.takes;
    return this.deps.ledger.write(this.input.ledgerQueue ?? activityInfo().taskQueue, {
      kind,
      id: this.id,
      holder: this.holder,
      ...this.repeats,
      accounts: this.accounts,
      ...(seconds !== undefined && { seconds }),
      ...(cost !== undefined && { cost }),
    });
  }

  /** The caps of the accounts. A batch may have two, in different currencies, and its account has one of them. */
  private get shared(): Pick<LedgerAccount, 'scope' | 'cap'>[] {
    const ofBatch = [this.deps.caps.batch, this.input.batchCap].filter(limits);
    return this.accounts.flatMap(({ scope, cap }) =>
      (scope === 'batch' ? ofBatch : [cap]).map((one) => ({ scope, cap: one })),
    );
  }

  private get repeats(): Pick<LedgerEntry, 'repeats'> {
    if (this.input.resubmits) return { repeats: 'lost-submit' };
    return activityInfo().attempt > 1 ? { repeats: 'attempt' } : {};
  }
}

const UNKNOWN_ADVICE = {
  videos: undefined,
  seconds: 'Give the request a duration, or prices.defaults.duration to the profile of the service.',
  money:
    'Give the profile of the service prices in the currency of the cap, and the request what they depend on.',
};

function takesOf(service: VideoService, request: VideoRequest): VideoTakes & { whyUnknown?: string } {
  const estimate = estimateCost(service.profile?.prices, request);
  return {
    seconds: estimate.seconds,
    ...('cost' in estimate ? { cost: estimate.cost } : { whyUnknown: estimate.unknown }),
  };
}

/** The accounts that have a cap. Others are not counted. */
function accountsOf(caps: Caps, { job, batchCap, caller }: CapInput): LedgerAccount[] {
  const accounts: LedgerAccount[] = [];
  const { workflowExecution } = activityInfo();
  const ofBatch = strictest(caps.batch, batchCap);
  if (job !== undefined && workflowExecution && limits(ofBatch))
    accounts.push({ scope: 'batch', name: accountName(workflowExecution.workflowId), cap: ofBatch });
  const ofKey = caller === undefined ? undefined : capOfKey(caps, caller);
  if (caller !== undefined && limits(ofKey)) accounts.push({ scope: 'key', name: caller, cap: ofKey });
  if (limits(caps.day)) accounts.push({ scope: 'day', cap: caps.day });
  return accounts;
}

const reachedFailure = (reached: ReachedCap) => capReached(capDetails(reached));

const capReached = (details: Parameters<typeof createFailure>[1]) =>
  createCallFailure('CapReached', 'submit', details ?? {});

/** It is no verdict of a cap, so Temporal tries again until the deadline. */
function throwUnreachable(error: unknown): never {
  if (!(error instanceof LedgerUnreachable)) throw error;
  throw createFailure(
    'CapReached',
    {
      message: `nothing was sent, because the ledger of the caps cannot be reached: ${error.message}`,
      advice: 'The submit is retried until the deadline.',
      attempt: activityInfo().attempt,
    },
    { retryable: true, cause: error },
  );
}

function stayCounted(error: unknown): void {
  logEvent('ledgerNotWritten', { error: cleanText(String(error)) });
}
