import type { Client } from '@temporalio/client';
import { inTime } from '../client/temporal-calls';

const pendingOf = new WeakMap<Client, Set<Promise<unknown>>>();

/** Every call to Temporal in it fails after a while; without it, one to a silent server would wait for good. */
export async function withDeadline<T>(
  client: Client,
  calls: () => Promise<T>,
  withinMs?: number,
): Promise<T> {
  const pending = pendingOf.get(client) ?? new Set();
  pendingOf.set(client, pending);
  const made = inTime(client, calls, withinMs);
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
