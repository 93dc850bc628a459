import { finished, PassThrough, type Readable } from 'node:stream';
import { cleanText } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';

const LONGEST_MESSAGE_CHARS = 2_000;

/** Options of a StorageFault: whether a retry is useless, and the error code. */
export interface StorageFaultOptions extends ErrorOptions {
  isFinal?: boolean;
  code?: string | undefined;
}

/** An error of the storage, not of the network that the video comes from. */
export class StorageFault extends Error {
  override readonly name: string = 'StorageFault';
  /** Whether a retry is useless. */
  readonly isFinal: boolean;

  /** The system's error code, such as ENOSPC. */
  readonly code: string | undefined;

  constructor(message: string, { isFinal = false, code, ...options }: StorageFaultOptions = {}) {
    // A key of any shape may be in it.
    super(cleanText(message, LONGEST_MESSAGE_CHARS), options);
    this.isFinal = isFinal;
    this.code = code;
  }
}

/** A probe found that the storage does not work, before anything is paid for. */
export class StorageUnusable extends StorageFault {
  override readonly name = 'StorageUnusable';

  constructor(
    readonly location: string,
    readonly problem: string,
    readonly fix: string,
    options?: StorageFaultOptions,
  ) {
    super(`The storage ${location} cannot be used: ${problem.replace(/\.$/, '')}. ${fix}`, options);
  }
}

export async function asStorageFault<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storageFault(error);
  }
}

/**
 * The message of the file system or of S3, with the name of an S3 error. Without the error as its cause: S3 errors
 * contain everything that the server sent, and causes are logged.
 */
export function storageFault(error: unknown): StorageFault {
  if (error instanceof StorageFault) return error;
  const code = errorCode(error);
  return new StorageFault(cleanText(messageOf(error)), typeof code === 'string' ? { code: cut(code) } : {});
}

/** Not by `instanceof`: Node's own errors may be of another realm. */
function messageOf(error: unknown): string {
  // A connection refused at several addresses has a code but no message.
  const message = cut(Reflect.get(Object(error), 'message') || errorCode(error) || error);
  const name: unknown = Reflect.get(Object(error), 'name');
  return name === undefined || name === 'Error' ? message : `${cut(name)}: ${message}`;
}

/** Bounds the work of `cleanText`, which shortens a message further. */
const MAX_CLEANED_LENGTH = 10_000;

function cut(text: unknown): string {
  return String(text).slice(0, MAX_CLEANED_LENGTH);
}

/** A reader of a stored file whose errors are StorageFaults. */
export function readWithFaults(source: Readable): Readable {
  const reader = new PassThrough();
  // The source may fail before anything listens, and an error without a listener ends the process.
  reader.on('error', () => undefined);
  // A reader that stops early must close the file or connection of the source.
  reader.once('close', () => source.destroy());
  finished(source, { writable: false }, (error) => {
    if (error) reader.destroy(storageFault(error));
  });
  return source.pipe(reader);
}
