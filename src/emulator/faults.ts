/** Turns a call down: nothing has been done for it. */
export type Refusal =
  | { kind: 'rate-limited'; retryAfter?: number | Date }
  | { kind: 'server-error'; status?: number }
  | { kind: 'refused'; status: number; code?: string; message: string };

/** The service does what was asked, but its answer is lost: a submit makes a paid task, a cancel ends its task. */
export type LostAnswer =
  /** The connection is reset instead of an answer. */
  | { kind: 'reset' }
  /** No answer ever comes. */
  | { kind: 'hang' }
  /** The connection is closed after the status line and half a header. */
  | { kind: 'cut-headers' }
  /** The connection is closed after half of the body that the headers announce. */
  | { kind: 'cut-body' }
  | { kind: 'bad-json' }
  /** An empty body, with status 200 unless set. */
  | { kind: 'empty'; status?: number }
  | { kind: 'empty-accepted' };

/** A fault that any call can meet. */
export type AnswerFault = Refusal | LostAnswer;

/** The task fails: given for a submit, when its job time is over; given for a status call, at once. */
export type FailedTask = { kind: 'failed-task'; code: string; message: string };

/** The answer is correct but late. */
export type LateAnswer = { kind: 'late'; ms: number };

/** The connection is reset late: the task exists for a while before its caller gets the error. */
export type LateReset = { kind: 'reset-late'; ms: number };

export type StatusFault = { kind: 'unknown-state'; word: string | number } | { kind: 'no-video' };

/** A download that is cut off, stalls, or is a web page. */
export type FileFault =
  | { kind: 'cut'; afterBytes: number }
  | { kind: 'stall'; afterBytes: number }
  | { kind: 'web-page' };

/** The faults that each call can meet. */
export interface Faults {
  submit: AnswerFault | FailedTask | LateAnswer | LateReset;
  status: AnswerFault | FailedTask | StatusFault | LateAnswer;
  download: AnswerFault | FileFault | LateAnswer;
  /** Only if the emulator was started with `cancelling`. */
  cancel: AnswerFault;
  /** The call that returns the link to a file by its id; only in the dialect `minimax`. */
  retrieve: AnswerFault;
}

export type EmulatedCall = keyof Faults;

const REFUSALS: Record<Refusal['kind'], true> = { 'rate-limited': true, 'server-error': true, refused: true };

export function isRefusal<Fault extends { kind: string }>(fault: Fault): fault is Fault & Refusal {
  return Object.hasOwn(REFUSALS, fault.kind);
}

/** Faults for the next calls of each kind, in order. */
export class FaultScript {
  private readonly queues: { [Call in EmulatedCall]: Faults[Call][] } = {
    submit: [],
    status: [],
    download: [],
    cancel: [],
    retrieve: [],
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
