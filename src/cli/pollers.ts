import type { ConnectionLike } from '@temporalio/client';
import { withinCall } from './find-temporal';

/** Temporal's numbers for the types of a task queue. */
const QUEUE_TYPES = { workflows: 1, activities: 2 } as const;

/** A worker that polls a task queue. */
export interface Poller {
  identity: string;
  lastPolledMs: number;
}

/** The workers that poll a task queue, or did so in the last five minutes. */
export async function pollersOf(
  { connection, namespace }: { connection: ConnectionLike; namespace: string },
  name: string,
  type: keyof typeof QUEUE_TYPES,
): Promise<Poller[]> {
  const { pollers } = await withinCall(connection, () =>
    connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name },
      taskQueueType: QUEUE_TYPES[type],
    }),
  );
  return (pollers ?? []).map(({ identity, lastAccessTime }) => ({
    identity: identity ?? '',
    lastPolledMs: Number(lastAccessTime?.seconds ?? 0) * 1_000,
  }));
}
