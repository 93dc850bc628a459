import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { PolledTask, SubmittedTask } from '../activities';
import { codeMarkdown, plainMarkdown } from '../src/contract/clean-text';
import {
  type ExpectedVideo,
  expectedOf,
  type JobInput,
  type JobPhase,
  type JobProgress,
  type StoredVideo,
} from '../src/contract/job';
import { type JobCost, mergeCosts } from '../src/contract/job-cost';
import type { LostSubmitPolicy } from '../src/contract/lost-submit';
import { LONGEST_CARRIED_TEXT_BYTES, UNKNOWN_TASK_GRACE_MS } from '../src/contract/policies';
import { describeVideo } from '../src/contract/summaries';
import { createFailure, type VideoFailure } from '../src/contract/video-failure';
import type { CarriedJob } from './carried-over';
import { SubmitHold } from './hold';
import { timesOf } from './input';
import { TaskObservations } from './task-observations';
import { tellParent } from './tell-parent';
import { currentDetails, updateMemo, updateSearchAttributes } from './ui-details';

/** The state of one job. The query, the Temporal UI and continue-as-new all read it from here. */
export class Job {
  /** The workflow id. */
  readonly name = workflowInfo().workflowId;
  taskId: string | undefined;
  /** The named service of the job; undefined for the worker's default. Once there is a task, it is the one that has it. */
  service: string | undefined;
  /** The id of the job's record in the storage. */
  record: string | undefined;
  /** What the worker learns from the task is filed under; undefined for a task that began before this job knew of it. */
  kind: string | undefined;
  /** When the activities want to poll the task, from their last answer on. */
  nextPollMs: number;
  /** The job took over a task that it did not submit. */
  isAdopted: boolean;
  /** The record says that the video is stored. */
  isStored = false;
  /** What the video should be. */
  readonly expected: ExpectedVideo | undefined;
  /** What is known about what the job costs. */
  cost: JobCost | undefined;
  readonly observed: TaskObservations;
  readonly hold: SubmitHold;
  /** Set by `pollNow`. A request that arrives during a poll asks for another one. */
  pollRequested: boolean;
  failure: VideoFailure | undefined;
  /** Markdown for the Temporal UI, once the job has ended. */
  ending: string | undefined;
  readonly startedAtMs: number;
  private phase: JobPhase = 'submitting';
  private submittedAtMs: number;
  private nextPollAtMs: number | undefined;
  private readonly deadlineMs: number;
  private hasDefaultReceiver: boolean;
  private webhook: JobProgress['webhook'];

  constructor(
    readonly input: JobInput,
    carried?: CarriedJob,
  ) {
    const { deadlineMs, holdMs } = timesOf(input);
    this.deadlineMs = deadlineMs;
    this.hold = new SubmitHold(holdMs, carried?.pastHoldsMs);
    this.observed = new TaskObservations(carried);
    this.startedAtMs = carried?.startedAtMs ?? Date.now();
    this.submittedAtMs = carried?.submittedAtMs ?? this.startedAtMs;
    this.taskId = carried?.taskId;
    this.service = carried ? carried.service : (input.service ?? undefined);
    this.record = carried?.record;
    this.kind = carried?.kind;
    this.nextPollMs = carried?.nextPollMs ?? 0;
    this.isAdopted = carried?.isAdopted ?? false;
    this.expected = input.request == null ? undefined : expectedOf(input.request);
    this.cost = carried?.cost;
    this.pollRequested = carried?.pollRequested ?? false;
    this.hasDefaultReceiver = carried?.hasReceiver ?? false;
  }

  /** The task, for what only a job with a task does. */
  get ownTaskId(): string {
    if (this.taskId === undefined) throw createFailure('Unexpected', { message: 'the job has no task' });
    return this.taskId;
  }

  enter(phase: JobPhase): void {
    this.phase = phase;
    this.show();
  }

  /** From here on every failure, log line and detail names the task. */
  recordSubmitted(task: SubmittedTask): void {
    const { taskId, service, record, kind, nextPollMs, cost, isStored = false, hasReceiver } = task;
    this.taskId = taskId;
    this.service = service;
    this.record = record;
    this.kind = kind;
    this.nextPollMs = nextPollMs;
    this.isStored = isStored;
    this.cost = mergeCosts(this.cost, cost);
    this.submittedAtMs = Date.now();
    this.recordReceiver(hasReceiver);
    tellParent({ taskId });
    this.show();
  }

  /** Takes a task that this job did not submit. Whoever named it may be mistaken. */
  recordAdopted(task: SubmittedTask): void {
    this.isAdopted = true;
    this.recordSubmitted(task);
  }

  /** Whether webhooks of this job go anywhere. */
  get hasReceiver(): boolean {
    return this.input.callbackUrl != null || this.hasDefaultReceiver;
  }

  /** Any worker that has a default receiver is enough. */
  recordReceiver(hasReceiver: boolean | undefined): void {
    this.hasDefaultReceiver ||= hasReceiver === true;
  }

  recordWebhook(webhook: JobProgress['webhook']): void {
    this.webhook = webhook;
    this.show();
  }

  lostSubmitPolicy({ details }: VideoFailure): LostSubmitPolicy {
    return details.onLostSubmit ?? this.input.onLostSubmit ?? 'hold';
  }

  /** Why no decision is needed. */
  whyNoDecision(): string {
    return this.hold.decision ? 'somebody has already decided' : `the job is ${this.phase}`;
  }

  get isWaiting(): boolean {
    return this.phase === 'waiting';
  }

  recordStatus(status: PolledTask): void {
    this.observed.recordStatus(status, this.waitedMs());
    this.nextPollMs = status.nextPollMs;
    this.recordReceiver(status.hasReceiver);
    if (status.charged) this.cost = mergeCosts(this.cost, { charged: status.charged });
    this.show();
  }

  recordPollFailure(failure: VideoFailure): void {
    this.observed.recordPollFailure(failure);
    this.show();
  }

  planPoll(delayMs: number): void {
    this.nextPollAtMs = Date.now() + delayMs;
    this.observed.plannedMs = delayMs;
    this.show();
  }

  markSucceeded(video: StoredVideo, warnings: string[]): void {
    const notes = warnings.map((warning) => `Note: ${warning}.`);
    const lines = [describeVideo(video), ...notes].map(plainMarkdown);
    this.ending = [codeMarkdown(video.uri), ...lines].join('\n\n');
    this.enter('succeeded');
  }

  markFailed(failure: VideoFailure, atService = ''): void {
    this.failure = failure;
    this.ending = [plainMarkdown(failure.message), atService].filter(Boolean).join('\n\n');
    this.enter(failure.type === 'Cancelled' ? 'cancelled' : 'failed');
  }

  /**
   * A service may not know its new task everywhere at once, and may miss it in a single poll later. An adopted task that
   * was never seen does not exist.
   */
  taskIsGone(): boolean {
    if (this.observed.task === undefined && this.isAdopted) return true;
    return this.observed.isMissing && this.waitedMs() > UNKNOWN_TASK_GRACE_MS;
  }

  waitedMs(): number {
    return Date.now() - this.submittedAtMs;
  }

  remainingMs(): number {
    return Math.max(0, this.deadlineAtMs() - Date.now());
  }

  private deadlineAtMs(): number {
    return this.startedAtMs + this.deadlineMs + this.hold.heldMs;
  }

  /** What the next run needs. Called only while the job waits for its task. */
  carry(): CarriedJob {
    return {
      taskId: this.taskId,
      service: this.service,
      record: this.record,
      kind: this.kind,
      nextPollMs: this.nextPollMs,
      isAdopted: this.isAdopted || undefined,
      cost: this.cost,
      startedAtMs: this.startedAtMs,
      submittedAtMs: this.submittedAtMs,
      pastHoldsMs: this.hold.heldMs || undefined,
      pollRequested: this.pollRequested || undefined,
      hasReceiver: this.hasDefaultReceiver || undefined,
      ...this.observed.carry(LONGEST_CARRIED_TEXT_BYTES),
    };
  }

  progress(): JobProgress {
    const { task, polls, problem } = this.observed;
    const pollsAgain = this.isWaiting && this.nextPollAtMs !== undefined;
    return {
      phase: this.phase,
      taskId: this.taskId,
      ...(this.service && { service: this.service }),
      task,
      polls,
      startedAt: isoTime(this.startedAtMs),
      deadlineAt: isoTime(this.deadlineAtMs()),
      nextPollAt: pollsAgain ? isoTime(this.nextPollAtMs ?? 0) : undefined,
      cost: this.cost,
      hold: this.hold.progress(),
      webhook: this.webhook,
      problem,
    };
  }

  private show(): void {
    const progress = this.progress();
    updateMemo(progress);
    setCurrentDetails(currentDetails(progress, this.ending, this.name));
    updateSearchAttributes({ ...progress, failure: this.failure?.type });
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
