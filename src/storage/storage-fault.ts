import { errorCode } from '../contract/error-code';
import { StorageFault } from './storage';

export async function asStorageFault<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storageFault(error);
  }
}

/** What the file system or S3 said, with the name that S3 gives its errors. */
export function storageFault(error: unknown): StorageFault {
  if (error instanceof StorageFault) return error;
  return new StorageFault(wordsOf(error), { cause: error });
}

/** Not by `instanceof`: errors of Node may be of another realm. */
function wordsOf(error: unknown): string {
  // A connection refused at several addresses has a code and no message.
  const message = Reflect.get(Object(error), 'message') || errorCode(error) || String(error);
  const name: unknown = Reflect.get(Object(error), 'name');
  return name === undefined || name === 'Error' ? String(message) : `${name}: ${message}`;
}
