import { ConfigError } from '../config';
import type { AnswerFault, EmulatedCall } from '../emulator';

/** Those of the interface: the command's service cannot cancel. */
const CALLS: readonly EmulatedCall[] = ['submit', 'status', 'download'];

/** Faults that need no further word; scripts in TypeScript have more. */
const FAULTS: Record<string, AnswerFault> = {
  'rate-limited': { kind: 'rate-limited', retryAfter: 2 },
  'server-error': { kind: 'server-error' },
  reset: { kind: 'reset' },
  hang: { kind: 'hang' },
  'cut-headers': { kind: 'cut-headers' },
  'cut-body': { kind: 'cut-body' },
  'bad-json': { kind: 'bad-json' },
  empty: { kind: 'empty' },
  'empty-accepted': { kind: 'empty-accepted' },
};

/** `submit:rate-limited` is a fault for the next submit, `status:server-errorx3` for the next three looks. */
export function readFaults(texts: string[]): { call: EmulatedCall; fault: AnswerFault }[] {
  return texts.flatMap((text) => {
    const [, name, kind, times = '1'] = /^([a-z]+):([a-z-]+?)(?:x(\d+))?$/.exec(text) ?? [];
    const call = CALLS.find((candidate) => candidate === name);
    const fault = FAULTS[kind ?? ''];
    if (call && fault) return Array.from({ length: Number(times) }, () => ({ call, fault }));
    const choices = `CALL one of ${CALLS.join(', ')} and KIND one of ${Object.keys(FAULTS).join(', ')}`;
    throw new ConfigError(
      `--fault is ${JSON.stringify(text)}: give CALL:KIND or CALL:KINDxTIMES with ${choices}.`,
    );
  });
}
