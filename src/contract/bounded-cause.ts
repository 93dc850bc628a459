import { TemporalFailure } from '@temporalio/common';
import { cleanText } from './clean-text';

/** Ours have at most three behind them. */
const MOST_CAUSES = 5;
const LONGEST_WORDS = 2_000;
const LONGEST_STACK = 8_000;

/** An error as it may lie in a history: itself when it and what caused it are short, otherwise a copy with all of them cut. */
export function boundedCause(error: unknown, most = MOST_CAUSES): Error | undefined {
  if (!(error instanceof Error) || most === 0) return undefined;
  // Temporal's own were cut when they were made, and it knows them by their class.
  if (error instanceof TemporalFailure) return error;
  const cause = boundedCause(error.cause, most - 1);
  const { name, message, stack = '' } = error;
  const isShort = name.length + message.length <= LONGEST_WORDS && stack.length <= LONGEST_STACK;
  if (isShort && cause === error.cause) return error;
  const copy = new Error(cleanText(message, LONGEST_WORDS), { cause });
  copy.name = cleanText(name);
  // A stack begins with the message.
  const calls = stack.slice(-LONGEST_STACK).match(/^ {4}at .*$/gm) ?? [];
  copy.stack = [`${copy.name}: ${copy.message}`, ...calls].join('\n');
  return copy;
}
