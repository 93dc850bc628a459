import { ConfigError } from '../config/service-config';
import {
  CHAOS_FAULTS,
  DIALECT_NAMES,
  type EmulatedCall,
  type Faults,
  type LateReset,
  type LostAnswer,
  NAMED_FAULTS,
  namedFault,
} from '../testing/emulator';

/** The calls of the emulated service, which cannot cancel. */
const CALLS = ['submit', 'status', 'download', 'retrieve'] as const satisfies readonly EmulatedCall[];
type Call = (typeof CALLS)[number];

/** A fault for the next call of a kind. */
export interface ScriptedFault {
  call: Call;
  fault: Faults[Call];
}

/** `submit:rate-limited` is a fault for the next submit, `status:server-errorx3` one for each of the next three polls; 999 at most. */
export function readFaults(texts: string[]): ScriptedFault[] {
  return texts.flatMap((text) => {
    const [, name, kind = '', times = '1'] = /^([a-z]+):([a-z-]+?)(?:x(\d{1,3}))?$/.exec(text) ?? [];
    const call = CALLS.find((candidate) => candidate === name);
    const fault = call && namedFault(call, kind);
    if (call && fault) return Array.from({ length: Number(times) }, () => ({ call, fault }));
    // `retrieve` has the kinds that all calls share.
    const kinds = Object.keys(NAMED_FAULTS[call ?? 'retrieve']);
    const choices = `CALL one of ${CALLS.join(', ')} and KIND one of ${kinds.join(', ')}`;
    throw new ConfigError(
      `--fault is ${JSON.stringify(text)}: give CALL:KIND or CALL:KINDxTIMES with ${choices}.`,
    );
  });
}

type FaultKind = { [Call in EmulatedCall]: keyof (typeof NAMED_FAULTS)[Call] }[EmulatedCall];

const FAULT_MEANINGS: Record<FaultKind, string> = {
  'rate-limited': 'answers 429 with a Retry-After of 2 s, and does nothing',
  'server-error': 'answers 500, and does nothing',
  reset: 'does what was asked, then resets the connection',
  hang: 'does what was asked, and never answers',
  'cut-headers': 'does what was asked, then closes the connection in the headers',
  'cut-body': 'does what was asked, then closes the connection in the body',
  'bad-json': 'does what was asked, but answers invalid JSON',
  empty: 'does what was asked, but answers 200 with an empty body',
  'empty-accepted': 'does what was asked, but answers 202 with an empty body',
  late: 'answers correctly, 1 s late',
  'reset-late': 'does what was asked, then resets the connection 1 s later',
  refused: 'answers 400: the request is refused',
  unauthorized: 'answers 401: the key is refused',
  'failed-task': 'the generation ends as failed',
  'refused-prompt': 'the content policy refuses the prompt',
  'refused-image': 'the content policy refuses the image',
  'refused-output': 'the content policy refuses the finished video',
  'not-found': 'answers 404: no such task',
  'unknown-state': 'answers with a state that no service has',
  'no-video': 'says that the task succeeded, without a link to the video',
  cut: 'closes the connection after 1000 bytes',
  stall: 'stops sending after 1000 bytes',
  'web-page': 'sends a web page instead of the video',
};

/** The faults after which a task exists that the job does not know. */
const LOSES_SUBMIT: Record<(LostAnswer | LateReset)['kind'], true> = {
  reset: true,
  hang: true,
  'cut-headers': true,
  'cut-body': true,
  'bad-json': true,
  empty: true,
  'empty-accepted': true,
  'reset-late': true,
};

/** The dialects and faults, for the help of the command. */
export function describeChoices(): string {
  const dialects = [
    '',
    'Dialects, the services whose answers the emulator imitates:',
    `  ${DIALECT_NAMES.join(' ')}`,
  ];
  return [...dialects, describeFaults()].join('\n');
}

export function describeFaults(): string {
  const byChance = new Set<string>(CHAOS_FAULTS);
  const faults = CALLS.map((call) => {
    const names = Object.keys(NAMED_FAULTS[call]);
    const marked = names.map((name) => (byChance.has(`${call}:${name}`) ? `${name}*` : name));
    return `  ${call.padEnd(10)}${marked.join(' ')}`;
  });
  const meanings = Object.entries(FAULT_MEANINGS).map(([kind, meaning]) => `  ${kind.padEnd(16)}${meaning}`);
  return [
    '',
    'Faults by call. Chaos chooses from those with a star:',
    ...faults,
    '',
    'What each does:',
    ...meanings,
    '',
    'These lose a submit: a task exists, but the job does not get its id and waits for a decision:',
    `  ${Object.keys(LOSES_SUBMIT).join(' ')}`,
  ].join('\n');
}
