import { Client, Connection } from '@temporalio/client';
import { msToTs, optionalTsToMs } from '@temporalio/common/lib/time';
import type { StackNote } from './stack-note';

/** As long as Temporal has a job, its name stands for it and is not paid for again. Its own servers keep jobs a day. */
const RETENTION_MS = 90 * 24 * 3_600_000;

/**
 * The connection is not among what is closed: the SDK may be retrying a call on it, which would then throw where nobody
 * can catch it, and the process is about to end anyway.
 */
export async function connectLocally(
  { address, namespace }: Pick<StackNote, 'address' | 'namespace'>,
  connectTimeout: '2s' | '20s' = '2s',
): Promise<Client> {
  const connection = await Connection.connect({ address, connectTimeout });
  return new Client({ connection, namespace });
}

/** Has the server keep jobs that have ended for long; who has set more keeps that. */
export async function retainLong({ workflowService, options: { namespace } }: Client): Promise<void> {
  const { config } = await workflowService.describeNamespace({ namespace });
  const keptMs = optionalTsToMs(config?.workflowExecutionRetentionTtl) ?? 0;
  if (keptMs >= RETENTION_MS) return;
  await workflowService.updateNamespace({
    namespace,
    config: { workflowExecutionRetentionTtl: msToTs(RETENTION_MS) },
  });
}
