import type { ApplicationFailure } from '@temporalio/workflow';
import type { SubmittedTask } from '../activities';
import { codeMarkdown, plainMarkdown } from '../src/contract/clean-text';
import { createFailure, describeEvent, type FailureDetails, VideoFailure } from '../src/contract/failures';
import type {
  CarriedJob,
  DownloadProgress,
  JobOptions,
  JobPhase,
  JobProgress,
  PollBounds,
  SignalledDecision,
  StoredVideo,
  TaskStatus,
} from '../src/contract/job';
import type { JobIdentity } from '../src/contract/job-identity';
import type { LostSubmitPolicy, SubmitDecision } from '../src/contract/lost-submit';
import { describeDecisionCommands } from '../src/contract/lost-submit';
import { UNKNOWN_TASK_GRACE_MS } from '../src/contract/policies';
import type { VideoRequest } from '../src/contract/request';
import { cutToBytes } from '../src/contract/sizes';
import { describeVideo } from '../src/contract/summaries';
import { type ExpectedVideo, expectedOf } from '../src/contract/video-facts';
import { type JobTimes, pollingOf, timesOf } from './input';
import { nextPollDelayMs } from './poll-schedule';
import { TaskObservations } from './task-observations';

/** Where a job lives: in a workflow of its own, or as one item of a batch. */
export interface JobHost {
  /** Its name for the world outside. */
  name: string;
  /** Its number, when it is an item of a batch. */
  item?: number;
  /** What makes it this job and no other; nobody asks an item of a batch. */
  identity?: JobIdentity;
  /** Its workflow's: see earlier-runs.ts. */
  resetRuns: string[] | undefined;
  /** Unknown states that somebody was warned of. */
  warnedWords: Set<string>;
  /** What is to be submitted; asked only for a job without a task. */
  loadRequest(): Promise<VideoRequest>;
  changed(job: Job): void;
  recordTask(taskId: string): void;
}

/** What a job knows about itself; what the query, the Temporal UI and a continued run are told of it. */
export class Job {
  taskId: string | undefined;
  failure: VideoFailure | undefined;
  readonly observed: TaskObservations;
  /** Set by `pollNow`. A request that comes during a look is for another one. */
  pollRequested: boolean;
  /** Set by `decideSubmit` while a lost submit is held. */
  decision: SubmitDecision | undefined;
  /** Decisions that have come and are neither taken nor refused; the hold does not run out under them. */
  deciding = 0;
  /** A task that somebody wants to adopt is being looked up. */
  lookingUp = false;
  private lastSignalled: SignalledDecision | undefined;
  private held: Hold | undefined;
  /** What was said of the lost submit that somebody decided on last. */
  settled: string | undefined;
  private adopted: boolean;
  /** Which record of this job the storage keeps, and whether that says that the video is stored. */
  record: string | undefined;
  isStored = false;
  private phase: JobPhase = 'submitting';
  private submittedAtMs: number;
  private nextPollAtMs: number | undefined;
  private download: DownloadProgress | undefined;
  /** As markdown, once there is one. */
  ending: string | undefined;
  readonly startedAtMs: number;
  /** For so long the deadline stood still. */
  private heldMs: number;
  private readonly times: JobTimes;
  private servicePolling: PollBounds | undefined;
  /** Of its request, which it does not keep: it may be large. */
  expected: ExpectedVideo | undefined;

  constructor(
    readonly options: JobOptions,
    readonly host: JobHost,
    carried?: Omit<CarriedJob, 'warnedWords'>,
  ) {
    this.times = timesOf(options);
    this.startedAtMs = carried?.startedAtMs ?? Date.now();
    this.heldMs = carried?.heldMs ?? 0;
    this.adopted = carried?.adopted ?? false;
    this.submittedAtMs = carried?.submittedAtMs ?? this.startedAtMs;
    this.observed = new TaskObservations(host.warnedWords, carried);
    this.expected = carried?.expected;
    this.pollRequested = carried?.pollRequested ?? false;
    this.servicePolling = carried?.polling;
    this.record = carried?.record;
    this.held = carried?.hold && {
      sinceMs: carried.hold.sinceMs,
      lost: new VideoFailure('SubmitUnconfirmed', carried.hold.lost),
    };
    this.taskId = carried?.taskId;
  }

  /** Of an item of a batch: Temporal's own ids would not tell in a history whose activity it was. */
  activityId(activity: string): { activityId?: string } {
    const { item } = this.host;
    return item === undefined ? {} : { activityId: `${activity}-${item}` };
  }

  /** What activities are told of an item, which their workflow's id does not tell. */
  get named(): { job?: string } {
    const { item, name } = this.host;
    return item === undefined ? {} : { job: name };
  }

  /** A summary for the Temporal UI. */
  titled(summary: string): string {
    const { item } = this.host;
    return item === undefined ? summary : `${item}: ${summary}`;
  }

  /** What is to be submitted. */
  async loadRequest(): Promise<VideoRequest> {
    const request = await this.host.loadRequest();
    this.expected = expectedOf(request);
    return request;
  }

  enter(phase: JobPhase): void {
    this.phase = phase;
    this.show();
  }

  /** From here on every failure, log line and detail names the task; the memo tells it without a worker. */
  recordTask(taskId: string): void {
    this.taskId = taskId;
    this.submittedAtMs = Date.now();
    this.host.recordTask(taskId);
    this.show();
  }

  recordSubmitted({ taskId, polling, record, isStored = false }: SubmittedTask): void {
    this.servicePolling = polling;
    this.record = record;
    this.isStored = isStored;
    this.recordTask(taskId);
  }

  /** Of a task that was adopted. */
  recordSettings({ polling, record }: SubmittedTask): void {
    this.servicePolling = polling;
    this.record = record;
  }

  /** A task that this job did not submit: somebody named it, and may be mistaken. */
  adoptTask(taskId: string): void {
    this.adopted = true;
    this.recordTask(taskId);
  }

  lostSubmitPolicy({ details }: VideoFailure): LostSubmitPolicy {
    return details.onLostSubmit ?? this.options.onLostSubmit ?? 'hold';
  }

  /** The submit whose decision a run before this one waited for. */
  get heldSubmit(): VideoFailure | undefined {
    return this.held?.lost;
  }

  /** Waits for a decision from now on, or goes on waiting; answers for how long. */
  hold(lost: VideoFailure): number {
    this.held ??= { sinceMs: Date.now(), lost };
    this.decision = undefined;
    this.enter('needs-decision');
    return Math.max(0, this.held.sinceMs + this.times.holdMs - Date.now());
  }

  /** What whoever waits for the task is told while the job is held. */
  heldFailure(): ApplicationFailure | undefined {
    const { hold } = this.progress();
    if (hold === undefined || this.held === undefined || !this.wantsDecision) return undefined;
    const { details } = this.held.lost;
    const isHeld = `the job is held until ${hold.until}: ${describeDecisionCommands(this.host.name)}`;
    return createFailure('SubmitUnconfirmed', {
      ...details,
      message: [details.message, isHeld].filter(Boolean).join('; '),
      heldSince: hold.since,
      heldUntil: hold.until,
    });
  }

  recordSignalled(decision: SignalledDecision): void {
    this.lastSignalled = decision;
    this.show();
  }

  endHold(): SubmitDecision | undefined {
    this.heldMs += Date.now() - (this.held?.sinceMs ?? Date.now());
    this.settled = this.held?.lost.details.message;
    this.held = undefined;
    return this.decision;
  }

  get identity(): JobIdentity {
    return this.host.identity ?? {};
  }

  get wantsDecision(): boolean {
    return this.held !== undefined && this.decision === undefined;
  }

  /** Why a decision is not wanted. */
  standing(): string {
    return this.decision ? 'somebody has decided already' : `the job is ${this.phase}`;
  }

  get isWaiting(): boolean {
    return this.phase === 'waiting';
  }

  /** Held by a lost submit: it is nobody's turn but a person's. */
  get isHeld(): boolean {
    return this.phase === 'needs-decision';
  }

  recordStatus(look: TaskStatus): void {
    this.observed.recordStatus(look);
    this.servicePolling = look.polling;
    this.show();
  }

  recordPollFailure(failure: VideoFailure): void {
    this.observed.recordPollFailure(failure);
    this.show();
  }

  recordDownload({ bytes, of }: DownloadProgress): void {
    this.download = { bytes, of: of ?? undefined };
    this.show();
  }

  markSucceeded(video: StoredVideo, warnings: string[]): void {
    const notes = warnings.map((warning) => `Note: ${warning}.`);
    const told = [describeVideo(video), ...notes].map(plainMarkdown);
    this.ending = [codeMarkdown(video.uri), ...told].join('\n\n');
    this.enter('succeeded');
  }

  markFailed(failure: VideoFailure, atService = ''): void {
    this.failure = failure;
    this.ending = [plainMarkdown(failure.message), atService].filter(Boolean).join('\n\n');
    this.enter(failure.type === 'Cancelled' ? 'cancelled' : 'failed');
  }

  /**
   * Just after its submit a task may not be known everywhere at the service, and a single look may miss it later too. An
   * adopted one that was never seen is not there.
   */
  taskIsGone(): boolean {
    if (this.observed.task === undefined && this.adopted) return true;
    return this.observed.isMissing && this.waitedMs() > UNKNOWN_TASK_GRACE_MS;
  }

  planNextPoll(): number {
    const waitMs = this.adopted && this.observed.polls === 0 ? 0 : this.schedule();
    this.nextPollAtMs = Date.now() + waitMs;
    this.show();
    return waitMs;
  }

  /** The bounds of the pause between two looks. */
  get polling(): { min: number; max: number } {
    return pollingOf(this.options, this.servicePolling);
  }

  private schedule(): number {
    return nextPollDelayMs({
      elapsedMs: this.waitedMs(),
      remainingMs: this.remainingMs(),
      percent: this.observed.task?.percent,
      retryAfterMs: this.observed.retryAfterMs,
      problems: this.observed.problem?.count ?? 0,
      ...this.polling,
    });
  }

  waitedMs(): number {
    return Date.now() - this.submittedAtMs;
  }

  remainingMs(): number {
    return Math.max(0, this.deadlineAtMs() - Date.now());
  }

  /** It stands still during a hold. */
  private deadlineAtMs(): number {
    const holdMs = this.held ? Date.now() - this.held.sinceMs : 0;
    return this.startedAtMs + this.times.deadlineMs + this.heldMs + holdMs;
  }

  /** Of a job that waits for its task, or for a decision: nothing of it is under way. Others' words are cut. */
  carry(longestTextBytes: number): Omit<CarriedJob, 'warnedWords'> {
    return {
      taskId: this.taskId,
      expected: this.expected,
      hold: this.held && {
        sinceMs: this.held.sinceMs,
        lost: cutDetails(this.held.lost.details, longestTextBytes),
      },
      adopted: this.adopted || undefined,
      record: this.record,
      startedAtMs: this.startedAtMs,
      heldMs: this.heldMs || undefined,
      submittedAtMs: this.submittedAtMs,
      ...this.observed.carry(longestTextBytes),
      pollRequested: this.pollRequested || undefined,
      polling: this.servicePolling,
    };
  }

  progress(): JobProgress {
    const { task, polls, problem } = this.observed;
    const looksAgain = this.isWaiting && this.nextPollAtMs !== undefined;
    return {
      phase: this.phase,
      taskId: this.taskId,
      task,
      polls,
      startedAt: isoTime(this.startedAtMs),
      deadlineAt: isoTime(this.deadlineAtMs()),
      nextPollAt: looksAgain ? isoTime(this.nextPollAtMs ?? 0) : undefined,
      download: this.phase === 'downloading' ? this.download : undefined,
      hold: this.held && {
        since: isoTime(this.held.sinceMs),
        until: isoTime(this.held.sinceMs + this.times.holdMs),
        message: describeEvent('SubmitUnconfirmed', this.held.lost.details),
      },
      signalled: this.lastSignalled,
      problem,
    };
  }

  private show(): void {
    this.host.changed(this);
  }
}

/** What is said of the runs before a reset stays whole: a submit that somebody decided on is known by it. */
const HOLD_MESSAGE_BYTES = 160;

function cutDetails({ code, message, ...details }: FailureDetails, longestBytes: number): FailureDetails {
  return {
    ...details,
    ...(code !== undefined && { code: cutToBytes(code, longestBytes) }),
    ...(message !== undefined && {
      message: cutToBytes(message, Math.max(longestBytes, HOLD_MESSAGE_BYTES)),
    }),
  };
}

interface Hold {
  sinceMs: number;
  lost: VideoFailure;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
