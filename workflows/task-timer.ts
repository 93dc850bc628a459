import type { EndedTask } from '../src/contract/usual-times';

/** A poll that comes so much later than planned was held up, for example because no worker was running. */
const HELD_UP_MS = 10_000;
const HELD_UP_FACTOR = 2;

/** Observes between which two polls a task ends, for the worker to learn from. */
export class TaskTimer {
  private kind: string | undefined;
  /** The last poll that was answered, and the one before it. */
  private polledMs = 0;
  private polledBeforeMs = 0;
  private plannedMs = 0;

  /** Without a kind, the task began before this job knew of it. */
  start(kind: string | undefined): void {
    this.kind = kind;
  }

  planPoll(delayMs: number): void {
    this.plannedMs = delayMs;
  }

  recordPoll(waitedMs: number): void {
    this.polledBeforeMs = this.polledMs;
    this.polledMs = waitedMs;
  }

  /** The time between the last two polls, or from the submit to the first one. The poll before may be that of another run. */
  sincePollBefore(polls: number): number | undefined {
    return polls > 1 && this.polledBeforeMs === 0 ? undefined : this.polledMs - this.polledBeforeMs;
  }

  /** Of a task that the last poll found ready. Undefined when the time between the polls says little about tasks. */
  get ended(): EndedTask | undefined {
    const { kind, polledBeforeMs: afterMs, polledMs: byMs } = this;
    const isHeldUp = byMs - afterMs > this.plannedMs * HELD_UP_FACTOR + HELD_UP_MS;
    return kind === undefined || isHeldUp ? undefined : { kind, afterMs, byMs };
  }
}
