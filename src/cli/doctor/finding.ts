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

/** What the checks look at. The server is looked up once. */
export interface Context {
  readonly env: Environment;
  temporal(): Promise<Temporal>;
}
