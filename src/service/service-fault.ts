import type { NoAnswer } from '../contract/answer-table';

/** Why a call to the service brought no usable answer; `answered` is an HTTP status other than 2xx. */
export type FaultKind = 'answered' | NoAnswer;

export interface FaultFacts {
  status?: number;
  code?: string;
  message?: string;
  retryAfterMs?: number;
  /** The service asks for fewer requests, by 429 or as its profile says. */
  limited?: boolean;
  /** A refused submit after which a task may exist all the same, as the profile of the service says. */
  taskMayExist?: boolean;
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
