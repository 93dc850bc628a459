// Errors that commands and doors tell apart. Without imports: naming them must not load Temporal's SDK.

/** Temporal cannot be reached. The message has the address, the reason and the fix, but no key. */
export class TemporalUnreachable extends Error {
  override readonly name = 'TemporalUnreachable';
}

/** A job that is not tried again. The message says why, `commands` what can be done instead. */
export class RetryRefused extends Error {
  override readonly name = 'RetryRefused';

  constructor(
    message: string,
    readonly commands: readonly string[] = [],
  ) {
    super(message);
  }
}

/** Why nothing is forgotten: the job runs, or does not exist, or its files are not in this storage. */
export class ForgetRefused extends Error {
  override readonly name = 'ForgetRefused';
}
