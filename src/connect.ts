import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Environment } from './config';
import { readTemporalConfig } from './temporal-config';

const DEFAULT_ADDRESS = '127.0.0.1:7233';

/** A connection to Temporal as the environment names it. The caller closes it. */
export async function connectClient(env?: Environment): Promise<Client> {
  const { connectionOptions, namespace } = readTemporalConfig(env);
  const connection = await orUnreachable(connectionOptions.address, Connection.connect(connectionOptions));
  return new Client({ connection, namespace });
}

export async function connectWorker(
  env?: Environment,
): Promise<{ connection: NativeConnection; namespace?: string }> {
  const { connectionOptions, namespace } = readTemporalConfig(env);
  const connection = await orUnreachable(
    connectionOptions.address,
    NativeConnection.connect(connectionOptions),
  );
  return { connection, namespace };
}

export class TemporalUnreachable extends Error {
  override readonly name = 'TemporalUnreachable';
}

async function orUnreachable<T>(address = DEFAULT_ADDRESS, connecting: Promise<T>): Promise<T> {
  try {
    return await connecting;
  } catch (error) {
    const reason = String(error).split('\n')[0];
    throw new TemporalUnreachable(
      `Temporal cannot be reached at ${address} (${reason}): start a server there, or set TEMPORAL_ADDRESS to one that runs.`,
      { cause: error },
    );
  }
}
