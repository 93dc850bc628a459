import type { EndedTask } from '../activities';
import {
  higherProgress,
  type JobProgress,
  type ReportedProgress,
  type TaskStatus,
} from '../src/contract/job';
import { MOST_WARNED_WORDS, POLLS_WITHOUT_TASK, POLLS_WITHOUT_VIDEO } from '../src/contract/policies';
import { cutToBytes } from '../src/contract/sizes';
import type { VideoFailure } from '../src/contract/video-failure';
import type { CarriedJob } from './carried-over';

type CarriedPolls = Pick<
  CarriedJob,
  'polls' | 'task' | 'problem' | 'retryAfterMs' | 'misses' | 'polledMs' | 'warnedWords'
>;

/** A poll that comes so much later than planned was held up, for example because no worker was running. */
const HELD_UP_MS = 10_000;
const HELD_UP_FACTOR = 2;

/** What the polls of a task have shown so far. Times are in milliseconds since the submit. */
export class TaskObservations {
  polls: number;
  task: JobProgress['task'];
  problem: JobProgress['problem'];
  /** How long the service asked to wait when the last poll failed. */
  retryAfterMs: number | undefined;
  progress: ReportedProgress | undefined;
  /** Polls in a row that found no task, and polls in total that found a success without a video. */
  private readonly misses: { task: number; video: number };
  /** The last poll that was answered, and the one before it. */
  private polledMs: number;
  private polledBeforeMs = 0;
  /** How long the next poll was to wait. */
  plannedMs = 0;

  /** Unknown states that were logged. */
  private readonly warnedWords: Set<string>;

  constructor(carried?: CarriedPolls) {
    this.warnedWords = new Set(carried?.warnedWords);
    this.polls = carried?.polls ?? 0;
    this.task = carried?.task;
    this.problem = carried?.problem;
    this.retryAfterMs = carried?.retryAfterMs;
    this.misses = carried?.misses ?? { task: 0, video: 0 };
    this.polledMs = carried?.polledMs ?? 0;
  }

  recordStatus(status: TaskStatus, waitedMs: number): void {
    this.polls++;
    this.problem = undefined;
    this.retryAfterMs = undefined;
    this.misses.task = 0;
    if (status.state === 'succeeded' && !status.hasVideo) this.misses.video++;
    const { percent } = { percent: undefined, ...status };
    this.task = { state: status.state, word: status.word, percent };
    this.progress = higherProgress(this.progress, percent, waitedMs);
    this.polledBeforeMs = this.polledMs;
    this.polledMs = waitedMs;
  }

  recordPollFailure({ type, message, details }: VideoFailure): void {
    this.polls++;
    this.problem = { type, message, count: (this.problem?.count ?? 0) + 1 };
    this.misses.task = type === 'TaskUnknown' ? this.misses.task + 1 : 0;
    this.retryAfterMs = details.retryAfter === undefined ? undefined : details.retryAfter * 1_000;
  }

  get isMissing(): boolean {
    return this.misses.task >= POLLS_WITHOUT_TASK;
  }

  get videoIsMissing(): boolean {
    return this.misses.video >= POLLS_WITHOUT_VIDEO;
  }

  /** How long a video that was found ready may have been so. */
  get lagMs(): number {
    return this.polledMs - this.polledBeforeMs;
  }

  /** Between which polls the task ended, for the worker to learn from. Undefined when they say little about such tasks. */
  endedTask(kind: string | undefined): EndedTask | undefined {
    const isHeldUp = this.lagMs > this.plannedMs * HELD_UP_FACTOR + HELD_UP_MS;
    if (kind === undefined || isHeldUp) return undefined;
    return { kind, afterMs: this.polledBeforeMs, byMs: this.polledMs };
  }

  /** Explains a passed deadline. */
  lastSeen(): string {
    if (this.problem) return this.problem.message;
    return this.task
      ? `the task was last seen ${this.task.word || this.task.state}`
      : 'the task was never seen';
  }

  /** True once for each word, so that an unknown state is logged once and not at every poll. */
  isNewWord(word: string): boolean {
    if (this.warnedWords.has(word) || this.warnedWords.size >= MOST_WARNED_WORDS) return false;
    this.warnedWords.add(word);
    return true;
  }

  carry(longestTextBytes: number): CarriedPolls {
    const { polls, task, problem, retryAfterMs, misses, polledMs } = this;
    const cut = (text: string) => cutToBytes(text, longestTextBytes);
    return {
      polls,
      task: task && { ...task, word: cut(task.word) },
      problem: problem && { ...problem, message: cut(problem.message) },
      retryAfterMs,
      misses: misses.task + misses.video > 0 ? misses : undefined,
      polledMs,
      warnedWords: this.warnedWords.size > 0 ? [...this.warnedWords] : undefined,
    };
  }
}
