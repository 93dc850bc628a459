import type { SubmittedTask } from '../activities';
import type { Cap } from '../src/contract/caps';
import type { CarriedJob } from '../src/contract/carried-over';
import { codeMarkdown, plainMarkdown } from '../src/contract/clean-text';
import { describeExtra, EXTRA_NAMES, type StoredExtras } from '../src/contract/extras';
import type {
  DownloadProgress,
  JobOptions,
  JobPhase,
  JobProgress,
  ServicePolling,
  SignalledDecision,
  StoredVideo,
  TaskStatus,
} from '../src/contract/job';
import { type JobCost, mergeCosts } from '../src/contract/job-cost';
import type { JobIdentity } from '../src/contract/job-identity';
import type { LostSubmitPolicy } from '../src/contract/lost-submit';
import { UNKNOWN_TASK_GRACE_MS } from '../src/contract/policies';
import type { VideoRequest } from '../src/contract/request';
import { choiceOf, type SentTo, type ServiceChoice } from '../src/contract/service-choice';
import { describeVideo } from '../src/contract/summaries';
import { type EndedTask, isUsualTimes, type UsualTimes, usualTimesOf } from '../src/contract/usual-times';
import { type ExpectedVideo, expectedOf } from '../src/contract/video-facts';
import type { VideoFailure } from '../src/contract/video-failure';
import { SubmitHold } from './hold';
import { pollingOf, timesOf } from './input';
import { nextPollDelayMs, type PollRules } from './poll-schedule';
import { ServiceTurns } from './service-turns';
import { TaskObservations } from './task-observations';
import { TaskTimer } from './task-timer';

/** Where a job lives: in a workflow of its own, or as one item of a batch. */
export interface JobHost {
  /** The workflow id, or the name of the batch item. */
  name: string;
  /** The number of the batch item. */
  item?: number;
  /** How much all items of the batch together may take. */
  batchCap?: Cap;
  /** Compared when somebody starts a job under the same name; batch items are never compared. */
  identity?: JobIdentity;
  /** The workflow's: see runs.ts. */
  resetRuns: string[] | undefined;
  /** Unknown states that were already logged. */
  warnedWords: Set<string>;
  /** The request to submit; loaded only for a job without a task. */
  loadRequest(): VideoRequest | Promise<VideoRequest>;
  /** Called after every change: the host updates what Temporal shows. */
  changed(job: Job): void;
  recordTask(taskId: string, service: ServiceChoice | undefined): void;
  /** Lists show which service a job is at, and a retry asks that one, with that key. */
  recordService?(service: ServiceChoice | undefined, from: ServiceChoice | undefined): void;
  /** Lists show when a video expires. Of an item, only its result says so. */
  recordExpiry?(expiresAt: string): void;
}

/** The state of one job. The query, the Temporal UI and continue-as-new all read it from here. */
export class Job {
  taskId: string | undefined;
  failure: VideoFailure | undefined;
  /** The job took over a task that it did not submit. */
  isAdopted: boolean;
  readonly observed: TaskObservations;
  readonly hold: SubmitHold;
  /** Set by `pollNow`. A request that arrives during a poll asks for another one. */
  pollRequested: boolean;
  /** The id of the job's record in the storage. */
  record: string | undefined;
  /** The named service of the job; undefined for the worker's default. Once there is a task, it is the one that has it. */
  service: ServiceChoice | undefined;
  /** The submit was lost at the service without a name, which the worker's default need not be. */
  private isAtUnnamed: boolean;
  /** The record says that the video is stored. */
  isStored = false;
  /** Markdown for the Temporal UI, once the job has ended. */
  ending: string | undefined;
  readonly startedAtMs: number;
  /** What the video should be. The request itself is not kept: it may be large. */
  expected: ExpectedVideo | undefined;
  /** How long such tasks usually take, if the worker has learned it. */
  usualTimes: UsualTimes | undefined;
  /** What is known about what the job costs. */
  cost: JobCost | undefined;
  /** The stored last frame that the request is sent with, if it continues from another job. */
  image: string | undefined;
  /** The pictures that are stored beside the video. */
  extras: StoredExtras | undefined;
  /** Set for a job with `services`. */
  readonly turns: ServiceTurns | undefined;
  private phase: JobPhase = 'submitting';
  private submittedAtMs: number;
  private nextPollAtMs: number | undefined;
  private download: DownloadProgress | undefined;
  private readonly deadlineMs: number;
  private servicePolling: ServicePolling | undefined;
  private readonly taskTimer = new TaskTimer();
  private hasDefaultReceiver: boolean;
  private webhook: JobProgress['webhook'];

  constructor(
    readonly options: JobOptions,
    readonly host: JobHost,
    carried?: CarriedJob,
  ) {
    const { deadlineMs, holdMs } = timesOf(options);
    this.deadlineMs = deadlineMs;
    this.hold = new SubmitHold(holdMs, carried);
    this.observed = new TaskObservations(host.warnedWords, carried);
    this.startedAtMs = carried?.startedAtMs ?? Date.now();
    this.submittedAtMs = carried?.submittedAtMs ?? this.startedAtMs;
    this.isAdopted = carried?.isAdopted ?? false;
    this.expected = carried?.expected;
    this.pollRequested = carried?.pollRequested ?? false;
    this.servicePolling = carried?.servicePolling;
    this.recordUsualTimes(carried?.usualTimes);
    this.hasDefaultReceiver = carried?.hasReceiver ?? false;
    this.record = carried?.record;
    this.service = carried ? carried.service : choiceOf(options);
    this.isAtUnnamed = carried?.isAtUnnamed ?? false;
    this.cost = carried?.cost;
    this.image = carried?.image;
    this.turns = ServiceTurns.of(options, carried?.attempts);
    this.taskId = carried?.taskId;
  }

  /** Names an item's activities in the history of its batch, where Temporal's own ids say nothing. */
  activityId(activity: string): { activityId?: string } {
    const { item } = this.host;
    return item === undefined ? {} : { activityId: `${activity}-${item}` };
  }

  /** Names the item for activities, which only know their workflow's id. */
  get named(): { job?: string } {
    const { item, name } = this.host;
    return item === undefined ? {} : { job: name };
  }

  /** Says which service an activity is for. */
  get forService(): { service?: ServiceChoice; isAtUnnamed?: boolean } {
    if (this.service) return { service: this.service };
    return this.isAtUnnamed ? { isAtUnnamed: true } : {};
  }

  /** A summary for the Temporal UI. */
  titled(summary: string): string {
    const { item } = this.host;
    return item === undefined ? summary : `${item}: ${summary}`;
  }

  loadRequest(): VideoRequest | Promise<VideoRequest> {
    const note = (request: VideoRequest) => {
      this.expected = expectedOf(request);
      return request;
    };
    const loaded = this.host.loadRequest();
    return loaded instanceof Promise ? loaded.then(note) : note(loaded);
  }

  enter(phase: JobPhase): void {
    this.phase = phase;
    this.show();
  }

  /** From here on every failure, log line and detail names the task. */
  recordTask(taskId: string): void {
    this.taskId = taskId;
    this.submittedAtMs = Date.now();
    this.turns?.recordMade(this.service?.name);
    this.host.recordTask(taskId, this.service);
    this.show();
  }

  /** How long its service may be tried, if there is one after it. */
  get turnMs(): number | undefined {
    return this.turns?.turnMs(this.service?.name, this.remainingMs());
  }

  /** How long a submit may wait for a worker of its service, if there is one after it. */
  get startWithinMs(): number | undefined {
    return this.turns?.startWithinMs(this.service?.name, this.remainingMs());
  }

  /** Goes on to the next service, which has other prices. */
  moveTo(service: ServiceChoice): void {
    const from = this.service;
    this.service = service;
    if (this.cost) this.cost = { unknown: `the service ${service.name} has not said what it costs` };
    this.host.recordService?.(service, from);
    this.show();
  }

  /** A lost submit may have gone to another service or key, in an earlier run or job of this name. */
  recordLostAt(at: SentTo | undefined): void {
    if (at === undefined) return;
    const from = this.service;
    this.service = at.service;
    this.isAtUnnamed = at.service === undefined;
    this.host.recordService?.(this.service, from);
  }

  recordSubmitted(submitted: SubmittedTask): void {
    this.recordSettings(submitted);
    this.isStored = submitted.isStored ?? false;
    this.recordTask(submitted.taskId);
    this.taskTimer.start(submitted.kind);
  }

  /** What the worker's profile and storage say about the task. */
  recordSettings({ servicePolling, usualTimes, record, hasReceiver, cost, service }: SubmittedTask): void {
    this.service = service;
    this.isAtUnnamed = false;
    this.servicePolling = servicePolling;
    this.recordUsualTimes(usualTimes);
    this.recordReceiver(hasReceiver);
    this.record = record;
    this.cost = mergeCosts(this.cost, cost);
  }

  /** Other than these, no schedule can be made from. */
  private recordUsualTimes(usualTimes: unknown): void {
    this.usualTimes = isUsualTimes(usualTimes) ? usualTimes : undefined;
  }

  /** Takes a task that this job did not submit. Whoever named it may be mistaken. */
  adoptTask(taskId: string): void {
    this.isAdopted = true;
    this.recordTask(taskId);
  }

  /** Whether webhooks of this job go anywhere. */
  get hasReceiver(): boolean {
    if (this.host.item !== undefined) return false;
    return this.options.callbackUrl != null || this.hasDefaultReceiver;
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
    return details.onLostSubmit ?? this.options.onLostSubmit ?? 'hold';
  }

  recordSignalled(decision: SignalledDecision): void {
    this.hold.signalled = decision;
    this.show();
  }

  get identity(): JobIdentity {
    return this.host.identity ?? {};
  }

  /** Why no decision is needed. */
  whyNoDecision(): string {
    return this.hold.decision ? 'somebody has already decided' : `the job is ${this.phase}`;
  }

  get isWaiting(): boolean {
    return this.phase === 'waiting';
  }

  /** Only a person can move a held job on. */
  get isHeld(): boolean {
    return this.phase === 'needs-decision';
  }

  recordStatus(status: TaskStatus): void {
    this.observed.recordStatus(status, this.waitedMs());
    this.taskTimer.recordPoll(this.waitedMs());
    this.servicePolling = status.servicePolling;
    this.recordReceiver(status.hasReceiver);
    if (status.charged) this.cost = mergeCosts(this.cost, { charged: status.charged });
    this.show();
  }

  recordPollFailure(failure: VideoFailure): void {
    this.observed.recordPollFailure(failure);
    this.show();
  }

  recordCost(cost: JobCost): void {
    this.cost = mergeCosts(this.cost, cost);
    this.show();
  }

  recordDownload({ bytes, of }: DownloadProgress): void {
    this.download = { bytes, of: of ?? undefined };
    this.show();
  }

  recordExpiry(expiresAt: string): void {
    this.host.recordExpiry?.(expiresAt);
  }

  markSucceeded(video: StoredVideo, warnings: string[], extras?: StoredExtras): void {
    this.extras = extras;
    const notes = warnings.map((warning) => `Note: ${warning}.`);
    const pictures = EXTRA_NAMES.flatMap((name) => {
      const extra = extras?.[name];
      return extra ? [describeExtra(name, extra)] : [];
    });
    const lines = [describeVideo(video), ...pictures, ...notes].map(plainMarkdown);
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

  /** Sets the time of the next poll and returns how long to sleep. */
  planNextPoll(): number {
    const delayMs = this.isAdopted && this.observed.polls === 0 ? 0 : this.pollDelayMs();
    this.nextPollAtMs = Date.now() + delayMs;
    this.taskTimer.planPoll(delayMs);
    this.show();
    return delayMs;
  }

  get polling(): PollRules {
    return pollingOf(this.options, this.servicePolling);
  }

  private pollDelayMs(): number {
    return nextPollDelayMs({
      elapsedMs: this.waitedMs(),
      remainingMs: this.remainingMs(),
      usualTimes: this.usualTimes ?? usualTimesOf(this.servicePolling?.usually),
      progress: this.observed.progress,
      retryAfterMs: this.observed.retryAfterMs,
      failedPolls: this.observed.problem?.count ?? 0,
      ...this.polling,
    });
  }

  /** When the task ended, if the worker can learn from it. */
  get endedTask(): EndedTask | undefined {
    return this.taskTimer.ended;
  }

  /** How long a video that was found ready may have been so: undefined when the poll before was that of another run. */
  get readyLagMs(): number | undefined {
    return this.taskTimer.sincePollBefore(this.observed.polls);
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

  /** What the next run needs. Called only while the job waits for its task, or, in a batch, for a decision. */
  carry(longestTextBytes: number): CarriedJob {
    return {
      taskId: this.taskId,
      expected: this.expected,
      ...this.hold.carry(longestTextBytes),
      isAdopted: this.isAdopted || undefined,
      record: this.record,
      ...this.forService,
      attempts: this.turns?.carry(longestTextBytes),
      cost: this.cost,
      image: this.image,
      startedAtMs: this.startedAtMs,
      submittedAtMs: this.submittedAtMs,
      ...this.observed.carry(longestTextBytes),
      pollRequested: this.pollRequested || undefined,
      servicePolling: this.servicePolling,
      usualTimes: this.usualTimes,
      hasReceiver: this.hasDefaultReceiver || undefined,
    };
  }

  /** The part of the progress that is shown of an item: hundreds are shown at once. */
  get shown(): Pick<JobProgress, 'phase' | 'taskId' | 'service' | 'task' | 'problem' | 'signalled'> {
    const { task, problem } = this.observed;
    const service = this.turns && this.service?.name;
    return { phase: this.phase, taskId: this.taskId, service, task, problem, signalled: this.hold.signalled };
  }

  progress(): JobProgress {
    const { task, polls, problem } = this.observed;
    const pollsAgain = this.isWaiting && this.nextPollAtMs !== undefined;
    return {
      phase: this.phase,
      taskId: this.taskId,
      ...(this.service && { service: this.service.name }),
      ...(this.turns && { attempts: this.turns.attempts }),
      task,
      polls,
      startedAt: isoTime(this.startedAtMs),
      deadlineAt: isoTime(this.deadlineAtMs()),
      nextPollAt: pollsAgain ? isoTime(this.nextPollAtMs ?? 0) : undefined,
      download: this.phase === 'downloading' ? this.download : undefined,
      cost: this.cost,
      hold: this.hold.progress(),
      signalled: this.hold.signalled,
      webhook: this.webhook,
      problem,
    };
  }

  private show(): void {
    this.host.changed(this);
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
