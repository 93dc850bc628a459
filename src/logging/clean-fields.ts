import { cleanText } from '../contract/clean-text';
import { fromTemporalType } from '../contract/failure-table';
import { NO_SECRETS, redact } from '../contract/redact';

/** Longer than any id or URI that we log. */
const LONGEST_VALUE_CHARS = 1_000;
const LONGEST_NAME_CHARS = 100;
const MOST_FIELDS = 40;
const MOST_LIST_ENTRIES = 10;
const DEEPEST = 3;
const MOST_FRAMES = 5;

/** Fields of the SDK that say nothing to people or programs that read our log. */
const LEFT_OUT = /^(taskToken|isLocal|target|spanContexts|workflowExists|payload.*)$/;

/** The SDK calls the same id `runId` in workflows and `workflowRunId` in activities. */
const RENAMED: Readonly<Record<string, string>> = { workflowRunId: 'runId' };

/** The SDK's native part prints gRPC errors with all their bytes. */
const NATIVE_STATUS = /^Status \{ code: (\w+), message: "((?:[^"\\]|\\.)*)"/;

/**
 * The fields of a line, bounded and without control characters: others choose the names and texts in it. Errors are redacted
 * too, because those of libraries may quote a link; ours were redacted when they were made.
 */
export function cleanFields(fields: Record<string, unknown> = {}): Record<string, unknown> {
  const kept = Object.entries(fields).filter(([name, value]) => value != null && !LEFT_OUT.test(name));
  return Object.fromEntries(
    kept
      .slice(0, MOST_FIELDS)
      .map(([name, value]) => [
        RENAMED[name] ?? cleanText(name, LONGEST_NAME_CHARS),
        name === 'error' ? errorText(value) : cleanValue(value, 1),
      ]),
  );
}

function cleanValue(value: unknown, depth: number): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (value instanceof Error) return errorText(value);
  if (Array.isArray(value)) {
    if (depth === DEEPEST) return `${value.length} entries`;
    return value.slice(0, MOST_LIST_ENTRIES).map((entry) => cleanValue(entry ?? '', depth + 1));
  }
  if (typeof value === 'object' && value !== null && depth < DEEPEST) {
    const entries = Object.entries(value).filter(([, entry]) => entry != null);
    return Object.fromEntries(
      entries
        .slice(0, MOST_LIST_ENTRIES)
        .map(([name, entry]) => [cleanText(name, LONGEST_NAME_CHARS), cleanValue(entry, depth + 1)]),
    );
  }
  return cleanText(textOf(value), LONGEST_VALUE_CHARS);
}

/** `String` calls methods of the value, which may throw. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return typeof value;
  }
}

/** The message of a video failure says everything. Other errors get the first frames of their stack. */
export function errorText(error: unknown): string {
  const { message, name, stack, type }: Partial<Error & { type: unknown }> = Object(error);
  if (typeof message !== 'string') return nativeError(textOf(error));
  if (fromTemporalType(type) !== undefined) return redact(message, NO_SECRETS, LONGEST_VALUE_CHARS);
  const frames = textOf(stack ?? '').match(/\n\s+at [^\n]+/g) ?? [];
  const where = frames
    .slice(0, MOST_FRAMES)
    .map((frame) => frame.trim())
    .join(' ');
  const what = redact(`${textOf(name)}: ${message}`, NO_SECRETS, LONGEST_VALUE_CHARS);
  return where === '' ? what : `${what} ${cleanText(where, LONGEST_VALUE_CHARS)}`;
}

function nativeError(text: string): string {
  const [, code, message] = NATIVE_STATUS.exec(text) ?? [];
  return redact(code === undefined ? text : `${code}: ${message}`, NO_SECRETS, LONGEST_VALUE_CHARS);
}
