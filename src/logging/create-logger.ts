import type { Logger, LogLevel as SdkLevel } from '@temporalio/common';
import { pino } from 'pino';
import { cleanText } from '../contract/clean-text';
import { LOG_EVENTS, LOG_LEVELS, type LogEvent, type LogLevel } from '../contract/log-events';
import { cleanFields } from './clean-fields';
import { prettyLine } from './pretty-line';
import { levelOf } from './sdk-lines';

export interface LoggerOptions {
  /** The least important lines that are written. */
  level: LogLevel;
  format: 'json' | 'pretty';
  /** Takes one line, without its end. */
  write(line: string): void;
}

/** The log of a process: for the SDK's runtime, and for our own lines outside of workflows and activities. */
export interface VideoLogger extends Logger {
  /** Writes one line of the table, at its level unless another is given. */
  event(event: LogEvent, fields?: Record<string, unknown>, level?: LogLevel): void;
}

const LONGEST_MESSAGE_CHARS = 1_000;

export function createLogger({ level: least, format, write }: LoggerOptions): VideoLogger {
  const lines = pino(
    {
      level: least,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (json: string) => write(format === 'json' ? json.trimEnd() : prettyLine(JSON.parse(json))) },
  );
  const put = (given: LogLevel, message: string, fields?: Record<string, unknown>) => {
    const level = levelOf(given, message, fields);
    if (lines.isLevelEnabled(level)) {
      lines[level](cleanFields(fields), cleanText(message, LONGEST_MESSAGE_CHARS));
    }
  };
  const at = (level: LogLevel) => (message: string, fields?: Record<string, unknown>) =>
    put(level, message, fields);
  return {
    log: (level: SdkLevel, message, fields) => put(ofSdk(level), message, fields),
    trace: at('trace'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    event: (event, fields, level = LOG_EVENTS[event].level) =>
      put(level, LOG_EVENTS[event].message, { event, ...fields }),
  };
}

function ofSdk(level: SdkLevel): LogLevel {
  return LOG_LEVELS.find((own) => own.toUpperCase() === level) ?? 'info';
}
