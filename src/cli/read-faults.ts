import { ConfigError } from '../config/service-config';
import { FAULTS, type Faults, faultsOn } from '../testing/faults';

/** The calls of the interface, which cannot cancel. */
const CALLS = ['submit', 'status', 'download'] as const;
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
    // `cancel` has the kinds that all calls share.
    const known = faultsOn(call ?? 'cancel');
    const fault = known.find(([other]) => other === kind)?.[1].fault;
    if (call && fault) {
      return Array.from({ length: Number(times) }, () => ({ call, fault }) as ScriptedFault);
    }
    const kinds = known.map(([other]) => other);
    const choices = `CALL one of ${CALLS.join(', ')} and KIND one of ${kinds.join(', ')}`;
    throw new ConfigError(
      `--fault is ${JSON.stringify(text)}: give CALL:KIND or CALL:KINDxTIMES with ${choices}.`,
    );
  });
}

/** The faults, for the help of the commands. */
export function describeFaults(): string {
  const byCall = CALLS.map((call) => {
    const names = faultsOn(call).map(([name]) => name);
    return `  ${call.padEnd(10)}${names.join(' ')}`;
  });
  const rows = Object.entries(FAULTS);
  const losing = rows.filter(([, row]) => 'loses' in row).map(([name]) => name);
  const meaningOf = (row: (typeof rows)[number][1]) =>
    'loses' in row ? `does what was asked, ${row.loses}` : row.does;
  return [
    '',
    'Faults by call:',
    ...byCall,
    '',
    'What each does:',
    ...rows.map(([name, row]) => `  ${name.padEnd(16)}${meaningOf(row)}`),
    '',
    'These lose a submit: a task exists, but the job does not get its id and waits for a decision:',
    `  ${losing.join(' ')}`,
  ].join('\n');
}
