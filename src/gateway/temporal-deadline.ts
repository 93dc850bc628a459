import type { Client } from '@temporalio/client';

/** Temporal answers within milliseconds. One that is silent must not hold a caller, whose client gives up after a minute or never. */
const ANSWERS_WITHIN_MS = 10_000;

/** Every call to Temporal in it fails after a while; without it, one to a silent server would wait for good. */
export function withDeadline<T>(client: Client, calls: () => Promise<T>): Promise<T> {
  return client.withDeadline(Date.now() + ANSWERS_WITHIN_MS, calls);
}
