import { inspect } from 'node:util';
import type { LogEntry } from '@temporalio/worker';
import { cleanText, shown } from '../contract';
import { fromTemporalType } from '../contract/failure-table';

/** About five rows of a screen. The job's history has the full text, with stacks. */
const LONGEST_LINE_CHARS = 1_000;
const LONGEST_VALUE_CHARS = 200;

/** Fields that the SDK adds to every entry. They are for machines, or already in the line. */
const OMITTED_FIELDS =
  /^(sdkComponent|namespace|taskQueue|taskToken|isLocal|activityId|activityType|attempt|workflowId|workflowType|runId|workflowRunId|workflowExists|durationMs|target|spanContexts|payload.*|error)$/;

/** The SDK's native part prints gRPC errors with all their bytes. */
const NATIVE_STATUS = /^Status \{ code: (\w+), message: "((?:[^"\\]|\\.)*)"/;

/**
 * An entry of the SDK's log as one line, without control characters: others choose the names in it. Secrets do not come this
 * far: they are removed where text enters, by `redact` in src/contract/redact.ts.
 */
export function logLine({ level, timestampNanos, message, meta = {} }: LogEntry): string {
  const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
  const fields = Object.entries(meta).filter(([name, value]) => !OMITTED_FIELDS.test(name) && value != null);
  const parts = [
    ...subjectOf(meta),
    ...fields.map(([name, value]) => `${name} ${valueText(value)}`),
    ...(meta.error == null ? [] : [errorOf(meta.error)]),
  ];
  const line = `${time} [${level}] ${message}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`;
  return `${cleanText(line, LONGEST_LINE_CHARS)}\n`;
}

/** `submitVideo of fox, attempt 2`, as far as known. */
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
  return cleanText(text, LONGEST_VALUE_CHARS);
}

/** The message of a video failure says everything. Other errors get the first frame of their stack. */
function errorOf(error: unknown): string {
  const { message, name, stack, type }: Partial<Error & { type: unknown }> = Object(error);
  if (message === undefined) return nativeError(String(error));
  if (fromTemporalType(type) !== undefined) return message;
  const [, frame] = /\n\s+(at [^\n]+)/.exec(stack ?? '') ?? [];
  return `${name}: ${message}${frame === undefined ? '' : ` ${frame}`}`;
}

function nativeError(text: string): string {
  const [, code, message] = NATIVE_STATUS.exec(text) ?? [];
  return code === undefined ? valueText(text) : `${code}: ${message}`;
}
