import { ConfigError } from '../config/service-config';
import {
  CHAOS_FAULTS,
  DIALECT_NAMES,
  type EmulatedCall,
  type Faults,
  NAMED_FAULTS,
  namedFault,
} from '../emulator';

/** The calls of the emulated service, which cannot cancel. */
const CALLS = ['submit', 'status', 'download', 'retrieve'] as const satisfies readonly EmulatedCall[];
type Call = (typeof CALLS)[number];

/** `submit:rate-limited` is a fault for the next submit, `status:server-errorx3` one for each of the next three polls. */
export function readFaults(texts: string[]): { call: Call; fault: Faults[Call] }[] {
  return texts.flatMap((text) => {
    const [, name, kind = '', times = '1'] = /^([a-z]+):([a-z-]+?)(?:x(\d+))?$/.exec(text) ?? [];
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

/** The dialects and faults, for the help of the command. */
export function describeChoices(): string {
  const byChance = new Set<string>(CHAOS_FAULTS);
  const faults = CALLS.map((call) => {
    const names = Object.keys(NAMED_FAULTS[call]);
    const marked = names.map((name) => (byChance.has(`${call}:${name}`) ? `${name}*` : name));
    return `  ${call.padEnd(10)}${marked.join(' ')}`;
  });
  return [
    '',
    'Dialects, the services whose answers the emulator imitates:',
    `  ${DIALECT_NAMES.join(' ')}`,
    '',
    'Faults by call. Chaos chooses from those with a star:',
    ...faults,
  ].join('\n');
}
