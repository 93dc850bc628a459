import { inspect } from 'node:util';
import type { ContentStage } from '../contract/failure-details';

/** The service refuses the call and does nothing for it. */
export type EmulatedRefusal =
  | { kind: 'rate-limited'; retryAfter?: number | Date }
  | { kind: 'server-error'; status?: number }
  | { kind: 'refused'; status: number; code?: string; message: string };

/** The service does what was asked, but its answer is lost: a submit makes a paid task, a cancel ends its task. */
export type LostAnswer =
  | { kind: 'reset' | 'hang' | 'cut-headers' | 'cut-body' | 'bad-json' }
  /** An empty body, with status 200 by default. */
  | { kind: 'empty'; status?: number };

/** A fault that any call can meet. */
export type AnswerFault = EmulatedRefusal | LostAnswer;

/** The task fails: given for a submit, when its job time is over; given for a status call, at once. */
type FailedTask = { kind: 'failed-task'; code: string; message: string };

/** The answer is correct but late. */
type LateAnswer = { kind: 'late'; ms: number };

/** The faults that each call can meet. */
export interface Faults {
  submit:
    | AnswerFault
    | FailedTask
    | LateAnswer
    /** The content policy refuses the prompt, the image or the finished video. */
    | { kind: 'refused-content'; stage: ContentStage }
    /** The task exists for a while before its caller gets the error. */
    | { kind: 'reset-late'; ms: number };
  status:
    | AnswerFault
    | FailedTask
    | LateAnswer
    | { kind: 'unknown-state'; word: string | number }
    | { kind: 'no-video' };
  download: AnswerFault | LateAnswer | { kind: 'cut' | 'stall'; afterBytes: number } | { kind: 'web-page' };
  /** Only if the emulator was started with `cancelling`. */
  cancel: AnswerFault;
  /** The call that returns the link to a finished video, at services whose polls have none. */
  retrieve: AnswerFault;
}

/** A kind of call that can meet a fault. */
export type EmulatedCall = keyof Faults;
export type Fault = Faults[EmulatedCall];

/** A row says what the service does, or how its answer is lost after it did what was asked. */
type FaultRow = ({ does: string } | { loses: string }) & {
  fault: Fault;
  /** The calls that can meet it; by default all. */
  on?: readonly EmulatedCall[];
  /**
   * The calls for which chaos chooses it: not if it ends a task, takes minutes or could pass for an empty video. Lost
   * submits are among them, and their generations count.
   */
  chaos?: readonly EmulatedCall[];
};

export const CALLS = ['submit', 'status', 'download', 'cancel', 'retrieve'] as const;
const MAIN_CALLS = ['submit', 'status', 'download'] as const;
const JSON_CALLS = ['submit', 'status', 'retrieve'] as const;
const SUBMIT = ['submit'] as const;
const STATUS = ['status'] as const;
const DOWNLOAD = ['download'] as const;

const refused = (status: number, code: string, message: string): EmulatedRefusal => ({
  kind: 'refused',
  status,
  code,
  message,
});
const refusedContent = (stage: ContentStage): Faults['submit'] => ({ kind: 'refused-content', stage });
const FAILED_TASK: FailedTask = {
  kind: 'failed-task',
  code: 'generation_failed',
  message: 'the model could not finish the video',
};
/** Past the first bytes of any video, but still in its header. */
const afterBytes = 1_000;

/** The faults by name, for chaos and the command line. Scripts can set more of their details. */
export const FAULTS = {
  'rate-limited': {
    fault: { kind: 'rate-limited', retryAfter: 2 },
    chaos: CALLS,
    does: 'answers 429 with a Retry-After of 2 s, and does nothing',
  },
  'server-error': { fault: { kind: 'server-error' }, chaos: CALLS, does: 'answers 500, and does nothing' },
  reset: { fault: { kind: 'reset' }, chaos: CALLS, loses: 'then resets the connection' },
  hang: { fault: { kind: 'hang' }, loses: 'and never answers' },
  'cut-headers': {
    fault: { kind: 'cut-headers' },
    chaos: MAIN_CALLS,
    loses: 'then closes the connection in the headers',
  },
  'cut-body': {
    fault: { kind: 'cut-body' },
    chaos: JSON_CALLS,
    loses: 'then closes the connection in the body',
  },
  'bad-json': { fault: { kind: 'bad-json' }, chaos: JSON_CALLS, loses: 'but answers invalid JSON' },
  empty: {
    fault: { kind: 'empty' },
    chaos: ['submit', 'status'],
    loses: 'but answers 200 with an empty body',
  },
  'empty-accepted': { fault: { kind: 'empty', status: 202 }, loses: 'but answers 202 with an empty body' },
  late: {
    fault: { kind: 'late', ms: 1_000 },
    on: MAIN_CALLS,
    chaos: MAIN_CALLS,
    does: 'answers correctly, 1 s late',
  },
  'reset-late': {
    fault: { kind: 'reset-late', ms: 1_000 },
    on: SUBMIT,
    chaos: SUBMIT,
    loses: 'then resets the connection 1 s later',
  },
  refused: {
    fault: refused(400, 'invalid_request', 'the prompt is not allowed'),
    on: SUBMIT,
    does: 'answers 400: the request is refused',
  },
  unauthorized: {
    fault: refused(401, 'unauthorized', 'the API key is not valid'),
    on: SUBMIT,
    does: 'answers 401: the key is refused',
  },
  'failed-task': { fault: FAILED_TASK, on: ['submit', 'status'], does: 'the generation ends as failed' },
  'refused-prompt': {
    fault: refusedContent('prompt'),
    on: SUBMIT,
    does: 'the content policy refuses the prompt',
  },
  'refused-image': {
    fault: refusedContent('image'),
    on: SUBMIT,
    does: 'the content policy refuses the image',
  },
  'refused-output': {
    fault: refusedContent('output'),
    on: SUBMIT,
    does: 'the content policy refuses the finished video',
  },
  'not-found': {
    fault: refused(404, 'not_found', 'no such task'),
    on: STATUS,
    chaos: STATUS,
    does: 'answers 404: no such task',
  },
  'unknown-state': {
    fault: { kind: 'unknown-state', word: 'brewing' },
    on: STATUS,
    chaos: STATUS,
    does: 'answers with a state that no service has',
  },
  'no-video': {
    fault: { kind: 'no-video' },
    on: STATUS,
    does: 'says that the task succeeded, without a link to the video',
  },
  cut: {
    fault: { kind: 'cut', afterBytes },
    on: DOWNLOAD,
    chaos: DOWNLOAD,
    does: 'closes the connection after 1000 bytes',
  },
  stall: {
    fault: { kind: 'stall', afterBytes },
    on: DOWNLOAD,
    chaos: DOWNLOAD,
    does: 'stops sending after 1000 bytes',
  },
  'web-page': {
    fault: { kind: 'web-page' },
    on: DOWNLOAD,
    chaos: DOWNLOAD,
    does: 'sends a web page instead of the video',
  },
} satisfies Record<string, FaultRow>;

const ROWS: [name: string, row: FaultRow][] = Object.entries(FAULTS);

/** A call and a fault by name, such as `submit:reset` or `download:cut`. */
export type FaultName = `${EmulatedCall}:${keyof typeof FAULTS}`;

const rowsOn = (call: EmulatedCall) => ROWS.filter(([, { on = CALLS }]) => on.includes(call));

/** The names of the faults that a call can meet. */
export const faultsOn = (call: EmulatedCall): string[] => rowsOn(call).map(([name]) => name);

export const isByChance = (call: EmulatedCall, name: string): boolean =>
  ROWS.some(([other, { chaos = [] }]) => other === name && chaos.includes(call));

/** Undefined if the call has no fault of that name. */
export function namedFault<Call extends EmulatedCall>(call: Call, name: string): Faults[Call] | undefined {
  return rowsOn(call).find(([other]) => other === name)?.[1].fault as Faults[Call] | undefined;
}

/** Generic, since tests have faults of their own. */
export function isRefusal<Any extends { kind: string }>(
  fault: Any | undefined,
): fault is Any & EmulatedRefusal {
  return fault?.kind === 'rate-limited' || fault?.kind === 'server-error' || fault?.kind === 'refused';
}

/** Faults for the next calls of each kind, in order. */
export class FaultScript {
  private readonly faults: { call: EmulatedCall; fault: Fault }[] = [];

  add<Call extends EmulatedCall>(call: Call, faults: Faults[Call][]): void {
    checkFaultName('emulator.next: the call', call, CALLS);
    // Checks all faults before it adds one, so that a script is added as a whole or not at all.
    for (const fault of faults) checkFault(call, fault);
    this.faults.push(...faults.map((fault) => ({ call, fault })));
  }

  take<Call extends EmulatedCall>(call: Call): Faults[Call] | undefined {
    const index = this.faults.findIndex((next) => next.call === call);
    return index < 0 ? undefined : (this.faults.splice(index, 1)[0]?.fault as Faults[Call]);
  }

  isSpent(): boolean {
    return this.faults.length === 0;
  }
}

/** The details without which a fault of a kind says too little. */
const REQUIRED: Partial<Record<Fault['kind'], string[]>> = {
  refused: ['status', 'message'],
  'failed-task': ['code', 'message'],
  'refused-content': ['stage'],
  late: ['ms'],
  'reset-late': ['ms'],
  'unknown-state': ['word'],
  cut: ['afterBytes'],
  stall: ['afterBytes'],
};

/** For JavaScript callers, whom no compiler warns. */
function checkFault(call: EmulatedCall, fault: unknown): void {
  const next = `emulator.next('${call}', …)`;
  if (typeof fault !== 'object' || fault === null) {
    throw new RangeError(
      `${next}: the fault is ${showValue(fault)}: give an object, such as { kind: 'reset' }.`,
    );
  }
  const here = rowsOn(call).map(([, row]) => row.fault.kind);
  // Any call can be refused, with a status and a message of the script's own.
  const kinds = [...new Set([...here, 'refused' as const])];
  const kind = checkFaultName(`${next}: the kind of the fault`, Reflect.get(fault, 'kind'), kinds);
  const missing = (REQUIRED[kind] ?? []).filter((name) => Reflect.get(fault, name) === undefined);
  if (missing.length === 0) return;
  throw new RangeError(`${next}: a fault '${kind}' also needs ${missing.join(' and ')}.`);
}

/** Gives a JavaScript caller one sentence with the names that exist. */
export function checkFaultName<Name extends string>(
  what: string,
  given: unknown,
  names: readonly Name[],
): Name {
  const known = names.find((name) => name === given);
  if (known !== undefined) return known;
  throw new RangeError(`${what} is ${showValue(given)}: give one of ${names.join(', ')}.`);
}

/** One line, however large the value is. */
export function showValue(given: unknown): string {
  return inspect(given, { depth: 1, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 100 });
}
