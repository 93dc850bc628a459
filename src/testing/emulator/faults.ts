import type { ContentStage } from '../../contract/failure-details';
import { checkName, showValue } from './check-arguments';

/** The service refuses the call and does nothing for it. */
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

/**
 * The content policy refuses the prompt, the image or the finished video, when and how the service of the dialect does it: the
 * submit is refused, or its task fails.
 */
export type RefusedByPolicy = { kind: 'refused-content'; stage: ContentStage };

/** The answer is correct but late. */
export type LateAnswer = { kind: 'late'; ms: number };

/** The connection is reset late: the task exists for a while before its caller gets the error. */
export type LateReset = { kind: 'reset-late'; ms: number };

/** A fault in the answer to a poll. */
export type StatusFault = { kind: 'unknown-state'; word: string | number } | { kind: 'no-video' };

/** A download that is cut off, stalls, or is a web page. */
export type FileFault =
  | { kind: 'cut'; afterBytes: number }
  | { kind: 'stall'; afterBytes: number }
  | { kind: 'web-page' };

/** The faults that each call can meet. */
export interface Faults {
  submit: AnswerFault | FailedTask | RefusedByPolicy | LateAnswer | LateReset;
  status: AnswerFault | FailedTask | StatusFault | LateAnswer;
  download: AnswerFault | FileFault | LateAnswer;
  /** Only if the emulator was started with `cancelling`. */
  cancel: AnswerFault;
  /** The call that returns the link to a file by its id; only in the dialect `minimax`. */
  retrieve: AnswerFault;
}

/** A kind of call that can meet a fault. */
export type EmulatedCall = keyof Faults;

const REFUSALS: Record<Refusal['kind'], true> = { 'rate-limited': true, 'server-error': true, refused: true };

export function isRefusal<Fault extends { kind: string }>(fault: Fault): fault is Fault & Refusal {
  return Object.hasOwn(REFUSALS, fault.kind);
}

type Fault = Faults[EmulatedCall];
type RequiredFields<Of> = { [Name in keyof Of as object extends Pick<Of, Name> ? never : Name]: true };

/** The required fields of each kind of fault. */
const FAULT_FIELDS: {
  [Kind in Fault['kind']]: Omit<RequiredFields<Extract<Fault, { kind: Kind }>>, 'kind'>;
} = {
  'rate-limited': {},
  'server-error': {},
  refused: { status: true, message: true },
  reset: {},
  hang: {},
  'cut-headers': {},
  'cut-body': {},
  'bad-json': {},
  empty: {},
  'empty-accepted': {},
  'failed-task': { code: true, message: true },
  'refused-content': { stage: true },
  late: { ms: true },
  'reset-late': { ms: true },
  'unknown-state': { word: true },
  'no-video': {},
  cut: { afterBytes: true },
  stall: { afterBytes: true },
  'web-page': {},
};

const ANSWER_KINDS = [
  'rate-limited',
  'server-error',
  'refused',
  'reset',
  'hang',
  'cut-headers',
  'cut-body',
  'bad-json',
  'empty',
  'empty-accepted',
] as const satisfies readonly AnswerFault['kind'][];

/** The kinds of `Faults` as values, to check the arguments of JavaScript callers. */
const FAULT_KINDS: { [Call in EmulatedCall]: readonly Faults[Call]['kind'][] } = {
  submit: [...ANSWER_KINDS, 'failed-task', 'refused-content', 'late', 'reset-late'],
  status: [...ANSWER_KINDS, 'failed-task', 'unknown-state', 'no-video', 'late'],
  download: [...ANSWER_KINDS, 'cut', 'stall', 'web-page', 'late'],
  cancel: ANSWER_KINDS,
  retrieve: ANSWER_KINDS,
};

const CALLS = ['submit', 'status', 'download', 'cancel', 'retrieve'] as const satisfies EmulatedCall[];

function checkFault(call: EmulatedCall, fault: unknown): void {
  if (typeof fault !== 'object' || fault === null) {
    throw new RangeError(
      `emulator.next('${call}', …): the fault is ${showValue(fault)}: give an object, such as { kind: 'reset' }.`,
    );
  }
  const kind = checkName(
    `emulator.next('${call}', …): the kind of the fault`,
    Reflect.get(fault, 'kind'),
    FAULT_KINDS[call],
  );
  const missing = Object.keys(FAULT_FIELDS[kind]).filter((name) => Reflect.get(fault, name) === undefined);
  if (missing.length === 0) return;
  throw new RangeError(`emulator.next('${call}', …): a fault '${kind}' also needs ${missing.join(' and ')}.`);
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
    checkName('emulator.next: the call', call, CALLS);
    // Checks all faults before it adds one, so that a script is added as a whole or not at all.
    for (const fault of faults) checkFault(call, fault);
    this.queues[call].push(...faults);
  }

  take<Call extends EmulatedCall>(call: Call): Faults[Call] | undefined {
    return this.queues[call].shift();
  }

  isSpent(): boolean {
    return Object.values(this.queues).every((queue) => queue.length === 0);
  }
}
