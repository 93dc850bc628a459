import { randomBytes } from 'node:crypto';
import type { ContentStage } from '../contract/failure-details';
import { seededRandom } from './seeded-random';

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
  /** By default of the kind that the row is named after. */
  fault?: Fault;
  /** The calls that can meet it; by default all. */
  on?: readonly EmulatedCall[];
  /** Chaos chooses it too: not if it ends a task, takes minutes or could pass for an empty video. */
  byChance?: true;
};

const CALLS = ['submit', 'status', 'download', 'cancel', 'retrieve'] as const;
const SUBMIT = ['submit'] as const;
const STATUS = ['status'] as const;
const DOWNLOAD = ['download'] as const;

const refused = (status: number, code: string, message: string): EmulatedRefusal => ({
  kind: 'refused',
  status,
  code,
  message,
});
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
    byChance: true,
    does: 'answers 429 with a Retry-After of 2 s, and does nothing',
  },
  'server-error': { byChance: true, does: 'answers 500, and does nothing' },
  reset: { byChance: true, loses: 'then resets the connection' },
  hang: { loses: 'and never answers' },
  'cut-headers': { byChance: true, loses: 'then closes the connection in the headers' },
  'cut-body': { byChance: true, loses: 'then closes the connection in the body' },
  'bad-json': { byChance: true, loses: 'but answers invalid JSON' },
  empty: { loses: 'but answers 200 with an empty body' },
  late: {
    fault: { kind: 'late', ms: 1_000 },
    on: ['submit', 'status', 'download'],
    byChance: true,
    does: 'answers correctly, 1 s late',
  },
  'reset-late': {
    fault: { kind: 'reset-late', ms: 1_000 },
    on: SUBMIT,
    byChance: true,
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
    fault: { kind: 'refused-content', stage: 'prompt' },
    on: SUBMIT,
    does: 'the content policy refuses the prompt',
  },
  'refused-image': {
    fault: { kind: 'refused-content', stage: 'image' },
    on: SUBMIT,
    does: 'the content policy refuses the image',
  },
  'refused-output': {
    fault: { kind: 'refused-content', stage: 'output' },
    on: SUBMIT,
    does: 'the content policy refuses the finished video',
  },
  'not-found': {
    fault: refused(404, 'not_found', 'no such task'),
    on: STATUS,
    does: 'answers 404: no such task',
  },
  'unknown-state': {
    fault: { kind: 'unknown-state', word: 'brewing' },
    on: STATUS,
    byChance: true,
    does: 'answers with a state that no service has',
  },
  'no-video': { on: STATUS, does: 'says that the task succeeded, without a link to the video' },
  cut: {
    fault: { kind: 'cut', afterBytes },
    on: DOWNLOAD,
    byChance: true,
    does: 'closes the connection after 1000 bytes',
  },
  stall: {
    fault: { kind: 'stall', afterBytes },
    on: DOWNLOAD,
    byChance: true,
    does: 'stops sending after 1000 bytes',
  },
  'web-page': { on: DOWNLOAD, byChance: true, does: 'sends a web page instead of the video' },
} satisfies Record<string, FaultRow>;

/** The faults that a call can meet, by name. */
export function faultsOn(call: EmulatedCall): [name: string, row: FaultRow & { fault: Fault }][] {
  const rows: [string, FaultRow][] = Object.entries(FAULTS);
  return rows
    .filter(([, { on = CALLS }]) => on.includes(call))
    .map(([name, row]) => [name, { ...row, fault: row.fault ?? ({ kind: name } as Fault) }]);
}

/** Generic, since tests have faults of their own. */
export function isRefusal<Any extends { kind: string }>(
  fault: Any | undefined,
): fault is Any & EmulatedRefusal {
  return fault?.kind === 'rate-limited' || fault?.kind === 'server-error' || fault?.kind === 'refused';
}

/** Random faults of the emulator. */
export interface ChaosOptions {
  /** The probability that a call meets a fault, from 0 to 1. */
  rate: number;
  /** Repeats a run: the first, second, … call of each kind meets the same faults again. Default: a random seed. */
  seed?: string;
}

/** The faults to come: those of a script, in order, and random ones. */
export class FaultSource {
  private readonly script: { call: EmulatedCall; fault: Fault }[] = [];
  private readonly randoms = new Map<EmulatedCall, () => number>();

  constructor(private readonly chaos: ChaosOptions = { rate: 0 }) {
    if (chaos.rate >= 0 && chaos.rate <= 1) return;
    throw new RangeError(`The rate of chaos is ${chaos.rate}: give 0 to 1.`);
  }

  add<Call extends EmulatedCall>(call: Call, faults: Faults[Call][]): void {
    this.script.push(...faults.map((fault) => ({ call, fault })));
  }

  take<Call extends EmulatedCall>(call: Call): Faults[Call] | undefined {
    const index = this.script.findIndex((next) => next.call === call);
    const [next] = index < 0 ? [] : this.script.splice(index, 1);
    return (next?.fault ?? this.draw(call)) as Faults[Call] | undefined;
  }

  isSpent(): boolean {
    return this.script.length === 0;
  }

  private draw(call: EmulatedCall): Fault | undefined {
    const { rate, seed = randomBytes(4).toString('hex') } = this.chaos;
    const random = this.randoms.get(call) ?? seededRandom(`${seed} ${call}`);
    this.randoms.set(call, random);
    // Every call draws two numbers, so that the next call does not depend on what this one meets.
    const [chance, choice] = [random(), random()];
    const rows = faultsOn(call).filter(([, { byChance }]) => byChance);
    return chance < rate ? rows[Math.floor(choice * rows.length)]?.[1].fault : undefined;
  }
}
