import { readLogConfig } from '../config/operation-config';
import type { LogLevel } from '../contract/log-events';
import { installRuntime, type RuntimeSettings } from '../worker/install-runtime';
import { createLogger, type VideoLogger } from '../worker/logger';
import type { Terminal } from './terminal';

/** Opens the log of a command that runs workers, with the given level unless it is set. Only the first call has an effect. */
export function openLog(
  terminal: Terminal,
  level: LogLevel,
  telemetry?: RuntimeSettings['telemetry'],
): VideoLogger {
  const isTerminal = terminal.columns() !== undefined;
  const config = readLogConfig({ level, isTerminal }, terminal.env);
  const logger = createLogger({ ...config, write: (line) => terminal.err(`${line}\n`) });
  installRuntime({ logger, level: config.level, telemetry });
  return logger;
}
