import type { RefusedContent } from '../contract/failure-details';
import type { NoAnswer } from './answer-table';

/** Why a call has no usable answer; `answered` means an HTTP status other than 2xx. */
export type FaultKind = 'answered' | NoAnswer;

export interface FaultFacts {
  status?: number;
  code?: string;
  message?: string;
  /** What to do, if the general advice for such a failure does not fit. */
  advice?: string;
  retryAfterMs?: number;
  /** The service asks for fewer requests, by 429 or by an answer that its profile names. */
  limited?: boolean;
  /** A submit was refused, but the profile says that a task may exist after this status. */
  taskMayExist?: boolean;
  /** A submit was answered with a server error, and the profile says that no task exists after this status. */
  noTask?: boolean;
  /** The answer clearly says that the content policy of the service refused the request. */
  refusedContent?: RefusedContent;
}

/** A failed call to the service. */
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
