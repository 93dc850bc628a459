import { finished, PassThrough, type Readable } from 'node:stream';
import { cleanText } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';

const LONGEST_MESSAGE_CHARS = 2_000;
const LONGEST_CODE_CHARS = 100;
/** Bounds the work of `cleanText`: an S3 server may send megabytes. */
const MOST_CLEANED_CHARS = 10_000;

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
export function storageFault(error: unknown, redacted = (text: string) => text): StorageFault {
  if (error instanceof StorageFault) return error;
  // Not by `instanceof`: Node's own errors may be of another realm.
  const { name, message } = Object(error);
  const code = errorCode(error);
  // A connection refused at several addresses has a code but no message.
  const text = String(message || code || error);
  const whole = name === undefined || name === 'Error' ? text : `${name}: ${text}`;
  return new StorageFault(redacted(whole.slice(0, MOST_CLEANED_CHARS)), {
    code: typeof code === 'string' ? code.slice(0, LONGEST_CODE_CHARS) : undefined,
  });
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
