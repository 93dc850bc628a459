import { type ApplicationFailure, setCurrentDetails, upsertMemo, workflowInfo } from '@temporalio/workflow';
import { durationMs } from '../src/contract/duration';
import { createFailure, type VideoFailure } from '../src/contract/failures';
import { isStorageKey, isTaskId, STORAGE_RULE, TASK_ID_RULE } from '../src/contract/input-rules';
import type { CarriedJob, JobInput, JobPhase, JobProgress, Look, StoredVideo } from '../src/contract/job';
import { TASK_ID_MEMO } from '../src/contract/names';
import {
  DEFAULT_DEADLINE_MS,
  LONGEST_HISTORY_EVENTS,
  LOOKS_WITHOUT_TASK,
  LOOKS_WITHOUT_VIDEO,
  MOST_WARNED_WORDS,
  UNKNOWN_TASK_GRACE_MS,
} from '../src/contract/policies';
import type { VideoRequest } from '../src/contract/request';
import { currentDetails } from './current-details';
import { DEFAULT_MAX_MS, DEFAULT_MIN_MS, LEAST_MIN_MS, untilNextLook } from './poll-schedule';

/** What a job knows about itself; what the query, the Temporal UI and a continued run are told of it. */
export class JobState {
  taskId: string | undefined;
  failure: VideoFailure | undefined;
  polls: number;
  /** Set by `lookNow`. A request that comes during a look is for another one. */
  lookRequested: boolean;
  private phase: JobPhase = 'submitting';
  private submittedAtMs: number;
  private task: JobProgress['task'];
  private trouble: JobProgress['trouble'];
  /** Looks in a row that found no task, and looks in all that found a success without a video. */
  private readonly misses: { task: number; video: number };
  private retryAfterMs: number | undefined;
  private nextLookAtMs: number | undefined;
  private ending: string | undefined;
  private readonly startedAtMs: number;
  private readonly deadlineAtMs: number;
  private readonly polling: { min: number; max: number };
  private readonly warnedWords: Set<string>;

  constructor(
    readonly input: JobInput,
    given?: CarriedJob,
  ) {
    checkInput(input);
    const min = readDuration('polling.min', input.polling?.min ?? DEFAULT_MIN_MS);
    const max = readDuration('polling.max', input.polling?.max ?? DEFAULT_MAX_MS);
    // Whoever asks for a longer pause than the usual longest one means it.
    this.polling = { min: Math.max(min, LEAST_MIN_MS), max: Math.max(min, max, LEAST_MIN_MS) };
    // Only a run before this one can have something to carry over, not whoever starts a job.
    const carried = workflowInfo().continuedFromExecutionRunId === undefined ? undefined : given;
    this.startedAtMs = carried?.startedAtMs ?? Date.now();
    this.deadlineAtMs = this.startedAtMs + readDuration('deadline', input.deadline ?? DEFAULT_DEADLINE_MS);
    this.submittedAtMs = carried?.submittedAtMs ?? this.startedAtMs;
    this.polls = carried?.polls ?? 0;
    this.lookRequested = carried?.lookRequested ?? false;
    this.task = carried?.lastTask;
    this.trouble = carried?.trouble;
    this.misses = carried?.misses ?? { task: 0, video: 0 };
    this.warnedWords = new Set(carried?.warnedWords);
    if (carried) this.taskId = carried.taskId;
    else if (input.taskId != null) this.hasTask(input.taskId);
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
  hasTask(taskId: string): void {
    this.taskId = taskId;
    this.submittedAtMs = Date.now();
    upsertMemo({ [TASK_ID_MEMO]: taskId });
    this.show();
  }

  looked(look: Look): void {
    this.polls++;
    this.trouble = undefined;
    this.misses.task = 0;
    if (look.state === 'succeeded' && !look.hasVideo) this.misses.video++;
    const percent = 'percent' in look ? look.percent : undefined;
    this.retryAfterMs = 'retryAfterMs' in look ? look.retryAfterMs : undefined;
    this.task = { state: look.state, word: look.word, percent };
    this.show();
  }

  lookFailed({ type, message, details }: VideoFailure): void {
    this.polls++;
    this.trouble = { type, message, count: (this.trouble?.count ?? 0) + 1 };
    this.misses.task = type === 'TaskUnknown' ? this.misses.task + 1 : 0;
    this.retryAfterMs = details.retryAfterMs;
    this.show();
  }

  succeeded({ uri, bytes, sha256 }: StoredVideo): void {
    this.ending = `${uri}\n\n${bytes} bytes, SHA-256 \`${sha256}\``;
    this.enter('succeeded');
  }

  failed(failure: VideoFailure): void {
    this.failure = failure;
    this.ending = failure.message;
    this.enter(failure.type === 'Cancelled' ? 'cancelled' : 'failed');
  }

  /**
   * Just after its submit a task may not be known everywhere at the service, and a single look may miss it later too. An
   * adopted one that was never seen is not there.
   */
  taskIsGone(): boolean {
    if (this.task === undefined && this.isAdopted()) return true;
    return this.misses.task >= LOOKS_WITHOUT_TASK && this.waitedMs() > UNKNOWN_TASK_GRACE_MS;
  }

  videoIsMissing(): boolean {
    return this.misses.video >= LOOKS_WITHOUT_VIDEO;
  }

  private isAdopted(): boolean {
    return this.input.taskId != null;
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
    const waitMs = this.isAdopted() && this.polls === 0 ? 0 : this.schedule();
    this.nextLookAtMs = Date.now() + waitMs;
    this.show();
    return waitMs;
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
    return Math.max(0, this.deadlineAtMs - Date.now());
  }

  historyIsLong(): boolean {
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    return continueAsNewSuggested || historyLength > LONGEST_HISTORY_EVENTS;
  }

  /** Only a job that waits for its task continues as new, so there always is one to carry. */
  carry(taskId: string): CarriedJob {
    return {
      taskId,
      startedAtMs: this.startedAtMs,
      submittedAtMs: this.submittedAtMs,
      polls: this.polls,
      lookRequested: this.lookRequested,
      lastTask: this.task,
      trouble: this.trouble,
      misses: this.misses,
      warnedWords: [...this.warnedWords],
    };
  }

  progress(): JobProgress {
    const isWaiting = this.phase === 'waiting' && this.nextLookAtMs !== undefined;
    return {
      phase: this.phase,
      taskId: this.taskId,
      task: this.task,
      polls: this.polls,
      startedAt: isoTime(this.startedAtMs),
      deadlineAt: isoTime(this.deadlineAtMs),
      nextLookAt: isWaiting ? isoTime(this.nextLookAtMs ?? 0) : undefined,
      trouble: this.trouble,
    };
  }

  private show(): void {
    setCurrentDetails(currentDetails(this.progress(), this.ending));
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * A job may be started by any SDK or by hand, past every door that parses: what is wrong ends it with a sentence. Null
 * counts as absent, as some languages send it for what was not set.
 */
function checkInput(input: JobInput | null | undefined): void {
  if ((input?.request == null) === (input?.taskId == null)) {
    throw refused('a job needs either a request or the taskId of a task to adopt, and not both');
  }
  if (input?.taskId != null && !isTaskId(input.taskId)) throw refused(`taskId ${TASK_ID_RULE}`);
  if (input?.storage != null && !isStorageKey(input.storage)) throw refused(`storage ${STORAGE_RULE}`);
}

function readDuration(name: string, value: unknown): number {
  const ms = durationMs(value);
  if (ms !== undefined) return ms;
  throw refused(`${name} must be milliseconds or a length of time such as "90s"`);
}

function refused(message: string): ApplicationFailure {
  return createFailure('InvalidRequest', { message });
}
