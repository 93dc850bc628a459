import { inspect, types } from 'node:util';
import type { Logger, LogLevel as SdkLevel } from '@temporalio/common';
import { cleanText } from '../contract/clean-text';
import { fromTemporalType } from '../contract/failure-table';
import { LOG_EVENTS, LOG_LEVELS, type LogEvent, type LogLevel } from '../contract/log-events';
import { NO_SECRETS, redact } from '../contract/redact';

export interface LoggerOptions {
  /** The least important lines that are written. */
  level: LogLevel;
  format: 'json' | 'pretty';
  /** Takes one line, without its end. */
  write(line: string): void;
}

type Fields = Record<string, unknown>;

/** The log of a process: for the SDK's runtime, and for our own lines outside of workflows and activities. */
export interface VideoLogger extends Logger {
  /** Writes one line of the table, at its level unless another is given. */
  event(event: LogEvent, fields?: Fields, level?: LogLevel): void;
}

/** Longer than any id or URI that we log, and about five rows of a screen. */
const LONGEST_CHARS = 1_000;
const LONGEST_NAME_CHARS = 100;
const MOST_FIELDS = 40;
const MOST_FRAMES = 5;

export function createLogger({ level: least, format, write }: LoggerOptions): VideoLogger {
  const put = (given: LogLevel, text: string, fields?: Fields) => {
    const level = levelOf(given, text, fields);
    if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(least)) return;
    const head = { level, time: new Date().toISOString() };
    // No field takes the place of the line's own.
    const record = { ...head, ...cleanFields(fields), ...head, message: cleanText(text, LONGEST_CHARS) };
    write(format === 'json' ? JSON.stringify(record) : prettyLine(record));
  };
  const at = (level: LogLevel) => (message: string, fields?: Fields) => put(level, message, fields);
  return {
    log: (level: SdkLevel, message, fields) =>
      put(LOG_LEVELS.find((own) => own.toUpperCase() === level) ?? 'info', message, fields),
    trace: at('trace'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    event: (event, fields, level = LOG_EVENTS[event].level) =>
      put(level, LOG_EVENTS[event].message, { event, ...fields }),
  };
}

/**
 * The level at which a line is logged. Lines of ours have an `event`, and keep the level of their table. Lines of the SDK that
 * say what a line of ours says, or nothing to the operator of a worker, become `debug`.
 */
function levelOf(level: LogLevel, message: string, fields: Fields = {}): LogLevel {
  const { event, sdkComponent, error, activityType } = fields;
  if (event !== undefined || level === 'trace') return level;
  const isQuieter =
    // A worker for submits has none.
    message.startsWith('No workflows registered') ||
    // Its state, its options, its bundle.
    (level === 'info' && (sdkComponent === 'worker' || sdkComponent === 'core')) ||
    // `failed` and `cancelled` say why, and what to do.
    (message === 'Workflow failed' && isVideoError(error)) ||
    // `pollsFailing` says it once.
    (message === 'Activity failed' && activityType === 'pollVideo');
  return isQuieter ? 'debug' : level;
}

function isVideoError(error: unknown): boolean {
  const { type }: { type?: unknown } = Object(error);
  return fromTemporalType(type) !== undefined;
}

/** Fields of the SDK that say nothing to people or programs that read our log. */
const LEFT_OUT = /^(taskToken|isLocal|target|spanContexts|workflowExists|payload.*)$/;

/** The fields of a line, bounded and without control characters: others choose the names and texts in it. */
function cleanFields(fields: Fields = {}): Fields {
  const kept = Object.entries(fields).filter(([name, value]) => value != null && !LEFT_OUT.test(name));
  const cleaned = kept.slice(0, MOST_FIELDS).map(([name, value]) => [
    // The SDK calls the same id `runId` in workflows and `workflowRunId` in activities.
    name === 'workflowRunId' ? 'runId' : cleanText(name, LONGEST_NAME_CHARS),
    name === 'error' ? errorText(value) : cleanValue(value),
  ]);
  return Object.fromEntries(cleaned);
}

function cleanValue(value: unknown): string | number | boolean {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return types.isNativeError(value) ? errorText(value) : cleanText(textOf(value), LONGEST_CHARS);
}

/** Not by `String`, which calls methods of the value: they may throw. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return inspect(value, { depth: 2, breakLength: Number.POSITIVE_INFINITY, maxArrayLength: 10 });
}

/**
 * The message of a video failure says everything. Other errors get the first frames of their stack. All are redacted: those
 * of libraries may quote a link.
 */
function errorText(error: unknown): string {
  const redacted = (text: string) => redact(text, NO_SECRETS, LONGEST_CHARS);
  // Also those of a workflow's sandbox, whose `Error` is another one.
  if (!types.isNativeError(error) || isVideoError(error)) {
    const { message }: { message?: unknown } = Object(error);
    return redacted(textOf(message ?? error));
  }
  const frames = String(error.stack).match(/\n\s+at [^\n]+/g) ?? [];
  const where = cleanText(frames.slice(0, MOST_FRAMES).join(' '), LONGEST_CHARS);
  return `${redacted(`${error.name}: ${error.message}`)} ${where}`.trimEnd();
}

/** Fields for machines, and those that a line for people has in its own words. */
const OMITTED =
  /^(level|time|message|event|sdkComponent|namespace|taskQueue|activityId|activityType|attempt|job|workflowId|workflowType|runId|durationMs|trace_id|span_id|trace_flags|sha256|contentType|codec|advice|error)$/;

type LogRecord = Fields & { level: string; time: string; message: string };

/** The same line for people, at the time of the place: `15:06:40 info fox: stored, taskId vid_1, bytes 1948997`. */
function prettyLine(record: LogRecord): string {
  const { level, time, message, event, job, workflowId, activityType, attempt, error } = record;
  // A line of the SDK names the activity too.
  const names = [event === undefined && activityType, job ?? workflowId].filter(Boolean).join(' of ');
  const subject = Number(attempt) > 1 ? `${names}, attempt ${attempt}` : names;
  const fields = Object.entries(record).filter(([name]) => !OMITTED.test(name));
  const said = [message, ...fields.map(([name, value]) => `${name} ${value}`), ...(error ? [error] : [])];
  const clock = new Date(time).toTimeString().slice(0, 8);
  return cleanText(`${clock} ${level} ${subject && `${subject}: `}${said.join(', ')}`, LONGEST_CHARS);
}
