import { inspect } from 'node:util';
import { cleanText, shown } from '../contract/clean-text';

/** About five rows of a screen. The job's history has the full text, with stacks. */
const LONGEST_LINE_CHARS = 1_000;
const LONGEST_VALUE_CHARS = 200;

/** Fields for machines, and those that the line has in its own words. */
const OMITTED =
  /^(level|time|message|event|sdkComponent|namespace|taskQueue|activityId|activityType|attempt|job|workflowId|workflowType|runId|durationMs|trace_id|span_id|trace_flags|sha256|contentType|codec|advice|error)$/;

/** A line of the log as an object: see create-logger.ts. */
export type LogRecord = Record<string, unknown> & { level: string; time: string; message: string };

/** The same line for people: `15:06:40 info fox: stored, taskId vid_1, bytes 1948997`. */
export function prettyLine(record: LogRecord): string {
  const { level, time, message, error } = record;
  const fields = Object.entries(record).filter(([name]) => !OMITTED.test(name));
  const said = [
    message,
    ...fields.map(([name, value]) => `${name} ${valueText(value)}`),
    ...(error === undefined ? [] : [valueText(error, LONGEST_LINE_CHARS)]),
  ].join(', ');
  const subject = subjectOf(record);
  return cleanText(`${clockTime(time)} ${level} ${subject && `${subject}: `}${said}`, LONGEST_LINE_CHARS);
}

/** People read the log where they are. */
function clockTime(time: string): string {
  const date = new Date(time);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

/** `fox`, and for a line of the SDK `submitVideo of fox`; with the attempt from the second on. */
function subjectOf({ event, job, workflowId, activityType, attempt }: LogRecord): string {
  const names = [event === undefined ? activityType : undefined, job ?? workflowId];
  const named = names.filter((name) => typeof name === 'string').map(shown);
  const isRetry = activityType !== undefined && typeof attempt === 'number' && attempt > 1;
  return [named.join(' of '), ...(isRetry ? [`attempt ${attempt}`] : [])].filter(Boolean).join(', ');
}

function valueText(value: unknown, longestChars = LONGEST_VALUE_CHARS): string {
  const text =
    typeof value === 'string' ? value : inspect(value, { depth: 2, breakLength: Number.POSITIVE_INFINITY });
  return cleanText(text, longestChars);
}
