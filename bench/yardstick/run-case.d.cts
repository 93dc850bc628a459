import type { Emulator, EmulatorOptions } from '../../src/testing';
import type { Dialect } from '../../src/testing/dialect';
import type { Case } from './cases.cjs';
import type { Bill } from './judge.cjs';

export interface CaseResult extends Bill {
  askedPerson: boolean;
  /** False if the program never made the call that the case is about. */
  hasHappened: boolean;
  runs: number;
  log: string;
}

export function runCase(
  contestant: { program: string; dialect: Dialect },
  testCase: Case,
  world: {
    startEmulator(options: EmulatorOptions): Promise<Emulator>;
    env?: Record<string, string>;
    name: string;
  },
): Promise<CaseResult>;
