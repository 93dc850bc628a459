import { ApplicationFailure } from '@temporalio/common';

/** The type of what could not be decrypted, which stays readable to those without the key. A worker adds the last attempt that ran. */
const NOT_DECRYPTED = 'videogen.NotDecrypted';

export function isNotDecryptedType(type: string | null | undefined): boolean {
  return type === NOT_DECRYPTED || type?.startsWith(`${NOT_DECRYPTED}.`) === true;
}

/** Why a payload cannot be decrypted here. */
export type NotDecryptedReason = 'no-keys' | 'unknown-key' | 'wrong-key-or-changed' | 'malformed';

/**
 * A payload was encrypted with a key that this process does not have, or was changed. As an ApplicationFailure the SDK passes
 * it on with its type: activities whose input cannot be read fail with it, and Temporal retries them.
 */
export class NotDecrypted extends ApplicationFailure {
  constructor(
    message: string,
    readonly reason: NotDecryptedReason,
    /** The last attempt of the activity that may have run; undefined if that is not known. */
    lastAttempt?: number,
  ) {
    super(
      message,
      lastAttempt === undefined ? NOT_DECRYPTED : `${NOT_DECRYPTED}.after-attempt-${lastAttempt}`,
      false,
    );
  }
}

/** The sentence about a payload that could not be decrypted, however deeply it is wrapped; undefined for any other error. */
export function whyNotDecrypted(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ApplicationFailure && isNotDecryptedType(cause.type)) return cause.message;
  }
  return undefined;
}
