/** Instead of an answer, whatever was asked. A submit that is not refused still makes its task: a lost answer costs it. */
export type AnswerFault =
  | { kind: 'rate-limited'; retryAfter?: number | Date }
  | { kind: 'server-error'; status?: number }
  | { kind: 'refused'; status: number; code?: string; message: string }
  /** The connection is reset before an answer. */
  | { kind: 'reset' }
  /** No answer ever comes. */
  | { kind: 'hang' }
  | { kind: 'bad-json' }
  | { kind: 'empty-accepted' };

/** The task ends badly when its time has come; asked for its status with this fault, at once. */
export type FailedTask = { kind: 'failed-task'; code: string; message: string };

/** The answer is the right one, and comes late; or it is lost late: the task exists for a while before its caller knows. */
export type LateAnswer = { kind: 'late'; ms: number } | { kind: 'reset-late'; ms: number };

export type StatusFault = { kind: 'unknown-state'; word: string } | { kind: 'no-video' };

/** A download that ends within what it should bring, stands still within it, or is a page instead. */
export type FileFault =
  | { kind: 'cut'; afterBytes: number }
  | { kind: 'stall'; afterBytes: number }
  | { kind: 'web-page' };

/** What can go wrong with each call. */
export interface Faults {
  submit: AnswerFault | FailedTask | LateAnswer;
  status: AnswerFault | FailedTask | StatusFault;
  download: AnswerFault | FileFault;
}

export type EmulatedCall = keyof Faults;

/** Faults for the next calls of each kind, in order. */
export class FaultScript {
  private readonly queues: { [Call in EmulatedCall]: Faults[Call][] } = {
    submit: [],
    status: [],
    download: [],
  };

  add<Call extends EmulatedCall>(call: Call, faults: Faults[Call][]): void {
    this.queues[call].push(...faults);
  }

  take<Call extends EmulatedCall>(call: Call): Faults[Call] | undefined {
    return this.queues[call].shift();
  }

  isSpent(): boolean {
    return Object.values(this.queues).every((queue) => queue.length === 0);
  }
}
