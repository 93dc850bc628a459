import { randomUUID } from 'node:crypto';
import { ApplicationFailure, activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import { shown } from '../../src/contract/clean-text';
import { fromTemporalType, mayHaveMadeTask } from '../../src/contract/failure-table';
import type { JobCost } from '../../src/contract/job-cost';
import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import { POST_BEFORE_DEADLINE_MS, POST_WITHIN_MS } from '../../src/contract/policies';
import { parseRequest, type VideoRequest } from '../../src/contract/request';
import type { ServiceChoice } from '../../src/contract/service-choice';
import { createFailure, type FailureDetails } from '../../src/contract/video-failure';
import { ServiceFault } from '../../src/service';
import { StorageFault } from '../../src/storage';
import { jobId, type NamedJob, whileHeartbeating } from '../attempt';
import { estimatedCost, reportCost, serviceNameOf } from '../job-cost';
import { JobRecordFile, jobDigest, lostSubmitIn, mayKnowKey, othersWithKey, unsureIn } from '../job-record';
import { logEvent } from '../log-event';
import { measureSubmitWait } from '../measure';
import { callWithinLimits } from '../rate-limited-call';
import type { FindTools, ForService, ServiceTools } from '../service-tools';
import { createCallFailure, toFailure } from '../to-failure';
import { type EarlierRuns, readEarlierRuns } from './earlier-runs';
import { type ImageSource, withImageLink } from './image-link';
import { refuseUntaken } from './refuse-untaken';
import { type CapDeps, type CapInput, Reservation } from './reservation';
import { type EarlierAttempts, readEarlierAttempts, type SubmitNote } from './submit-note';
import {
  asTaken,
  recordedTask,
  type SubmittedTask,
  submittedTask,
  taskAt,
  toolsOnRecord,
} from './submitted-task';
import {
  type FailedAttempt,
  type FallbackInput,
  mayTryNext,
  retryDelayMs,
  unsureAnswer,
  withVerdict,
} from './verdict';

/** Input of the activity submitVideo. */
export interface SubmitVideoInput extends NamedJob, CapInput, ForService {
  request: VideoRequest;
  /** The caller's key; made from namespace, name and request by default. */
  idempotencyKey?: string;
  /** The job's policy; the worker's by default. */
  onLostSubmit?: LostSubmitPolicy;
  /** An operator decided to submit again after a lost submit. */
  resubmits?: boolean;
  /** The runs of the workflow that began with a reset or a retry: an earlier run may have submitted. */
  resetRuns?: string[];
  /** The message of the lost submit that an operator decided about: it is not reported again. */
  decidedLostSubmit?: string;
  /** Set for a job with `services`: what it needs to go on to the next one. */
  fallback?: FallbackInput;
  /** The workflow records what its job costs. An earlier version would write no memo, and a replay would miss the update. */
  takesCost?: true;
  /** The stored last frame that the request starts from, if its `image_url` names a job to continue from. */
  image?: string;
}

export interface SubmitVideoDeps extends ImageSource, CapDeps {
  find: FindTools;
  onLostSubmit: LostSubmitPolicy;
}

/**
 * Submits a request once. It sends the request again only when every earlier one is known to have made no task, or when
 * the policy or an operator says `resubmit`. A cancellation does not abort the POST, because its answer names a paid task.
 *
 * Before the POST, a heartbeat and the record in the storage both say that it is being sent; after it, both say how it
 * ended. If the worker is killed in between, the next attempt finds the lost submit by the heartbeat (submit-note.ts), a
 * new workflow of the same name by the record (job-record.ts), and a reset workflow by its earlier run (earlier-runs.ts).
 */
export function createSubmitVideo(deps: SubmitVideoDeps) {
  return async function submitVideo(input: SubmitVideoInput): Promise<SubmittedTask> {
    const startedAtMs = performance.now();
    const tools = deps.find(input.service, 'new task');
    const ofWorker = ('problem' in tools ? undefined : tools.onLostSubmit) ?? deps.onLostSubmit;
    const { onLostSubmit = ofWorker } = input;
    const attempts = await readEarlierAttempts();
    const refuse = (message: string) => {
      failOnLostSubmit(attempts.lostSubmit, onLostSubmit);
      return createCallFailure('InvalidRequest', 'submit', { message });
    };
    if ('problem' in tools) throw refuse(tools.problem);
    const parsed = parseRequest(input.request, tools.service.profile?.requestFields);
    if (!parsed.ok) throw refuse(parsed.problem);
    const { request } = parsed;
    // Not awaited: nothing that is learned is worth a later POST.
    void tools.learnedTimes.refresh();
    const attempt = new SubmitAttempt(deps, tools, {
      ...input,
      request,
      onLostSubmit,
      attempts,
      startedAtMs,
    });
    try {
      const task = await whileHeartbeating(
        () => attempt.note,
        async () => (await attempt.findTask()) ?? (await attempt.submit()),
      );
      return asTaken(task, input);
    } catch (error) {
      throw await attempt.noteOutcome(error);
    }
  };
}

interface SubmitAttemptInput extends SubmitVideoInput {
  onLostSubmit: LostSubmitPolicy;
  attempts: EarlierAttempts;
  startedAtMs: number;
}

/** One attempt of the activity: it finds the task, or submits, and leaves a note for the next attempt. */
class SubmitAttempt {
  /** What the heartbeats carry. Until this attempt knows more, they repeat the note of the one before, which they replace. */
  note: unknown = activityInfo().heartbeatDetails;
  private readonly number = activityInfo().attempt;
  private readonly record: JobRecordFile;
  private readonly idempotencyKey: string;
  /** Names the POST of this attempt in the record and in the note. */
  private readonly sendId = randomUUID();
  /** Set before the record is written: a write that fails may still have reached the storage. */
  private beganSending = false;
  /** Whether the service may have received the idempotency key before. */
  private keyWasSent: boolean;
  /** Other services of the job that may have received it. */
  private keySentTo: string[] | undefined;
  /** Why an earlier submit is lost. */
  private lostSubmit: string | undefined;
  /** The service that got the lost submit, and whether that is another one than that of this attempt. */
  private lostAt: ServiceChoice | undefined;
  private isLostElsewhere = false;
  /** How many are lost that `resubmit` repeats. */
  private lostSubmits: number;
  /** An answer to this or an earlier attempt after which this service may have a task. */
  private unsure: string | undefined;
  private readonly digest: string;
  private reservation: Reservation | undefined;
  /** By the prices of the profile, if it has any. */
  private readonly cost: JobCost | undefined;

  constructor(
    private readonly deps: SubmitVideoDeps,
    private readonly tools: ServiceTools,
    private readonly input: SubmitAttemptInput,
  ) {
    const { request, attempts, resubmits = false, resetRuns } = input;
    const job = jobId(input);
    const digest = jobDigest(job, request);
    this.digest = digest;
    this.record = JobRecordFile.of(deps.storage, { job, request, digest, image: input.image });
    this.idempotencyKey = input.idempotencyKey ?? digest;
    this.keyWasSent =
      attempts.keySent || resubmits || resetRuns !== undefined || input.idempotencyKey !== undefined;
    this.lostSubmit = attempts.lostSubmit;
    this.lostSubmits = attempts.lostSubmits;
    this.unsure = attempts.unsure;
    this.cost = estimatedCost(tools, request);
  }

  /** The task of an earlier attempt or run. Throws when one may exist and may not be submitted again. */
  async findTask(): Promise<SubmittedTask | undefined> {
    const { job, attempts, resubmits = false, resetRuns, onLostSubmit, decidedLostSubmit } = this.input;
    if (attempts.taskId !== undefined) return this.taskOfAttempt(attempts.taskId);

    const found = await this.record.read();
    if (found?.state === 'forgotten') throw wasForgotten(this.job.record.job, found.at);
    const task = recordedTask(found, this.job, { find: this.deps.find, tools: this.tools });
    if (task) {
      logEvent('onRecord', { taskId: task.taskId, record: this.record.key });
      return task;
    }

    const runs: EarlierRuns = resetRuns ? await readEarlierRuns({ job, resetRuns }) : {};
    if (runs.taskId !== undefined)
      return taskAt(runs.service, runs.taskId, this.job, { find: this.deps.find, tools: this.tools });

    const { facts } = this.record;
    this.keyWasSent ||= mayKnowKey(found, facts, this.tools.choice);
    this.keySentTo = othersWithKey(found, facts, this.tools.choice);
    const unsure = unsureIn(found, facts, this.tools.choice);
    this.unsure ??= unsure.here;
    this.lostSubmit ??= this.atService(
      lostSubmitIn(found, { sendWithoutTask: attempts.sendWithoutTask, isDecided: resubmits }) ??
        this.lostByFallback(unsure.elsewhere),
    );
    // One without a named service went to the default of that time.
    const isOfDefault = this.lostSubmit !== undefined && this.input.service === undefined;
    if (isOfDefault || this.lostSubmit !== attempts.lostSubmit)
      this.noteLostAt(facts.choice, this.input.service !== undefined);
    failOnLostSubmit(this.lostSubmit, this.policyHere(onLostSubmit));
    const ofRuns = runs.lostSubmit === decidedLostSubmit ? undefined : runs.lostSubmit;
    if (ofRuns !== undefined) this.noteLostAt(runs.service, this.input.fallback !== undefined);
    failOnLostSubmit(ofRuns, this.policyHere(onLostSubmit));
    if (this.lostSubmit !== undefined || ofRuns !== undefined)
      this.lostSubmits = Math.max(this.lostSubmits, 1);
    return undefined;
  }

  private noteLostAt(service: ServiceChoice | undefined, elsewhereIfUnknown: boolean): void {
    this.lostAt = service;
    this.isLostElsewhere = service ? service.name !== this.tools.choice?.name : elsewhereIfUnknown;
  }

  /** Only the service that got the lost submit knows its idempotency key: at another one, a resubmit would be paid again. */
  private policyHere(onLostSubmit: LostSubmitPolicy): LostSubmitPolicy {
    return this.isLostElsewhere && onLostSubmit === 'resubmit' ? 'hold' : onLostSubmit;
  }

  /** A job that names another service itself has decided to send it there. One with `services` has not. */
  private lostByFallback(answer: string | undefined): string | undefined {
    if (answer === undefined || this.input.fallback === undefined) return undefined;
    return `a request was answered with ${answer}, after which a task may exist`;
  }

  /** Whoever looks for the task must know where, if it is not the service that the job names now. */
  private atService(lostSubmit: string | undefined): string | undefined {
    const { choice } = this.record.facts;
    if (lostSubmit === undefined || choice === undefined || choice.name === this.tools.choice?.name)
      return lostSubmit;
    return `${lostSubmit} (it went to the service ${choice.name})`;
  }

  async submit(): Promise<SubmittedTask> {
    // Also for an attempt that the rate limiter would refuse: Temporal gives up what still runs at the deadline, and then
    // nobody knows that nothing was sent.
    refuseIfLate(this.input.startedAtMs);
    refuseUntaken(this.tools.service, this.input.request);
    await this.sayCost();
    const request = await withImageLink(this.input.request, this.deps, this.input.image);
    const { taskId, doubts } = await callWithinLimits(this.tools, 'submit', () => this.post(request));
    measureSubmitWait();
    for (const doubt of doubts) logEvent('ambiguousAnswer', { taskId, doubt });
    return { ...this.task(taskId), ...this.tools.learnedTimes.kindFor(this.input.request) };
  }

  /** Once, however many attempts there are. The items of a batch have theirs in the estimate of the batch: see openBatch. */
  private async sayCost(): Promise<void> {
    const { job, takesCost } = this.input;
    if (takesCost && this.cost && this.number === 1 && job === undefined) await reportCost(this.cost);
  }

  private async post(request: VideoRequest) {
    // An attempt that Temporal gives up after this note would be a lost submit, although it sends nothing.
    refuseIfLate(this.input.startedAtMs);
    const { deps, tools, input, digest, sendId, lostSubmits } = this;
    this.reservation = new Reservation({ ...deps, service: tools.service }, input, {
      request: input.request,
      digest,
      sendId,
      lostSubmits,
    });
    await this.reservation.take();
    refuseIfLate(this.input.startedAtMs);
    this.leave({ sending: this.number, ...this.lostCount });
    this.beganSending = true;
    this.record.facts = {
      cost: this.cost,
      service: serviceNameOf(tools),
      choice: tools.choice,
      keySentTo: this.keySentTo,
    };
    await this.record.writeSending(this.sendId);
    refuseIfLate(this.input.startedAtMs);
    const answer = await tools.service.submit(request, { idempotencyKey: this.idempotencyKey });
    this.leave({ taskId: answer.taskId });
    // The download finds them in the record: the workflow and its history do without.
    if (answer.warnings?.length)
      this.record.facts = { ...this.record.facts, submitWarnings: answer.warnings };
    logEvent('submitted', { job: this.input.job, taskId: answer.taskId });
    await this.record.writeTask(answer.taskId);
    await this.reservation.settle();
    return answer;
  }

  /** Notes that this attempt made no task, if that is certain. Returns what the attempt fails with. */
  async noteOutcome(error: unknown): Promise<unknown> {
    const { onLostSubmit, attempts } = this.input;
    // A StorageFault is from before the POST: writeTask and writeRefused never throw.
    const wasNotSent =
      error instanceof NotSent ||
      error instanceof StorageFault ||
      (error instanceof ServiceFault && error.kind === 'not-sent');
    const call = this.keyWasSent ? 'resubmit' : 'submit';
    const failure = toFailure(sayNothingWasSent(error), call, { onLostSubmit });
    // An attempt that sent nothing may still report the lost submit of an earlier one.
    const certainlyMadeNone = this.beganSending ? isKnownWithoutTask(failure) : !isUnconfirmed(failure);
    const triedForMs = this.triedForMs(failure);
    this.unsure ??= unsureAnswer(error);
    if (wasNotSent || certainlyMadeNone) {
      const keySent = this.keyWasSent || (this.beganSending && !wasNotSent);
      // Before the record: a slow storage could make Temporal treat the attempt as lost.
      this.leave({
        attemptWithoutTask: this.number,
        sendWithoutTask: this.beganSending ? this.sendId : attempts.sendWithoutTask,
        ...(attempts.lostSubmit !== undefined && { lostSubmit: attempts.lostSubmit }),
        ...(keySent && { keySent }),
        ...this.lostCount,
        ...(this.input.fallback && this.unsureNote),
        ...(this.input.fallback?.afterMs !== undefined && { triedForMs }),
      });
      if (this.beganSending)
        await this.record.writeRefused({ keySent, lostSubmit: this.lostSubmit, ...this.unsureNote });
      await this.reservation?.release();
    }
    const thrown = error instanceof NotSent ? error.cause : mentionLostSubmit(failure, this.lostSubmit);
    const madeNoTask =
      (wasNotSent || certainlyMadeNone) && !this.knowsLostSubmit && this.unsure === undefined;
    return this.judge(thrown, { error, madeNoTask, triedForMs });
  }

  /** Until the next attempt would come. Not by the clock: a server that skips time has another one. */
  private triedForMs(failure: unknown): number {
    const { attempts, startedAtMs } = this.input;
    return attempts.triedForMs + (performance.now() - startedAtMs) + retryDelayMs(failure);
  }

  /** Other jobs have nothing new in their failures. */
  private judge(failure: unknown, attempt: Omit<FailedAttempt, 'failure'>): unknown {
    const { fallback } = this.input;
    // The default may be another one when somebody decides.
    const isLostAtDefault = isUnconfirmed(failure) && this.isAtNamedDefault;
    if (fallback === undefined && !this.isLostElsewhere && !isLostAtDefault) return failure;
    const triesNext = mayTryNext(fallback ?? {}, { ...attempt, failure });
    const service = this.lostAt ?? this.tools.choice;
    return withVerdict(failure, { ...(triesNext && { triesNext }), ...(service && { service }) });
  }

  /** The worker chose the service, and may choose another one later. */
  private get isAtNamedDefault(): boolean {
    return this.input.service === undefined && this.tools.choice !== undefined;
  }

  private get knowsLostSubmit(): boolean {
    return (
      this.lostSubmit !== undefined || this.lostSubmits > 0 || this.input.attempts.lostSubmit !== undefined
    );
  }

  private get lostCount(): Pick<SubmitNote, 'lostSubmits'> {
    return this.lostSubmits > 0 ? { lostSubmits: this.lostSubmits } : {};
  }

  private get unsureNote(): Pick<SubmitNote, 'unsure'> {
    return this.unsure === undefined ? {} : { unsure: this.unsure };
  }

  private leave(note: SubmitNote): void {
    this.note = note;
    heartbeat(note);
  }

  /** The worker of that attempt may have had another default. */
  private async taskOfAttempt(taskId: string): Promise<SubmittedTask> {
    const tools = this.isAtNamedDefault
      ? await toolsOnRecord(this.record, { find: this.deps.find, tools: this.tools })
      : this.tools;
    return submittedTask(taskId, this.job, tools);
  }

  private task(taskId: string): SubmittedTask {
    return submittedTask(taskId, this.job, this.tools);
  }

  private get job() {
    return { record: this.record, request: this.input.request };
  }
}

/** Its video was paid for once. Whoever repeats the job by mistake must not pay again, nor bring back what was to be gone. */
function wasForgotten(job: string, at: string): ApplicationFailure {
  return createCallFailure('InvalidRequest', 'submit', {
    message: `${shown(job)} was forgotten at ${at}, and nothing is paid again under its name and request: choose another name to make the video again, which is paid again`,
  });
}

/** The workflow holds the job after this failure, or ends it, as `onLostSubmit` says: see workflows/submit.ts. */
function failOnLostSubmit(lostSubmit: string | undefined, onLostSubmit: LostSubmitPolicy): void {
  if (lostSubmit === undefined || onLostSubmit === 'resubmit') return;
  throw createCallFailure('SubmitUnconfirmed', 'submit', { message: lostSubmit, onLostSubmit });
}

/** The attempt ended before its POST, and neither the service nor the storage is to blame. */
class NotSent extends Error {
  override readonly name = 'NotSent';
}

/** Sends nothing once Temporal may have given this attempt up: an operator or a retry may act on that already. */
function refuseIfLate(startedAtMs: number): void {
  const signal = cancellationSignal();
  if (signal.aborted) throw new NotSent('cancelled', { cause: signal.reason });
  const { scheduleToCloseTimeoutMs, scheduledTimestampMs, currentAttemptScheduledTimestampMs } =
    activityInfo();
  const elapsedMs = performance.now() - startedAtMs;
  const beforeAttemptMs = currentAttemptScheduledTimestampMs - scheduledTimestampMs;
  const remainingMs = scheduleToCloseTimeoutMs
    ? scheduleToCloseTimeoutMs - beforeAttemptMs - elapsedMs
    : Number.POSITIVE_INFINITY;
  if (elapsedMs > POST_WITHIN_MS) throw new StorageFault('recording the request took too long');
  if (remainingMs < POST_BEFORE_DEADLINE_MS) {
    throw new NotSent('late', { cause: createFailure('DeadlineExceeded', { message: 'nothing was sent' }) });
  }
}

/** The storage is needed before the submit, so that nobody pays for a video that cannot be stored. */
function sayNothingWasSent(error: unknown): unknown {
  if (!(error instanceof StorageFault)) return error;
  const { isFinal, message } = error;
  return new StorageFault(`nothing was sent, because the storage failed: ${message}`, {
    isFinal,
    cause: error,
  });
}

/** A failure of this attempt does not settle a submit that was lost before. */
function mentionLostSubmit(failure: unknown, lostSubmit: string | undefined): unknown {
  if (lostSubmit === undefined || !(failure instanceof ApplicationFailure) || isUnconfirmed(failure))
    return failure;
  const type = fromTemporalType(failure.type);
  if (type === undefined) return failure;
  const details: FailureDetails = Object(failure.details?.[0]);
  const message = [details.message, `a task may still exist, because ${lostSubmit}`]
    .filter(Boolean)
    .join('; ');
  const { nonRetryable, nextRetryDelay, cause } = failure;
  return createFailure(
    type,
    { ...details, message },
    {
      retryable: !nonRetryable,
      nextRetryDelayMs: typeof nextRetryDelay === 'number' ? nextRetryDelay : undefined,
      cause,
    },
  );
}

function isUnconfirmed(failure: unknown): boolean {
  return failure instanceof ApplicationFailure && fromTemporalType(failure.type) === 'SubmitUnconfirmed';
}

/** Of an error that the failure table does not know, nothing is known. */
function isKnownWithoutTask(failure: unknown): boolean {
  const type = failure instanceof ApplicationFailure ? fromTemporalType(failure.type) : undefined;
  return type !== undefined && !mayHaveMadeTask(type);
}
