import type { Client } from '@temporalio/client';

/** Temporal answers within milliseconds. A silent one must not hold callers, whose clients may wait for good. */
const ANSWERS_WITHIN_MS = 10_000;

const pendingOf = new WeakMap<Client, Set<Promise<unknown>>>();

/** Every call to Temporal in it fails after a while; without it, one to a silent server would wait for good. */
export async function withDeadline<T>(
  client: Client,
  calls: () => Promise<T>,
  withinMs: number = ANSWERS_WITHIN_MS,
): Promise<T> {
  const pending = pendingOf.get(client) ?? new Set();
  pendingOf.set(client, pending);
  const made = client.withDeadline(Date.now() + withinMs, calls);
  pending.add(made);
  try {
    return await made;
  } finally {
    pending.delete(made);
  }
}

/** Temporal's client throws from a timer, which ends the process, when its connection is closed during a call. */
export async function callsSettled(client: Client): Promise<void> {
  await Promise.allSettled(pendingOf.get(client) ?? []);
}
