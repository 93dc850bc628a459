import { cleanText } from '../contract/clean-text';
import { errorCode } from '../contract/errors';
import { StorageFault } from './storage';

/** More of an error's words is not even looked at. */
const MOST_LOOKED_AT = 10_000;

export async function asStorageFault<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storageFault(error);
  }
}

/**
 * What the file system or S3 said, with the name that S3 gives its errors. Without the error itself as its cause: those of
 * S3 hold all that the server sent, and causes are told as well.
 */
export function storageFault(error: unknown): StorageFault {
  if (error instanceof StorageFault) return error;
  const code = errorCode(error);
  return new StorageFault(cleanText(wordsOf(error)), typeof code === 'string' ? { code: cut(code) } : {});
}

/** Not by `instanceof`: errors of Node may be of another realm. */
function wordsOf(error: unknown): string {
  // A connection refused at several addresses has a code and no message.
  const message = cut(Reflect.get(Object(error), 'message') || errorCode(error) || error);
  const name: unknown = Reflect.get(Object(error), 'name');
  return name === undefined || name === 'Error' ? message : `${cut(name)}: ${message}`;
}

function cut(words: unknown): string {
  return String(words).slice(0, MOST_LOOKED_AT);
}
