import { randomUUID } from 'node:crypto';
import { ApplicationFailure, activityInfo, metricMeter } from '@temporalio/activity';
import { durationMs } from '../../src/contract/duration';
import type { JobOptions } from '../../src/contract/job';
import { type JobCost, withLostSubmits } from '../../src/contract/job-cost';
import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import { observe } from '../../src/contract/metrics';
import { SUBMIT_POLICY } from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import { estimateJob } from '../../src/service/prices';
import { type JobRecord, recordedJob } from '../../src/storage/job-record';
import { StorageFault } from '../../src/storage/storage-fault';
import { logEvent, whileHeartbeating } from '../attempt';
import { callWithinLimits } from '../call-within-limits';
import type { CountedSubmit, SubmitCaps } from '../caps';
import {
  digestOf,
  openRecord,
  recordTask,
  type SubmittedTask,
  takeUpTask,
  warnNotRecorded,
} from '../record-task';
import { requestOnRecord } from '../request-on-record';
import type { FindTools, ServiceTools } from '../service-tools';
import { createCallFailure, toFailure } from '../to-failure';
import { type KnownSubmits, knownSubmits, leaveOthersTime, readKnownSubmits } from './known-submits';
import { type ImageSource, prepareRequest } from './prepare-request';
import { refuseIfCancelled } from './refuse-if-cancelled';
import { endWithoutTask, explainSubmitFailure, refuseIfLate } from './submit-failure';
import { SubmitNotes } from './submit-note';

/** Input of the activity submitVideo. */
export interface SubmitVideoInput
  extends Pick<
    JobOptions,
    'service' | 'idempotencyKey' | 'onLostSubmit' | 'polling' | 'cap' | 'sharedCap' | 'caller'
  > {
  request: VideoRequest;
  /** The ids of lost submits that an operator decided to repeat: they are not reported again. */
  repeats?: string[];
  /** The run of the workflow began with a reset or a retry: an earlier one may have submitted. */
  isReset?: boolean;
  /** How long it is retried if the service certainly made no task; until the deadline by default. */
  withinMs?: number;
  /** The task queue of the workflow, on which the ledger of the caps runs. */
  ledgerQueue?: string;
}

export interface SubmitVideoDeps extends ImageSource {
  find: FindTools;
  onLostSubmit: LostSubmitPolicy;
  caps: SubmitCaps;
}

/**
 * Submits a request once. It sends the request again only when every earlier one is known to have made no task, or when
 * the policy or an operator says `resubmit`. A cancellation does not abort the POST, because its answer names a paid task.
 *
 * Before the POST, a heartbeat and the record in the storage both say that it is being sent; after it, both say how it
 * ended. If the worker is killed in between, the next attempt finds the lost submit by the heartbeat (submit-note.ts), a
 * new workflow of the same name by the record (src/storage/job-record.ts), and a reset workflow by its earlier run
 * (earlier-runs.ts).
 */
export function createSubmitVideo(deps: SubmitVideoDeps) {
  return async function submitVideo(input: SubmitVideoInput): Promise<SubmittedTask> {
    const startedAtMs = performance.now();
    const notes = await SubmitNotes.read();
    const submit = new Submit(deps, input, notes, startedAtMs);
    return whileHeartbeating(
      () => submit.run(),
      () => notes.current,
    );
  };
}

/** One attempt of the activity: it finds the task, or sends the request, and leaves a note for the next attempt. */
class Submit {
  private readonly digest: string;
  private readonly record: JobRecord;
  /** Names the POST of this attempt. */
  private readonly sendId = randomUUID();
  /** How far it came. `announced`: the record may say that this attempt sends, also after a write that failed. */
  private stage: 'started' | 'announced' | 'posted' = 'started';
  /** Until the record is read, what the notes say. */
  private known: KnownSubmits;
  private tools: ServiceTools | undefined;
  private counted: CountedSubmit | undefined;

  constructor(
    private readonly deps: SubmitVideoDeps,
    private readonly input: SubmitVideoInput,
    private readonly notes: SubmitNotes,
    private readonly startedAtMs: number,
  ) {
    // A workflow of the host's own may give any request: prepareRequest refuses it.
    this.digest = digestOf(Object(input.request));
    this.record = openRecord(deps.storage, this.digest);
    this.known = knownSubmits(recordedJob([]), notes.before, input);
  }

  async run(): Promise<SubmittedTask> {
    try {
      this.known = await readKnownSubmits(this.record, this.notes.before, this.input);
      const { task } = this.known;
      if (task) return await takeUpTask(this.deps, this.record, this.known, task, this.input);
      this.tools = this.findTools();
      this.failOnLost();
      return await this.send(this.tools);
    } catch (error) {
      throw await this.noteFailure(error);
    }
  }

  /** Only the service that got a lost submit knows its idempotency key, whichever one the job names now. */
  private findTools(): ServiceTools {
    const { sentTo, lost } = this.known;
    const { find } = this.deps;
    const found = sentTo ? find(sentTo.service) : find(this.input.service, 'new task');
    if (!('problem' in found)) return found;
    const { problem } = found;
    const { id: lostSubmit = this.input.repeats?.at(-1), why } = lost.at(-1) ?? {};
    if (lostSubmit === undefined) throw createCallFailure('InvalidRequest', 'submit', { message: problem });
    // The lost submit stays lost: the one who decides may give the worker what is missing, and decide again.
    const message = [why, `nothing was sent again, because ${problem}`].filter(Boolean).join('; ');
    const onLostSubmit = this.onLostSubmit === 'fail' ? 'fail' : 'hold';
    throw createCallFailure('SubmitUnconfirmed', 'submit', { message, lostSubmit, onLostSubmit });
  }

  /** The workflow holds the job after this failure, or ends it, as `onLostSubmit` says: see workflows/submit.ts. */
  private failOnLost(): void {
    const { onLostSubmit, tools, known } = this;
    const { id: lostSubmit, why: message } = known.lost.at(-1) ?? {};
    if (lostSubmit === undefined) return;
    leaveOthersTime(known.recorded);
    if (onLostSubmit === 'resubmit') return;
    const details = { message, lostSubmit, onLostSubmit, service: tools?.name };
    throw createCallFailure('SubmitUnconfirmed', 'submit', details);
  }

  private get onLostSubmit(): LostSubmitPolicy {
    return this.input.onLostSubmit ?? this.tools?.onLostSubmit ?? this.deps.onLostSubmit;
  }

  private async send(tools: ServiceTools): Promise<SubmittedTask> {
    // Also for an attempt that the rate limiter would refuse: Temporal gives up what still runs at the deadline, and then
    // nobody knows that nothing was sent.
    refuseIfLate(this.startedAtMs);
    await refuseIfCancelled();
    const { pollPlan, service: at, name: service } = tools;
    const { request: given, polling } = this.input;
    const request = await prepareRequest(given, at, this.deps);
    const cost = withLostSubmits(estimateJob(tools, request), this.known.repeated);
    const { taskId, doubts = [] } = await callWithinLimits(tools, 'submit', () =>
      this.post(tools, request, cost),
    );
    // From the server's clock to ours: as exact as the two agree.
    const waitedMs = Date.now() - activityInfo().scheduledTimestampMs;
    observe(metricMeter, 'videogen_submit_wait_seconds', waitedMs / 1_000);
    for (const doubt of doubts) logEvent('ambiguousAnswer', { taskId, doubt });
    const kind = pollPlan.kindOf(given);
    const nextPollMs = pollPlan.nextPollMs({ kind, waitedMs: 0, polling });
    return { taskId, service, record: this.record.id, nextPollMs, kind, cost };
  }

  private async post(tools: ServiceTools, request: VideoRequest, cost: JobCost | undefined) {
    const { sendId: send, record } = this;
    const { name: service } = tools;
    await this.reserve(tools, request);
    refuseIfLate(this.startedAtMs);
    this.notes.sending(send, service);
    this.stage = 'announced';
    const { request: given, repeats, idempotencyKey = this.digest, caller, polling } = this.input;
    const sending = { id: send, request: requestOnRecord(given), repeats, service, cost };
    if (!(await record.addIfLast({ event: 'sending', ...sending }))) {
      this.stage = 'started';
      throw new StorageFault('another run of this job has written to its record');
    }
    refuseIfLate(this.startedAtMs);
    this.stage = 'posted';
    const answer = await tools.service.start(request, { idempotencyKey });
    const { taskId, warnings } = answer;
    this.notes.task(taskId, service);
    const firstPoll = tools.pollPlan.describeFirstPoll({ kind: tools.pollPlan.kindOf(given), polling });
    logEvent('submitted', { taskId, firstPoll });
    await recordTask(this.deps.storage, record, { send, taskId, service, warnings, cost }, caller);
    return answer;
  }

  /** Counts the request under the caps. */
  private async reserve({ service }: ServiceTools, request: VideoRequest): Promise<void> {
    refuseIfLate(this.startedAtMs);
    const { sendId } = this;
    const { repeated: lostSubmits } = this.known;
    const { cap, sharedCap, caller, ledgerQueue = activityInfo().taskQueue } = this.input;
    const counted = { sendId, lostSubmits, request, service, cap, sharedCap, caller, ledgerQueue };
    await this.deps.caps.reserve(counted);
    this.counted = counted;
  }

  /** Notes that this attempt ended without a task, if the answer tells. Returns what the attempt fails with. */
  private async noteFailure(error: unknown): Promise<unknown> {
    const { known, notes, record, sendId, stage, onLostSubmit, tools } = this;
    const { request, idempotencyKey, withinMs } = this.input;
    const keySent = known.keySent || idempotencyKey !== undefined;
    const failure = toFailure(error, keySent ? 'resubmit' : 'submit', {
      onLostSubmit,
      lostSubmit: sendId,
      service: tools?.name,
      // The storage is needed before the submit, so that nobody pays for a video that cannot be stored.
      ...(error instanceof StorageFault && {
        message: `nothing was sent, because the storage failed: ${error.message}`,
      }),
    });
    const outcome = endWithoutTask(error, failure, stage === 'posted');
    const triedMs = withinMs && this.triedMs(failure);
    if (outcome !== undefined) {
      // Before the record: a slow storage could make Temporal treat the attempt as lost.
      notes.withoutTask(outcome, triedMs);
      // It takes the number of an announcement that may still arrive.
      if (stage !== 'started')
        await record
          .add({ event: 'refused', send: sendId, outcome })
          .catch((fault: unknown) => warnNotRecorded(record, fault));
      if (this.counted) await this.deps.caps.settle(this.counted, 'nothing');
    }
    const { lost, repeated } = known;
    const mayHaveTask = known.mayHaveTask || outcome === 'unclear';
    // However this submit ends, those before it may have been paid for.
    const cost = repeated > 0 ? withLostSubmits(tools && estimateJob(tools, request), repeated) : undefined;
    const isTurnOver = Number(triedMs) > Number(withinMs);
    return explainSubmitFailure(failure, { lost, mayHaveTask }, cost, isTurnOver);
  }

  /** How long the service has been tried once the next attempt begins. */
  private triedMs(failure: unknown): number {
    const { initialInterval, backoffCoefficient, maximumInterval } = SUBMIT_POLICY.retry;
    const backoffMs = initialInterval * backoffCoefficient ** (activityInfo().attempt - 1);
    const { nextRetryDelay } = failure instanceof ApplicationFailure ? failure : {};
    const untilNextMs = durationMs(nextRetryDelay) ?? Math.min(backoffMs, maximumInterval);
    return (this.notes.before.triedMs ?? 0) + performance.now() - this.startedAtMs + untilNextMs;
  }
}
