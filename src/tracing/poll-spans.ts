/** More tasks than a worker follows at a time. */
const MOST_TASKS = 10_000;
/** A service that alternates between two answers must not fill a trace. */
const MOST_SPANS_PER_TASK = 32;

const ENDED = new Set(['succeeded', 'failed', 'cancelled']);

interface SeenTask {
  outcome: string;
  spans: number;
}

/**
 * Which polls get a span: those whose answer differs from the one before it, as far as this worker has seen. A job may poll
 * 50,000 times, and all but a handful of polls say "still running". The first and the last poll always differ.
 */
export class PollSpans {
  private readonly seen = new Map<string, SeenTask>();

  /** `outcome` is the state of the task, or the type of the failure. */
  isWorthSpan(taskId: string, outcome: string): boolean {
    const { outcome: before, spans } = this.seen.get(taskId) ?? { outcome: undefined, spans: 0 };
    const most = ENDED.has(outcome) ? MOST_SPANS_PER_TASK + 1 : MOST_SPANS_PER_TASK;
    const isWorth = outcome !== before && spans < most;
    this.remember(taskId, { outcome, spans: isWorth ? spans + 1 : spans });
    return isWorth;
  }

  /** The task that was polled longest ago is forgotten first. */
  private remember(taskId: string, task: SeenTask): void {
    this.seen.delete(taskId);
    this.seen.set(taskId, task);
    const [oldest] = this.seen.keys();
    if (this.seen.size > MOST_TASKS && oldest !== undefined) this.seen.delete(oldest);
  }
}
