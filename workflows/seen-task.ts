import type { VideoFailure } from '../src/contract/failures';
import type { CarriedJob, JobProgress, Look } from '../src/contract/job';
import { LOOKS_WITHOUT_TASK, LOOKS_WITHOUT_VIDEO, MOST_WARNED_WORDS } from '../src/contract/policies';
import { cutToBytes } from '../src/contract/sizes';

type CarriedLooks = Pick<CarriedJob, 'polls' | 'lastTask' | 'trouble' | 'misses'>;

/** What the looks at a task have shown so far. */
export class SeenTask {
  polls: number;
  task: JobProgress['task'];
  trouble: JobProgress['trouble'];
  /** How long the last answer asks to be left alone. */
  retryAfterMs: number | undefined;
  /** Looks in a row that found no task, and looks in all that found a success without a video. */
  private readonly misses: { task: number; video: number };

  constructor(
    private readonly warnedWords: Set<string>,
    carried?: CarriedLooks,
  ) {
    this.polls = carried?.polls ?? 0;
    this.task = carried?.lastTask;
    this.trouble = carried?.trouble;
    this.misses = carried?.misses ?? { task: 0, video: 0 };
  }

  looked(look: Look): void {
    this.polls++;
    this.trouble = undefined;
    this.misses.task = 0;
    if (look.state === 'succeeded' && !look.hasVideo) this.misses.video++;
    const percent = 'percent' in look ? look.percent : undefined;
    this.retryAfterMs = 'retryAfterMs' in look ? look.retryAfterMs : undefined;
    this.task = { state: look.state, word: look.word, percent };
  }

  lookFailed({ type, message, details }: VideoFailure): void {
    this.polls++;
    this.trouble = { type, message, count: (this.trouble?.count ?? 0) + 1 };
    this.misses.task = type === 'TaskUnknown' ? this.misses.task + 1 : 0;
    this.retryAfterMs = details.retryAfter === undefined ? undefined : details.retryAfter * 1_000;
  }

  get isMissing(): boolean {
    return this.misses.task >= LOOKS_WITHOUT_TASK;
  }

  get videoIsMissing(): boolean {
    return this.misses.video >= LOOKS_WITHOUT_VIDEO;
  }

  /** As a deadline that passed is explained. */
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

  carry(longestTextBytes: number): CarriedLooks {
    const { polls, task, trouble, misses } = this;
    const cut = (text: string) => cutToBytes(text, longestTextBytes);
    return {
      polls,
      lastTask: task && { ...task, word: cut(task.word) },
      trouble: trouble && { ...trouble, message: cut(trouble.message) },
      misses: misses.task + misses.video > 0 ? misses : undefined,
    };
  }
}
