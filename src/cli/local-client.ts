import { type Client, Connection } from '@temporalio/client';
import { msToTs, optionalTsToMs } from '@temporalio/common/lib/time';
import { clientOf } from '../client/connect';
import type { Environment } from '../config/read-setting';
import type { StackNote } from './stack-note';

/** A job's name prevents a second payment only while Temporal retains the job. The dev server's default is one day. */
const RETENTION_MS = 90 * 24 * 3_600_000;

/**
 * The connection is never closed: the SDK may be retrying a call on it, which would then throw an error that cannot be
 * caught, and the process is about to end anyway.
 */
export async function connectLocally(
  { address, namespace }: Pick<StackNote, 'address' | 'namespace'>,
  env: Environment,
  connectTimeout: '2s' | '20s' = '2s',
): Promise<Client> {
  return clientOf(await Connection.connect({ address, connectTimeout }), namespace, env);
}

/** Raises the server's retention of ended jobs; a longer one stays. */
export async function retainLong({ workflowService, options: { namespace } }: Client): Promise<void> {
  const { config } = await workflowService.describeNamespace({ namespace });
  const currentMs = optionalTsToMs(config?.workflowExecutionRetentionTtl) ?? 0;
  if (currentMs >= RETENTION_MS) return;
  await workflowService.updateNamespace({
    namespace,
    config: { workflowExecutionRetentionTtl: msToTs(RETENTION_MS) },
  });
}
