import { NativeConnection } from '@temporalio/worker';
import { orUnreachable } from '../client/connect';
import type { Environment } from '../config/service-config';
import { readTemporalConfig } from '../config/temporal-config';

/** Connects a worker to Temporal with the settings of the environment. Apart from the client's, because the worker's SDK takes a fifth of a second to load. */
export async function connectWorker(
  env?: Environment,
): Promise<{ connection: NativeConnection; namespace?: string }> {
  const { connectionOptions, namespace } = readTemporalConfig(env);
  const connection = await orUnreachable(connectionOptions, NativeConnection.connect(connectionOptions));
  return { connection, namespace };
}
