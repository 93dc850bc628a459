import { randomUUID } from 'node:crypto';
import { type ApplicationFailure, activityInfo, heartbeat } from '@temporalio/activity';
import { shown } from '../../src/contract/clean-text';
import type { JobCost } from '../../src/contract/job-cost';
import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import { parseRequest, type VideoRequest } from '../../src/contract/request';
import { type SentTo, sentTo } from '../../src/contract/service-choice';
import { ServiceFault } from '../../src/service';
import { StorageFault } from '../../src/storage';
import { jobId, type NamedJob, whileHeartbeating } from '../attempt';
import { estimatedCost, reportCost, serviceNameOf } from '../job-cost';
import { JobRecordFile, jobDigest, lostSubmitIn, mayKnowKey, othersWithKey, unsureIn } from '../job-record';
import { logEvent } from '../log-event';
import { measureSubmitWait } from '../measure';
import { callWithinLimits } from '../rate-limited-call';
import { type FindTools, type ForService, findForNew, type ServiceTools } from '../service-tools';
import { createCallFailure, toFailure } from '../to-failure';
import { NotSent, refuseIfLate } from './before-post';
import { type EarlierRuns, readEarlierRuns } from './earlier-runs';
import { isKnownWithoutTask, isUnconfirmed, mentionLostSubmit, sayNothingWasSent } from './failed-submit';
import { type ImageSource, withImageLink } from './image-link';
import { isWorkersChoice, LostAt } from './lost-at';
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
    const tools = findForNew(deps.find, input);
    const ofWorker = ('problem' in tools ? undefined : tools.onLostSubmit) ?? deps.onLostSubmit;
    const { onLostSubmit = ofWorker } = input;
    const attempts = await readEarlierAttempts();
    const refuse = (message: string) => {
      failOnLostSubmit(attempts.lostSubmit, onLostSubmit);
      return createCallFailure('InvalidRequest', 'submit', { message });
    };
    // The lost submit stays lost: whoever decides about it may give the worker what is missing, and decide again.
    if ('problem' in tools && input.resubmits) throw notRepeated(input, tools.problem);
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
  private readonly lostAt: LostAt;
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
    this.lostAt = new LostAt(deps.find, tools);
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
    const onRecord =
      lostSubmitIn(found, { sendWithoutTask: attempts.sendWithoutTask, isDecided: resubmits }) ??
      this.lostByFallback(unsure.elsewhere);
    if (onRecord !== undefined) this.lostAt.note(sentTo(facts.choice));
    this.lostSubmit ??= onRecord && this.lostAt.describe(onRecord);
    failOnLostSubmit(this.lostSubmit, this.lostAt.policyHere(onLostSubmit));
    const ofRuns = runs.lostSubmit === decidedLostSubmit ? undefined : runs.lostSubmit;
    if (ofRuns !== undefined) this.noteLostInRuns(runs, found && sentTo(facts.choice));
    failOnLostSubmit(ofRuns, this.lostAt.policyHere(onLostSubmit));
    if (this.lostSubmit !== undefined || ofRuns !== undefined)
      this.lostSubmits = Math.max(this.lostSubmits, 1);
    return undefined;
  }

  /** A job that names another service itself has decided to send it there. One with `services` has not. */
  private lostByFallback(answer: string | undefined): string | undefined {
    if (answer === undefined || this.input.fallback === undefined) return undefined;
    return `a request was answered with ${answer}, after which a task may exist`;
  }

  /** The input of a run may name no service or no key. Nothing was sent before the record said where to. */
  private noteLostInRuns({ service }: EarlierRuns, onRecord: SentTo | undefined): void {
    if (onRecord && (service === undefined || service.name === onRecord.service?.name))
      this.lostAt.note(onRecord);
    else if (service) this.lostAt.note({ service });
    else if (this.input.fallback !== undefined || this.isAtNamedDefault) this.lostAt.noteUnknown();
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
    this.leave({ sending: this.number, ...this.lostCount, ...this.chosenHere });
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
        ...(this.knowsLostSubmit && this.chosenHere),
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
    const isLost = isUnconfirmed(failure);
    // Whatever the worker chose may be another one when somebody decides.
    const saysWhere = isLost && isWorkersChoice(this.input.service, this.tools.choice);
    if (fallback === undefined && !this.lostAt.isElsewhere && !saysWhere) return failure;
    const triesNext = mayTryNext(fallback ?? {}, { ...attempt, failure });
    const { service, isUnnamed } = this.lostAt.verdict;
    return withVerdict(failure, {
      ...(triesNext && { triesNext }),
      ...(service && { service }),
      ...(isLost && isUnnamed && { isUnnamed }),
    });
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

  /** For the workflow, which may hear of this attempt only by its heartbeat. */
  private get chosenHere(): Pick<SubmitNote, 'service'> {
    const { choice } = this.tools;
    return choice && isWorkersChoice(this.input.service, choice) ? { service: choice } : {};
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

  /** The worker of that attempt may have had another default, or another key for new jobs. */
  private async taskOfAttempt(taskId: string): Promise<SubmittedTask> {
    const tools = isWorkersChoice(this.input.service, this.tools.choice)
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

/** An operator wants a lost submit to be repeated, and this worker cannot. Nobody else may: only its own service knows its key. */
function notRepeated({ decidedLostSubmit }: SubmitVideoInput, problem: string): ApplicationFailure {
  const message = [decidedLostSubmit, `nothing was sent again, because ${problem}`]
    .filter(Boolean)
    .join('; ');
  return createCallFailure('SubmitUnconfirmed', 'submit', { message, onLostSubmit: 'hold' });
}

/** The workflow holds the job after this failure, or ends it, as `onLostSubmit` says: see workflows/submit.ts. */
function failOnLostSubmit(lostSubmit: string | undefined, onLostSubmit: LostSubmitPolicy): void {
  if (lostSubmit === undefined || onLostSubmit === 'resubmit') return;
  throw createCallFailure('SubmitUnconfirmed', 'submit', { message: lostSubmit, onLostSubmit });
}
