import { durationMs } from '../src/contract/duration';
import type { JobOptions } from '../src/contract/job';
import { DEFAULT_FALLBACK_AFTER_MS } from '../src/contract/policies';
import {
  cutAttempt,
  describeAttempts,
  type RefusedAttempt,
  type ServiceAttempt,
} from '../src/contract/service-attempts';
import { cutToBytes } from '../src/contract/sizes';
import type { FailureDetails } from '../src/contract/video-failure';

/** Temporal takes 0 for no limit. */
const SHORTEST_TURN_MS = 1_000;
/** Leaves room in the message of a failure for what became of the services before. */
const LONGEST_OWN_MESSAGE_BYTES = 600;

/** The `services` of a job, and what became of its submits to them. */
export class ServiceTurns {
  private readonly ended: ServiceAttempt[];
  /** The job never leaves its service again. */
  private stays = false;
  /** How often the submit to this service was not started in time, for no reason of the service. */
  private waits = 0;

  private constructor(
    private readonly services: readonly string[],
    private readonly afterMs: number,
    carried: readonly ServiceAttempt[] = [],
  ) {
    this.ended = [...carried];
  }

  /** Undefined for a job that does not choose among services. */
  static of(
    { services, fallbackAfter }: JobOptions,
    carried: readonly ServiceAttempt[] | undefined,
  ): ServiceTurns | undefined {
    if (services == null) return undefined;
    return new ServiceTurns(services, durationMs(fallbackAfter) ?? DEFAULT_FALLBACK_AFTER_MS, carried);
  }

  get attempts(): ServiceAttempt[] {
    return [...this.ended];
  }

  /** The one to try after `service`; undefined when it is the last. */
  nextAfter(service: string | undefined): string | undefined {
    return this.leftAfter(service)[0];
  }

  /** How long `service` may be tried, so that those after it have time too; undefined when there are none. */
  turnMs(service: string | undefined, remainingMs: number): number | undefined {
    return this.shareMs(service, this.afterMs, remainingMs);
  }

  /**
   * How long a submit to `service` may wait for a worker. Twice as long after each wait that led nowhere, so that a job
   * without workers has a short history, whatever its deadline is.
   */
  startWithinMs(service: string | undefined, remainingMs: number): number | undefined {
    return this.shareMs(service, this.afterMs * 2 ** this.waits, remainingMs);
  }

  recordRefused(attempt: RefusedAttempt): void {
    this.ended.push(attempt);
    this.waits = 0;
  }

  waitLonger(): void {
    this.waits += 1;
  }

  /** The service may have a task, so that no other one gets the request. */
  stay(): void {
    this.stays = true;
  }

  /** An adopted task counts as made, whoever made it. */
  recordMade(service: string | undefined): void {
    if (service === undefined || this.ended.some(({ outcome }) => outcome === 'made')) return;
    this.ended.push({ service, outcome: 'made' });
  }

  /** The details of a failure without a task, with what became of each service. */
  explain(details: FailureDetails, service: string | undefined): FailureDetails {
    if (service === undefined || details.taskId !== undefined) return details;
    const own = details.message === undefined ? [] : [cutToBytes(details.message, LONGEST_OWN_MESSAGE_BYTES)];
    return {
      ...details,
      message: [
        ...own.map((text) => text.replace(/[.\s]+$/, '')),
        describeAttempts(service, this.ended),
      ].join('; '),
    };
  }

  carry(longestTextBytes: number): ServiceAttempt[] | undefined {
    return this.ended.length > 0
      ? this.ended.map((attempt) => cutAttempt(attempt, longestTextBytes))
      : undefined;
  }

  private shareMs(service: string | undefined, mostMs: number, remainingMs: number): number | undefined {
    const { length: left } = this.leftAfter(service);
    if (left === 0) return undefined;
    return Math.max(SHORTEST_TURN_MS, Math.floor(Math.min(mostMs, remainingMs / (left + 1))));
  }

  private leftAfter(service: string | undefined): string[] {
    if (this.stays) return [];
    return this.services.filter(
      (name) => name !== service && !this.ended.some((attempt) => attempt.service === name),
    );
  }
}
