import type { Environment } from '../../config/read-setting';
import type { Temporal } from '../find-temporal';

/** The result of a check. `fix` says how to fix a problem; for a skipped check, `found` says why it was skipped. */
export type Finding =
  | { state: 'ok' | 'skipped'; found: string }
  | { state: 'warning' | 'failed'; found: string; fix: string };

export const ok = (found: string): Finding => ({ state: 'ok', found });
export const warning = (found: string, fix: string): Finding => ({ state: 'warning', found, fix });
export const failed = (found: string, fix: string): Finding => ({ state: 'failed', found, fix });
export const skipped = (found: string): Finding => ({ state: 'skipped', found });

/** The answer of an address to a request without a key. */
export type AddressAnswer =
  | { kind: 'answered'; clock: ClockReading | undefined }
  | { kind: 'silent'; code: string; message: string };

/** The service's time from its Date header, and ours halfway between request and answer. */
interface ClockReading {
  theirsMs: number;
  oursMs: number;
}

/** What the checks look at. Each lookup happens once. */
export interface Context {
  readonly env: Environment;
  temporal(): Promise<Temporal>;
  addressAnswer(baseUrl: string): Promise<AddressAnswer>;
}
