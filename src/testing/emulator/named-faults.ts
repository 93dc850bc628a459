import type { AnswerFault, EmulatedCall, FailedTask, Faults, LateAnswer } from './faults';

const ANSWER_FAULTS = {
  'rate-limited': { kind: 'rate-limited', retryAfter: 2 },
  'server-error': { kind: 'server-error' },
  reset: { kind: 'reset' },
  hang: { kind: 'hang' },
  'cut-headers': { kind: 'cut-headers' },
  'cut-body': { kind: 'cut-body' },
  'bad-json': { kind: 'bad-json' },
  empty: { kind: 'empty' },
  'empty-accepted': { kind: 'empty-accepted' },
} satisfies Record<string, AnswerFault>;

const LATE: LateAnswer = { kind: 'late', ms: 1_000 };
const FAILED_TASK: FailedTask = {
  kind: 'failed-task',
  code: 'generation_failed',
  message: 'the model could not finish the video',
};
/** Past the first bytes of any video, but still in its header. */
const EARLY_BYTES = 1_000;

/** Faults by call and name, for commands. Scripts in TypeScript can set more of their details. */
export const NAMED_FAULTS = {
  submit: {
    ...ANSWER_FAULTS,
    late: LATE,
    'reset-late': { kind: 'reset-late', ms: 1_000 },
    refused: { kind: 'refused', status: 400, code: 'invalid_request', message: 'the prompt is not allowed' },
    unauthorized: { kind: 'refused', status: 401, code: 'unauthorized', message: 'the API key is not valid' },
    'failed-task': FAILED_TASK,
    'refused-prompt': { kind: 'refused-content', stage: 'prompt' },
    'refused-image': { kind: 'refused-content', stage: 'image' },
    'refused-output': { kind: 'refused-content', stage: 'output' },
  },
  status: {
    ...ANSWER_FAULTS,
    late: LATE,
    'not-found': { kind: 'refused', status: 404, code: 'not_found', message: 'no such task' },
    'unknown-state': { kind: 'unknown-state', word: 'brewing' },
    'no-video': { kind: 'no-video' },
    'failed-task': FAILED_TASK,
  },
  download: {
    ...ANSWER_FAULTS,
    late: LATE,
    cut: { kind: 'cut', afterBytes: EARLY_BYTES },
    stall: { kind: 'stall', afterBytes: EARLY_BYTES },
    'web-page': { kind: 'web-page' },
  },
  cancel: ANSWER_FAULTS,
  retrieve: ANSWER_FAULTS,
} satisfies { [Call in EmulatedCall]: Record<string, Faults[Call]> };

/** A call and a fault by name, such as `submit:reset` or `download:cut`. */
export type FaultName = {
  [Call in EmulatedCall]: `${Call}:${keyof (typeof NAMED_FAULTS)[Call] & string}`;
}[EmulatedCall];

export const FAULT_NAMES: readonly string[] = Object.entries(NAMED_FAULTS).flatMap(([call, faults]) =>
  Object.keys(faults).map((name) => `${call}:${name}`),
);

const BY_CALL: { [Call in EmulatedCall]: Record<string, Faults[Call]> } = NAMED_FAULTS;

/** Undefined if the call has no fault of that name. */
export function namedFault<Call extends EmulatedCall>(call: Call, name: string): Faults[Call] | undefined {
  const faults = BY_CALL[call];
  return Object.hasOwn(faults, name) ? faults[name] : undefined;
}
