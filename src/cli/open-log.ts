import { Runtime, type RuntimeOptions } from '@temporalio/worker';
import { readLogConfig } from '../config/operation-config';
import type { LogLevel } from '../contract/log-events';
import { createLogger, type VideoLogger } from '../worker/logger';
import type { Terminal } from './terminal';

/** Below info, the lines of the SDK's native part have whole payloads in them, and so prompts. */
const NATIVE_LEVELS = { error: 'ERROR', warn: 'WARN', info: 'INFO', debug: 'INFO', trace: 'INFO' } as const;

let isInstalled = false;

/**
 * Opens the log of a command that runs workers, with the given level unless it is set. The SDK has one runtime per process, so
 * only the first call gives it the log. The command handles its signals: the SDK would stop its workers on Ctrl-C.
 */
export function openLog(
  terminal: Terminal,
  level: LogLevel,
  telemetry?: Omit<NonNullable<RuntimeOptions['telemetryOptions']>, 'logging'>,
): VideoLogger {
  const config = readLogConfig({ level, isTerminal: terminal.isTerminal }, terminal.env);
  const logger = createLogger({ ...config, write: (line) => terminal.err(`${line}\n`) });
  if (isInstalled) return logger;
  isInstalled = true;
  Runtime.install({
    logger,
    shutdownSignals: [],
    // The SDK's native part would print to standard output, which is only for results.
    telemetryOptions: { ...telemetry, logging: { forward: { level: NATIVE_LEVELS[config.level] } } },
  });
  return logger;
}
