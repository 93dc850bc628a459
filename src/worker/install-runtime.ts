import { Runtime, type RuntimeOptions } from '@temporalio/worker';
import type { LogLevel } from '../contract/log-events';
import type { VideoLogger } from './logger';

export interface RuntimeSettings {
  logger: VideoLogger;
  /** The level of the logger: the SDK's native part forwards no lines below it. */
  level: LogLevel;
  /** Metrics, for example. The log of the native part is always forwarded. */
  telemetry?: Omit<NonNullable<RuntimeOptions['telemetryOptions']>, 'logging'>;
}

let isInstalled = false;

/**
 * Gives the process its log, and the command its signals: the SDK would stop its workers on Ctrl-C. Only the first call has an
 * effect, because the SDK has one runtime per process.
 */
export function installRuntime({ logger, level, telemetry }: RuntimeSettings): void {
  if (isInstalled) return;
  isInstalled = true;
  // Below info, the lines of the native part have whole payloads in them, and so prompts.
  const native = level === 'error' ? 'ERROR' : level === 'warn' ? 'WARN' : 'INFO';
  Runtime.install({
    logger,
    shutdownSignals: [],
    // The SDK's native part would print to standard output, which is only for results.
    telemetryOptions: { ...telemetry, logging: { forward: { level: native } } },
  });
}
