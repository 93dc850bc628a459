import { cleanText } from '../../contract/clean-text';
import { errorCode } from '../../contract/error-code';

/** The first line of an error's message. Without `instanceof`, because Node's errors may come from another realm. */
export function firstLineOf(error: unknown): string {
  return cleanText(String(fieldOf(error, 'message') ?? error).split('\n')[0] ?? '');
}

/** The code of an error or of its cause: a system error code, or a gRPC status number. */
export function codeOf(error: unknown): unknown {
  return errorCode(error) ?? errorCode(fieldOf(error, 'cause'));
}

function fieldOf(value: unknown, name: string): unknown {
  return Reflect.get(Object(value), name);
}
