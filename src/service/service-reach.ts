import type { ServiceFault } from './service-fault';

/** An answer within this time says enough: a single call that fails may be chance. */
const ANSWERED_WITHIN_MS = 60_000;
/** A worker without jobs calls nobody: what failed longer ago says nothing about now. */
const FAILED_WITHIN_MS = 5 * 60_000;

/** Faults without an answer. A refusal is one, and so is a 429. */
const UNANSWERED: ReadonlySet<ServiceFault['kind']> = new Set(['not-sent', 'cut']);

/** Knows from the calls of jobs whether the service answers. Videos may come from another host, so they say nothing. */
export class ServiceReach {
  private answeredAtMs = Number.NEGATIVE_INFINITY;
  /** Of the last call, if it had no answer. A code: what a server or a socket says may quote an address. */
  private failure: string | undefined;
  private failedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly now: () => number = Date.now) {}

  /** Why the service does not answer; undefined when it does, and before the first call. */
  get problem(): string | undefined {
    const isAnswered = this.now() - this.answeredAtMs < ANSWERED_WITHIN_MS;
    return isAnswered || this.now() - this.failedAtMs > FAILED_WITHIN_MS ? undefined : this.failure;
  }

  markAnswered(): void {
    this.answeredAtMs = this.now();
    this.failure = undefined;
  }

  recordFault({ kind, facts }: ServiceFault): void {
    if (UNANSWERED.has(kind)) {
      this.failure = `no answer (${facts.code ?? kind})`;
      this.failedAtMs = this.now();
    } else {
      this.markAnswered();
    }
  }
}
