/**
 * Why a call to the service brought no usable answer:
 * `answered` an HTTP status other than 2xx; `not-sent` no byte of the request left; `cut` the request, or a part of it,
 * may have arrived and no whole answer came back; `unreadable` a 2xx answer without what the call was made for.
 */
export type FaultKind = 'answered' | 'not-sent' | 'cut' | 'unreadable';

export interface FaultFacts {
  status?: number;
  code?: string;
  message?: string;
  retryAfterMs?: number;
}

export class ServiceFault extends Error {
  override readonly name = 'ServiceFault';

  constructor(
    readonly kind: FaultKind,
    readonly facts: FaultFacts,
    options?: ErrorOptions,
  ) {
    super(`${kind}: ${[facts.status, facts.code, facts.message].filter(Boolean).join(' ')}`, options);
  }
}
