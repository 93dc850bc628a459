import { ConfigError } from '../config';
import { TemporalUnreachable } from '../connect';
import { isVideoFailure } from '../contract';
import { EngineUnavailable, PortInUse } from '../engine';
import { INTERRUPTED } from './terminal';

/** Beside the codes of the failure table, which tell how a job failed. */
export const EXIT = {
  ok: 0,
  /** A mistake of ours, or of the machine. */
  unexpected: 1,
  /** The same as a refused request: what was asked for cannot be done. */
  usage: 2,
  noTemporal: 19,
  interrupted: INTERRUPTED,
} as const;

export function exitCodeOf(error: unknown): number {
  if (isVideoFailure(error)) return error.exitCode;
  if (error instanceof ConfigError || error instanceof PortInUse) return EXIT.usage;
  if (error instanceof TemporalUnreachable || error instanceof EngineUnavailable) return EXIT.noTemporal;
  return EXIT.unexpected;
}

/** What a program is told of an error, whatever it is. */
export function errorObject(error: unknown): { error: Record<string, string | undefined> } {
  if (isVideoFailure(error)) {
    const { type, message, taskId, advice } = error;
    return { error: { type, message, taskId, advice } };
  }
  const known = error instanceof Error ? error : new Error(String(error));
  return { error: { type: known.name, message: known.message, taskId: undefined, advice: undefined } };
}
