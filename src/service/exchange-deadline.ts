import { describeDuration } from '../contract/duration';

/** The reason of an exchange that was ended because its time was over. */
export class LateAnswer extends Error {
  override readonly name = 'LateAnswer';

  constructor(limitMs: number) {
    super(`no whole answer came within ${describeDuration(limitMs)}`);
  }
}

export interface ExchangeDeadline {
  /** Aborted by the deadline, or by whoever may cancel the exchange. */
  signal: AbortSignal;
  /** From here on the deadline ends nothing any more; a cancellation still does. */
  lift(): void;
}

/**
 * One deadline for everything that an exchange waits for. Timeouts between two signs of life are not enough: a server that
 * sends a byte now and then never meets one.
 */
export function startDeadline(limitMs: number, cancellation?: AbortSignal): ExchangeDeadline {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new LateAnswer(limitMs)), limitMs);
  return {
    signal: cancellation === undefined ? late.signal : AbortSignal.any([cancellation, late.signal]),
    lift: () => clearTimeout(timer),
  };
}

/** Throws the reason of a cancellation. The end of its time is a fault of the exchange, and no cancellation. */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted && !(signal.reason instanceof LateAnswer)) throw signal.reason;
}
