import { randomUUID } from 'node:crypto';
import { activityInfo } from '@temporalio/activity';
import type { Cap } from '../../src/contract/caps';
import type { JobOptions } from '../../src/contract/job';
import { type JobCost, withLostSubmits } from '../../src/contract/job-cost';
import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import type { VideoRequest } from '../../src/contract/request';
import { estimateJob } from '../../src/service/prices';
import type { JobRecord } from '../../src/storage/job-record';
import { StorageFault } from '../../src/storage/storage-fault';
import { whileHeartbeating } from '../attempt';
import type { CountedSubmit, SubmitCaps } from '../caps';
import { digestOf, openRecord, recordTask, warnNotRecorded } from '../job-record';
import { logEvent } from '../log-event';
import { measureSubmitWait } from '../measure';
import { callWithinLimits } from '../rate-limited-call';
import { requestOnRecord } from '../request-on-record';
import type { FindTools, ServiceTools } from '../service-tools';
import { createCallFailure, toFailure } from '../to-failure';
import { type KnownSubmits, type KnownTask, leaveOthersTime, readKnownSubmits } from './known-submits';
import { type ImageSource, prepareRequest } from './prepare-request';
import {
  madeNoTask,
  mentionTask,
  NotSent,
  refuseIfLate,
  retryDelayMs,
  sayNothingWasSent,
  unsureAnswer,
  wasNotSent,
  withoutRetries,
} from './submit-failure';
import { SubmitNotes } from './submit-note';
import { type SubmittedTask, submittedTask } from './submitted-task';

/** Input of the activity submitVideo. */
export interface SubmitVideoInput {
  request: VideoRequest;
  /** The named service to submit to; the worker's default without it. */
  service?: string;
  /** The caller's key; made from namespace, name and request by default. */
  idempotencyKey?: string;
  /** The job's policy; the worker's by default. */
  onLostSubmit?: LostSubmitPolicy;
  /** The ids of lost submits that an operator decided to repeat: they are not reported again. */
  repeats?: string[];
  /** The runs of the workflow that began with a reset or a retry: an earlier run may have submitted. */
  resetRuns?: string[];
  /** How long it is retried if the service certainly made no task; until the deadline by default. */
  withinMs?: number;
  /** How the job wants its task to be polled. */
  polling?: JobOptions['polling'];
  cap?: Cap;
  sharedCap?: CountedSubmit['sharedCap'];
  /** Whose job it is. */
  caller?: string;
  /** The task queue of the workflow, on which the ledger of the caps runs. */
  ledgerQueue?: string;
}

export interface SubmitVideoDeps extends ImageSource {
  find: FindTools;
  onLostSubmit: LostSubmitPolicy;
  /** Without it nothing is counted. */
  caps?: SubmitCaps | undefined;
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
      () => notes.current,
      () => submit.run(),
    );
  };
}

/** One attempt of the activity: it finds the task, or sends the request, and leaves a note for the next attempt. */
class Submit {
  private readonly digest: string;
  private readonly record: JobRecord;
  /** Names the POST of this attempt. */
  private readonly sendId = randomUUID();
  /** Once the record may say that this attempt sends: also after a write that failed. */
  private isAnnounced = false;
  private known: KnownSubmits | undefined;
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
  }

  async run(): Promise<SubmittedTask> {
    try {
      const known = await readKnownSubmits(this.record, this.notes, this.input);
      this.known = known;
      if (known.task) return await this.takeUp(known, known.task);
      const tools = this.findTools(known);
      this.tools = tools;
      this.failOnLost(known, tools);
      return await this.send(tools);
    } catch (error) {
      throw await this.noteFailure(error);
    }
  }

  /** A task that is paid for already. The worker that made it may have died before it wrote it down. */
  private async takeUp({ recorded }: KnownSubmits, task: KnownTask): Promise<SubmittedTask> {
    const { storage, find } = this.deps;
    if (recorded.task?.taskId !== task.taskId)
      await recordTask(storage, this.record, task, this.input.caller);
    const isStored = recorded.stored?.taskId === task.taskId;
    const cost = (isStored && recorded.stored?.cost) || recorded.task?.cost;
    const job = { record: this.record.id, request: this.input.request, cost };
    return { ...submittedTask(task, job, find(task.service)), ...(isStored && { isStored }) };
  }

  /** Only the service that got a lost submit knows its idempotency key, whichever one the job names now. */
  private findTools({ unconfirmed, lost }: KnownSubmits): ServiceTools {
    const noted = lost.findLast(({ service }) => service !== undefined)?.service;
    const found = unconfirmed
      ? this.deps.find(unconfirmed.service)
      : this.deps.find(noted ?? this.input.service, 'new task');
    if (!('problem' in found)) return found;
    const { problem } = found;
    const lostSubmit = lost.at(-1)?.id ?? this.input.repeats?.at(-1);
    if (lostSubmit === undefined) throw createCallFailure('InvalidRequest', 'submit', { message: problem });
    // The lost submit stays lost: whoever decides about it may give the worker what is missing, and decide again.
    const message = [lost.at(-1)?.why, `nothing was sent again, because ${problem}`]
      .filter(Boolean)
      .join('; ');
    const onLostSubmit = this.onLostSubmit === 'fail' ? 'fail' : 'hold';
    throw createCallFailure('SubmitUnconfirmed', 'submit', { message, lostSubmit, onLostSubmit });
  }

  /** The workflow holds the job after this failure, or ends it, as `onLostSubmit` says: see workflows/submit.ts. */
  private failOnLost(known: KnownSubmits, { name: service }: ServiceTools): void {
    const last = known.lost.at(-1);
    const { onLostSubmit } = this;
    if (last === undefined) return;
    leaveOthersTime(known);
    if (onLostSubmit === 'resubmit') return;
    const { id: lostSubmit, why: message } = last;
    throw createCallFailure('SubmitUnconfirmed', 'submit', { message, lostSubmit, onLostSubmit, service });
  }

  private get onLostSubmit(): LostSubmitPolicy {
    return this.input.onLostSubmit ?? this.tools?.onLostSubmit ?? this.deps.onLostSubmit;
  }

  private async send(tools: ServiceTools): Promise<SubmittedTask> {
    // Also for an attempt that the rate limiter would refuse: Temporal gives up what still runs at the deadline, and then
    // nobody knows that nothing was sent.
    refuseIfLate(this.startedAtMs);
    // Not awaited: nothing that is learned is worth a later POST.
    void tools.pollPlan.refresh();
    const { request: given, polling } = this.input;
    const request = await prepareRequest(given, tools.service, this.deps);
    const cost = withLostSubmits(estimateJob(tools, request), this.lostSubmits);
    const { taskId, doubts } = await callWithinLimits(tools, 'submit', () => this.post(tools, request, cost));
    measureSubmitWait();
    for (const doubt of doubts) logEvent('ambiguousAnswer', { taskId, doubt });
    const job = { record: this.record.id, request: given, cost, isNew: { polling } };
    return submittedTask({ taskId, service: tools.name }, job, tools);
  }

  private async post(tools: ServiceTools, request: VideoRequest, cost: JobCost | undefined) {
    const { sendId: send, record } = this;
    const { name: service } = tools;
    await this.reserve(tools, request);
    refuseIfLate(this.startedAtMs);
    this.notes.sending(send, service);
    this.isAnnounced = true;
    await this.announce({ service, cost });
    refuseIfLate(this.startedAtMs);
    const { idempotencyKey = this.digest, caller } = this.input;
    const answer = await tools.service.submit(request, { idempotencyKey });
    const { taskId, warnings } = answer;
    this.notes.task(taskId, service);
    logEvent('submitted', { taskId });
    await recordTask(this.deps.storage, record, { send, taskId, service, warnings, cost }, caller);
    return answer;
  }

  /** Counts the request under the caps. */
  private async reserve({ service }: ServiceTools, request: VideoRequest): Promise<void> {
    const { caps } = this.deps;
    if (caps === undefined) return;
    refuseIfLate(this.startedAtMs);
    const { sendId, lostSubmits } = this;
    const { cap, sharedCap, caller, ledgerQueue = activityInfo().taskQueue } = this.input;
    const counted = { sendId, lostSubmits, request, service, cap, sharedCap, caller, ledgerQueue };
    await caps.reserve(counted);
    this.counted = counted;
  }

  /** How many submits of the job are lost: each may have been paid for. The record has those of earlier jobs of its name. */
  private get lostSubmits(): number {
    const { lost = [], recorded } = this.known ?? {};
    return Math.max(recorded?.paidSends.length ?? 0, lost.length + (this.input.repeats?.length ?? 0));
  }

  /** However this submit ends, those before it may have been paid for. */
  private costOfLost(): JobCost | undefined {
    const { tools, lostSubmits, input } = this;
    return lostSubmits > 0
      ? withLostSubmits(tools && estimateJob(tools, input.request), lostSubmits)
      : undefined;
  }

  private async announce(about: { service: string | undefined; cost: JobCost | undefined }): Promise<void> {
    const { repeats } = this.input;
    const request = requestOnRecord(this.input.request);
    const sending = { event: 'sending', id: this.sendId, request, repeats, ...about } as const;
    if (await this.record.addIfLast(sending)) return;
    this.isAnnounced = false;
    throw new StorageFault('another run of this job has written to its record');
  }

  /** Notes that this attempt made no task, if that is certain. Returns what the attempt fails with. */
  private async noteFailure(error: unknown): Promise<unknown> {
    const { isAnnounced, sendId, onLostSubmit, known } = this;
    const keyWasSent = known?.keySent === true || this.input.idempotencyKey !== undefined;
    const failure = toFailure(sayNothingWasSent(error), keyWasSent ? 'resubmit' : 'submit', {
      onLostSubmit,
      service: this.tools?.name,
      ...(isAnnounced && { lostSubmit: sendId }),
    });
    const { withinMs, repeats } = this.input;
    // Whoever decided to repeat a lost submit may be mistaken.
    const before = known?.unsure ?? this.notes.before.unsure ?? (repeats && 'a lost submit');
    const unsure = before ?? unsureAnswer(error);
    const lost = (known?.lost ?? this.notes.lost).at(-1);
    const explained = mentionTask(error instanceof NotSent ? error.cause : failure, {
      lost,
      unsure,
      cost: this.costOfLost(),
    });
    const triedMs =
      withinMs && this.notes.triedMs(performance.now() - this.startedAtMs, retryDelayMs(explained));
    if (wasNotSent(error) || madeNoTask(failure, isAnnounced)) {
      const keySent = keyWasSent || (isAnnounced && !wasNotSent(error));
      // Before the record: a slow storage could make Temporal treat the attempt as lost.
      this.notes.withoutTask(isAnnounced ? sendId : undefined, { keySent, unsure, triedMs });
      // It takes the number of an announcement that may still arrive.
      const refused = { event: 'refused', send: sendId, keySent, unsure } as const;
      if (isAnnounced)
        await this.record.add(refused).catch((fault: unknown) => warnNotRecorded(this.record, fault));
      if (this.counted) await this.deps.caps?.settle(this.counted, 'nothing');
    }
    return triedMs && withinMs && triedMs > withinMs ? withoutRetries(explained) : explained;
  }
}
