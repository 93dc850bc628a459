import type { CarriedJob } from '../src/contract/carried-over';
import type { JobProgress, TaskStatus } from '../src/contract/job';
import { MOST_WARNED_WORDS, POLLS_WITHOUT_TASK, POLLS_WITHOUT_VIDEO } from '../src/contract/policies';
import { cutToBytes } from '../src/contract/sizes';
import type { ReportedProgress } from '../src/contract/usual-times';
import type { VideoFailure } from '../src/contract/video-failure';

type CarriedPolls = Pick<CarriedJob, 'polls' | 'task' | 'problem' | 'retryAfterMs' | 'misses'>;

/** What the polls of a task have shown so far. */
export class TaskObservations {
  polls: number;
  task: JobProgress['task'];
  problem: JobProgress['problem'];
  /** How long the service asked to wait in its last answer. */
  retryAfterMs: number | undefined;
  progress: ReportedProgress | undefined;
  /** Polls in a row that found no task, and polls in total that found a success without a video. */
  private readonly misses: { task: number; video: number };

  constructor(
    private readonly warnedWords: Set<string>,
    carried?: CarriedPolls,
  ) {
    this.polls = carried?.polls ?? 0;
    this.task = carried?.task;
    this.problem = carried?.problem;
    this.retryAfterMs = carried?.retryAfterMs;
    this.misses = carried?.misses ?? { task: 0, video: 0 };
  }

  recordStatus(status: TaskStatus, waitedMs: number): void {
    this.polls++;
    this.problem = undefined;
    this.misses.task = 0;
    if (status.state === 'succeeded' && !status.hasVideo) this.misses.video++;
    const percent = 'percent' in status ? status.percent : undefined;
    this.retryAfterMs = 'retryAfterMs' in status ? status.retryAfterMs : undefined;
    this.task = { state: status.state, word: status.word, percent };
    // One that falls or stands still says nothing new about the end.
    if (percent !== undefined && percent > (this.progress?.percent ?? 0))
      this.progress = { percent, atMs: waitedMs };
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
    const { polls, task, problem, retryAfterMs, misses } = this;
    const cut = (text: string) => cutToBytes(text, longestTextBytes);
    return {
      polls,
      task: task && { ...task, word: cut(task.word) },
      problem: problem && { ...problem, message: cut(problem.message) },
      retryAfterMs,
      misses: misses.task + misses.video > 0 ? misses : undefined,
    };
  }
}
