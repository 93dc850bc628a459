import { inspect } from 'node:util';
import type { LogEntry } from '@temporalio/worker';
import { cleanText, shown } from '../contract';
import { fromTemporalType } from '../contract/failure-table';

/** About five rows of a screen. Whatever is longer is in the history of the job, stacks too. */
const LONGEST_LINE = 1_000;
const LONGEST_VALUE = 200;

/** What the SDK adds to every entry: of use to machines, or told in the words before. */
const NOT_TOLD =
  /^(sdkComponent|namespace|taskQueue|taskToken|isLocal|activityId|activityType|attempt|workflowId|workflowType|runId|workflowRunId|workflowExists|durationMs|target|spanContexts|payload.*|error)$/;

/** The SDK's native part writes errors of Temporal with all their bytes. */
const NATIVE_STATUS = /^Status \{ code: (\w+), message: "((?:[^"\\]|\\.)*)"/;

/** A line of the log of the SDK, as it may be written to a terminal: others choose the names that are in it. */
export function logLine({ level, timestampNanos, message, meta = {} }: LogEntry): string {
  const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
  const fields = Object.entries(meta).filter(([name, value]) => !NOT_TOLD.test(name) && value != null);
  const told = [
    ...subjectOf(meta),
    ...fields.map(([name, value]) => `${name} ${valueText(value)}`),
    ...(meta.error == null ? [] : [errorOf(meta.error)]),
  ];
  const line = `${time} [${level}] ${message}${told.length > 0 ? `: ${told.join(', ')}` : ''}`;
  return `${cleanText(line, LONGEST_LINE)}\n`;
}

/** `submitVideo of fox, attempt 2`, as far as it is known. */
function subjectOf({ workflowId, activityType, attempt }: Record<string, unknown>): string[] {
  const named = [activityType, workflowId].filter((name) => typeof name === 'string').map(shown);
  return [
    ...(named.length > 0 ? [named.join(' of ')] : []),
    ...(activityType !== undefined && typeof attempt === 'number' ? [`attempt ${attempt}`] : []),
  ];
}

function valueText(value: unknown): string {
  const text =
    typeof value === 'string' ? value : inspect(value, { depth: 2, breakLength: Number.POSITIVE_INFINITY });
  return cleanText(text, LONGEST_VALUE);
}

/** A failure of ours says in its message all that it knows; of other errors the place is told as well. */
function errorOf(error: unknown): string {
  const { message, name, stack, type }: Partial<Error & { type: unknown }> = Object(error);
  if (message === undefined) return nativeError(String(error));
  if (fromTemporalType(type) !== undefined) return message;
  const [, place] = /\n\s+(at [^\n]+)/.exec(stack ?? '') ?? [];
  return `${name}: ${message}${place === undefined ? '' : ` ${place}`}`;
}

function nativeError(text: string): string {
  const [, code, message] = NATIVE_STATUS.exec(text) ?? [];
  return code === undefined ? valueText(text) : `${code}: ${message}`;
}
