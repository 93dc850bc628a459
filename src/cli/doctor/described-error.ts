import { cleanText } from '../../contract/clean-text';
import { errorCode } from '../../contract/errors';

/** The first line of an error's message. Not by `instanceof`: errors of Node may be of another realm. */
export function wordsOf(error: unknown): string {
  return cleanText(String(fieldOf(error, 'message') ?? error).split('\n')[0] ?? '');
}

/** The code of an error, or of the one that caused it: a word of the system, or a number of gRPC. */
export function codeOf(error: unknown): unknown {
  return errorCode(error) ?? errorCode(fieldOf(error, 'cause'));
}

function fieldOf(value: unknown, name: string): unknown {
  return Reflect.get(Object(value), name);
}
