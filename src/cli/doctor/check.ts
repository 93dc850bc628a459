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

/** What a check found; what is not ok says how to fix it, and what could not be looked at says why. */
export type Finding =
  | { state: 'ok'; found: string }
  | { state: 'warning'; found: string; fix: string }
  | { state: 'wrong'; found: string; fix: string }
  | { state: 'skipped'; found: string };

export interface Check {
  name: CheckName;
  /** Checks that must not have failed for this one to make sense. They stand above it. */
  needs?: readonly CheckName[];
  /** A ConfigError that it throws is left to the check of the settings. */
  run(context: Context, signal: AbortSignal): Promise<Finding>;
}

export const ok = (found: string): Finding => ({ state: 'ok', found });
export const warning = (found: string, fix: string): Finding => ({ state: 'warning', found, fix });
export const wrong = (found: string, fix: string): Finding => ({ state: 'wrong', found, fix });
export const skipped = (why: string): Finding => ({ state: 'skipped', found: why });
