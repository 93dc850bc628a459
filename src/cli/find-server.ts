import { TemporalUnreachable } from '../client/temporal-unreachable';
import type { Environment } from '../config/service-config';
import type { Closers } from './closers';
import { findTemporal, type TemporalServer } from './doctor/find-temporal';

/** The configured server, or the one that runs on this machine; undefined if there is neither. Starts nothing. */
export async function findServer(env: Environment, closers: Closers): Promise<TemporalServer | undefined> {
  const temporal = await findTemporal(env, closers);
  switch (temporal.kind) {
    case 'named':
    case 'local':
      return temporal;
    case 'silent':
      throw new TemporalUnreachable(
        `Temporal cannot be reached at ${temporal.address} (${temporal.problem}): start a server there, or set TEMPORAL_ADDRESS to one that runs.`,
      );
    case 'none':
      return undefined;
  }
}
