import type { Context } from './context';

export type CheckName =
  | 'versions'
  | 'settings'
  | 'temporal'
  | 'namespace'
  | 'workers'
  | 'service'
  | 'key'
  | 'clock'
  | 'storage';

/** The result of a check. `fix` says how to fix a problem; for a skipped check, `found` says why it was skipped. */
export type Finding =
  | { state: 'ok'; found: string }
  | { state: 'warning'; found: string; fix: string }
  | { state: 'failed'; found: string; fix: string }
  | { state: 'skipped'; found: string };

export interface Check {
  name: CheckName;
  /** If one of these checks fails, this one is skipped. They come earlier in the list. */
  needs?: readonly CheckName[];
  /** A ConfigError means that the check is skipped: the settings check reports it. */
  run(context: Context, signal: AbortSignal): Promise<Finding>;
}

export const ok = (found: string): Finding => ({ state: 'ok', found });
export const warning = (found: string, fix: string): Finding => ({ state: 'warning', found, fix });
export const failed = (found: string, fix: string): Finding => ({ state: 'failed', found, fix });
export const skipped = (found: string): Finding => ({ state: 'skipped', found });
