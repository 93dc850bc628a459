import { TemporalFailure } from '@temporalio/common';
import { cleanText } from './clean-text';

/** Errors of this package have at most three causes. */
const MOST_CAUSES = 5;
const LONGEST_MESSAGE_CHARS = 2_000;
const LONGEST_STACK_CHARS = 8_000;

/** Bounds what an error adds to a history: short errors pass unchanged, long ones become a shortened copy. */
export function boundedCause(error: unknown, mostCauses = MOST_CAUSES): Error | undefined {
  if (!(error instanceof Error) || mostCauses === 0) return undefined;
  // Temporal recognizes its failures by their class, and they were cut when they were created.
  if (error instanceof TemporalFailure) return error;
  const cause = boundedCause(error.cause, mostCauses - 1);
  const { name, message, stack = '' } = error;
  const isShort =
    name.length + message.length <= LONGEST_MESSAGE_CHARS && stack.length <= LONGEST_STACK_CHARS;
  if (isShort && cause === error.cause) return error;
  const copy = new Error(cleanText(message, LONGEST_MESSAGE_CHARS), { cause });
  copy.name = cleanText(name);
  // A stack begins with the message.
  const calls = stack.slice(-LONGEST_STACK_CHARS).match(/^ {4}at .*$/gm) ?? [];
  copy.stack = [`${copy.name}: ${copy.message}`, ...calls].join('\n');
  return copy;
}
