import { type FailureType, isFailureType } from './failure-table';
import { isServiceName } from './service-choice';
import { cutToBytes } from './sizes';

/** What became of the submit to one of a job's `services`: it certainly made no task, or it made the task. */
export type ServiceAttempt = { service: string } & (
  | {
      outcome: 'refused';
      failure: FailureType;
      /** Why, as a sentence. */
      message: string;
    }
  | { outcome: 'made' }
);

export type RefusedAttempt = Extract<ServiceAttempt, { outcome: 'refused' }>;

/** A hundred results of a batch travel together. */
const LONGEST_REFUSAL_BYTES = 300;

export function refusedAttempt(service: string, failure: FailureType, message: string): RefusedAttempt {
  return { service, outcome: 'refused', failure, message: cutToBytes(message, LONGEST_REFUSAL_BYTES) };
}

/** Attempts as anybody may have written them into a failure; undefined when there are none. */
export function readAttempts(value: unknown): ServiceAttempt[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((one): ServiceAttempt[] => {
    const { service, outcome, failure, message }: Record<string, unknown> = Object(one);
    if (!isServiceName(service)) return [];
    if (outcome === 'made') return [{ service, outcome }];
    return isFailureType(failure) ? [refusedAttempt(service, failure, String(message))] : [];
  });
}

/** `that was the service b, after a (The service refused the API key or its account: HTTP 401)`. */
export function describeAttempts(service: string, attempts: readonly ServiceAttempt[]): string {
  const refused = attempts
    .filter((attempt) => attempt.outcome === 'refused' && attempt.service !== service)
    .map((attempt) => ('message' in attempt ? `${attempt.service} (${withoutEnd(attempt.message)})` : ''));
  return `that was the service ${service}${refused.length > 0 ? `, after ${refused.join(' and ')}` : ''}`;
}

const withoutEnd = (sentence: string) => sentence.replace(/[.\s]+$/, '');
