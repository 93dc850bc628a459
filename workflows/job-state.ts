import { describeEvent, VideoFailure } from '../src/contract/failures';
import type {
  CarriedJob,
  DownloadProgress,
  JobInput,
  JobPhase,
  JobProgress,
  Look,
  PollBounds,
  StoredVideo,
} from '../src/contract/job';
import type { LostSubmitPolicy, SubmitDecision } from '../src/contract/lost-submit';
import {
  LOOKS_WITHOUT_TASK,
  LOOKS_WITHOUT_VIDEO,
  MOST_WARNED_WORDS,
  UNKNOWN_TASK_GRACE_MS,
} from '../src/contract/policies';
import type { VideoRequest } from '../src/contract/request';
import { describeVideo } from '../src/contract/summaries';
import type { WantedVideo } from '../src/contract/wanted-video';
import { checkInput, type JobTimes, pollingOf, refused } from './check-input';
import { untilNextLook } from './poll-schedule';

/** Where a job lives: in a workflow of its own, or as one item of a batch. */
export interface JobPlace {
  /** Its name for the world outside. */
  name: string;
  /** Its number, when it is an item of a batch. */
  item?: number;
  /** Its workflow's: see earlier-runs.ts. */
  resetRuns: string[] | undefined;
  changed(job: JobState): void;
  hasTask(taskId: string): void;
}

/** What a job knows about itself; what the query, the Temporal UI and a continued run are told of it. */
export class JobState {
  taskId: string | undefined;
  failure: VideoFailure | undefined;
  polls: number;
  /** Set by `lookNow`. A request that comes during a look is for another one. */
  lookRequested: boolean;
  /** Set by `decideSubmit` while a lost submit is held. */
  decision: SubmitDecision | undefined;
  private held: Hold | undefined;
  /** What was said of the lost submit that somebody decided on last. */
  settled: string | undefined;
  private adopted: boolean;
  private phase: JobPhase = 'submitting';
  private submittedAtMs: number;
  private task: JobProgress['task'];
  private trouble: JobProgress['trouble'];
  /** Looks in a row that found no task, and looks in all that found a success without a video. */
  private readonly misses: { task: number; video: number };
  private retryAfterMs: number | undefined;
  private nextLookAtMs: number | undefined;
  private download: DownloadProgress | undefined;
  /** Told once there is one. */
  ending: string | undefined;
  readonly startedAtMs: number;
  /** For so long the deadline stood still. */
  private heldMs: number;
  private readonly times: JobTimes;
  private servicePolling: PollBounds | undefined;
  private readonly warnedWords: Set<string>;

  constructor(
    readonly input: JobInput,
    readonly place: JobPlace,
    carried?: CarriedJob,
  ) {
    this.times = checkInput(input);
    this.startedAtMs = carried?.startedAtMs ?? Date.now();
    this.heldMs = carried?.heldMs ?? 0;
    this.adopted = carried?.adopted ?? false;
    this.submittedAtMs = carried?.submittedAtMs ?? this.startedAtMs;
    this.polls = carried?.polls ?? 0;
    this.lookRequested = carried?.lookRequested ?? false;
    this.task = carried?.lastTask;
    this.trouble = carried?.trouble;
    this.misses = carried?.misses ?? { task: 0, video: 0 };
    this.warnedWords = new Set(carried?.warnedWords);
    this.servicePolling = carried?.polling;
    this.held = carried?.hold && {
      sinceMs: carried.hold.sinceMs,
      lost: new VideoFailure('SubmitUnconfirmed', carried.hold.lost),
    };
    if (carried) this.taskId = carried.taskId;
    else if (input.taskId != null) this.adopts(input.taskId);
  }

  /** Of an item of a batch: Temporal's own ids would not tell in a history whose activity it was. */
  activityId(activity: string): { activityId?: string } {
    const { item } = this.place;
    return item === undefined ? {} : { activityId: `${activity}-${item}` };
  }

  /** What activities are told of an item, which their workflow's id does not tell. */
  get named(): { job?: string } {
    const { item, name } = this.place;
    return item === undefined ? {} : { job: name };
  }

  /** A summary for the Temporal UI. */
  titled(summary: string): string {
    const { item } = this.place;
    return item === undefined ? summary : `${item}: ${summary}`;
  }

  /** What is to be submitted; asked only of a job without a task. */
  get request(): VideoRequest {
    if (this.input.request == null) throw refused('there is no request');
    return this.input.request;
  }

  enter(phase: JobPhase): void {
    this.phase = phase;
    this.show();
  }

  /** From here on every failure, log line and detail names the task; the memo tells it without a worker. */
  hasTask(taskId: string, polling?: PollBounds): void {
    this.taskId = taskId;
    this.servicePolling = polling;
    this.submittedAtMs = Date.now();
    this.place.hasTask(taskId);
    this.show();
  }

  /** A task that this job did not submit: somebody named it, and may be mistaken. */
  adopts(taskId: string): void {
    this.adopted = true;
    this.hasTask(taskId);
  }

  lostSubmitPolicy({ details }: VideoFailure): LostSubmitPolicy {
    return details.onLostSubmit ?? this.input.onLostSubmit ?? 'hold';
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

  endHold(): SubmitDecision | undefined {
    this.heldMs += Date.now() - (this.held?.sinceMs ?? Date.now());
    this.settled = this.held?.lost.details.message;
    this.held = undefined;
    return this.decision;
  }

  /** What makes it this job and no other. */
  get wanted(): WantedVideo {
    return { request: this.input.request ?? undefined, taskId: this.input.taskId ?? undefined };
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

  looked(look: Look): void {
    this.polls++;
    this.trouble = undefined;
    this.misses.task = 0;
    if (look.state === 'succeeded' && !look.hasVideo) this.misses.video++;
    const percent = 'percent' in look ? look.percent : undefined;
    this.retryAfterMs = 'retryAfterMs' in look ? look.retryAfterMs : undefined;
    this.task = { state: look.state, word: look.word, percent };
    this.servicePolling = look.polling;
    this.show();
  }

  lookFailed({ type, message, details }: VideoFailure): void {
    this.polls++;
    this.trouble = { type, message, count: (this.trouble?.count ?? 0) + 1 };
    this.misses.task = type === 'TaskUnknown' ? this.misses.task + 1 : 0;
    this.retryAfterMs = details.retryAfter === undefined ? undefined : details.retryAfter * 1_000;
    this.show();
  }

  downloads({ bytes, of }: DownloadProgress): void {
    this.download = { bytes, of: of ?? undefined };
    this.show();
  }

  succeeded(video: StoredVideo, warnings: string[]): void {
    this.ending = [video.uri, describeVideo(video), ...warnings.map((warning) => `Note: ${warning}.`)].join(
      '\n\n',
    );
    this.enter('succeeded');
  }

  failed(failure: VideoFailure, atService = ''): void {
    this.failure = failure;
    this.ending = [failure.message, atService].filter(Boolean).join('\n\n');
    this.enter(failure.type === 'Cancelled' ? 'cancelled' : 'failed');
  }

  /**
   * Just after its submit a task may not be known everywhere at the service, and a single look may miss it later too. An
   * adopted one that was never seen is not there.
   */
  taskIsGone(): boolean {
    if (this.task === undefined && this.adopted) return true;
    return this.misses.task >= LOOKS_WITHOUT_TASK && this.waitedMs() > UNKNOWN_TASK_GRACE_MS;
  }

  videoIsMissing(): boolean {
    return this.misses.video >= LOOKS_WITHOUT_VIDEO;
  }

  lastSeen(): string {
    if (this.trouble) return this.trouble.message;
    return this.task
      ? `the task was last seen ${this.task.word || this.task.state}`
      : 'the task was never seen';
  }

  /** True once for each word: an unknown state is worth one warning, not one a look. */
  isNewWord(word: string): boolean {
    if (this.warnedWords.has(word) || this.warnedWords.size >= MOST_WARNED_WORDS) return false;
    this.warnedWords.add(word);
    return true;
  }

  planNextLook(): number {
    const waitMs = this.adopted && this.polls === 0 ? 0 : this.schedule();
    this.nextLookAtMs = Date.now() + waitMs;
    this.show();
    return waitMs;
  }

  /** The bounds of the pause between two looks. */
  get polling(): { min: number; max: number } {
    return pollingOf(this.input, this.servicePolling);
  }

  private schedule(): number {
    return untilNextLook({
      elapsedMs: this.waitedMs(),
      remainingMs: this.remainingMs(),
      percent: this.task?.percent,
      retryAfterMs: this.retryAfterMs,
      troubles: this.trouble?.count ?? 0,
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

  /** Of a job that waits for its task, or for a decision: nothing of it is under way. */
  carry(): CarriedJob {
    return {
      taskId: this.taskId,
      hold: this.held && { sinceMs: this.held.sinceMs, lost: this.held.lost.details },
      adopted: this.adopted,
      startedAtMs: this.startedAtMs,
      heldMs: this.heldMs,
      submittedAtMs: this.submittedAtMs,
      polls: this.polls,
      lookRequested: this.lookRequested,
      lastTask: this.task,
      trouble: this.trouble,
      misses: this.misses,
      warnedWords: [...this.warnedWords],
      polling: this.servicePolling,
    };
  }

  progress(): JobProgress {
    const looksAgain = this.isWaiting && this.nextLookAtMs !== undefined;
    return {
      phase: this.phase,
      taskId: this.taskId,
      task: this.task,
      polls: this.polls,
      startedAt: isoTime(this.startedAtMs),
      deadlineAt: isoTime(this.deadlineAtMs()),
      nextLookAt: looksAgain ? isoTime(this.nextLookAtMs ?? 0) : undefined,
      download: this.phase === 'downloading' ? this.download : undefined,
      hold: this.held && {
        since: isoTime(this.held.sinceMs),
        until: isoTime(this.held.sinceMs + this.times.holdMs),
        message: describeEvent('SubmitUnconfirmed', this.held.lost.details),
      },
      trouble: this.trouble,
    };
  }

  private show(): void {
    this.place.changed(this);
  }
}

interface Hold {
  sinceMs: number;
  lost: VideoFailure;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
